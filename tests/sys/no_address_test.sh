#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A named NIC without an address when an engine opens, one at each end: the others carry all, and it
# carries its share from the moment on when it has one. Without any other the engine does not open.
here=$(dirname "$0")
. "$here/tap.sh"
unset TCPX_CTRL NCCL_GPUDIRECTTCPX_CTRL_DEV NCCL_GPUDIRECTTCPX_SOCKET_IFNAME

lab_up --rate 250M
json=$scratch/result.json
export TCPX_NICS=eth0,eth1,eth2,eth3

comes() {
	start "$scratch/perf" env TCPX_DEBUG=INFO "$tool" lab exec --name "$lab" h0 "$tool" perf \
		10.77.0.2 -b 64M -e 64M -n 16 -w 1 --json "$json"
	client=$started
	within 60 at_work eth3 "$before" || return 1
	for nic in 1:h0:1 2:h1:2; do
		at=${nic#*:}
		seen=$(sent "eth${nic%%:*}")
		on "${at%:*}" python3 "$here/link.py" "eth${nic%%:*}" "10.77.${nic%%:*}.${at#*:}"
		within 60 at_work "eth${nic%%:*}" "$seen" || return 1
	done
	wait "$client"
}
told() {
	comes || { cat "$scratch/perf" "$scratch/serve"; return 1; }
}
on h0 sh -c "echo 1 >/proc/sys/net/ipv6/conf/eth1/disable_ipv6" # eth2 keeps that of its link
on h0 python3 "$here/link.py" eth1 0.0.0.0
on h1 python3 "$here/link.py" eth2 0.0.0.0
before=$(sent eth3)
alone() {
	! TCPX_NICS=eth1 on h0 "$tool" perf 10.77.0.2 -b 1M -n 1 >"$scratch/alone" 2>&1
}
serve_on h1
ok "it is told at the one end" grep -q "eth2 has no address of IPv4 beyond its link; it joins when it has one" "$scratch/serve"
ok "alone it opens no engine" alone
ok "the reason is told" grep -q 'NIC selection "eth1" leaves none; there is: .*eth1 no address' "$scratch/alone"
ok "transfers begin without them, and go on with them" told
ok "it is told at the other end" grep -q "eth1 has no address of IPv4; it joins when it has one" "$scratch/perf"
ok "every byte is right" right "$json"
ok "the channels of one stand" grep -q "on eth1 to eth1 of .* stands again" "$scratch/perf"
ok "the channels of the other stand" grep -q "on eth2 to eth2 of .* stands again" "$scratch/perf"
kill "$server"
wait "$server"
done_testing
