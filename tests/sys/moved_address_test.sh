#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An address that floats between hosts stands first at the server's NIC, before the host's own: control
# arrives at both, channels stand on the host's own, and a session lives on when the other moves away.
here=$(dirname "$0")
. "$here/tap.sh"
unset TCPX_NICS TCPX_CTRL NCCL_SOCKET_IFNAME NCCL_GPUDIRECTTCPX_CTRL_DEV NCCL_GPUDIRECTTCPX_SOCKET_IFNAME
command -v ip >/dev/null || skip_all "needs ip, of iproute2"

lab_up --rate 250M
json=$scratch/result.json

moves() {
	before=$(sent eth0)
	start "$scratch/perf" env TCPX_DEBUG=INFO "$tool" lab exec --name "$lab" h0 "$tool" perf \
		10.77.0.100 -b 16M -e 16M -n 12 -w 1 --json "$json"
	client=$started
	within 60 at_work eth0 "$before" || { cat "$scratch/perf" "$scratch/serve"; return 1; }
	on h1 ip addr del 10.77.0.100/32 dev eth0
	wait "$client"
	code=$?
	cat "$scratch/perf" "$scratch/serve"
	return $code
}
on h1 ip addr flush dev eth0
on h1 ip addr add 10.77.0.100/32 dev eth0
on h1 ip addr add 10.77.0.2/24 dev eth0
serve_on h1
ok "the host's own is taken" grep -q "eth0 (10.77.0.2)" "$scratch/serve"
ok "a session lives on without the floating one" moves
ok "control goes on by another" grep -q "control stream with .* resumed, epoch 1" "$scratch/perf"
ok "every byte is right" right "$json"
kill "$server"
wait "$server"
done_testing
