#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A NIC that is named and down when both engines open: the others carry all, and it carries its share
# from the moment on when its link comes.
here=$(dirname "$0")
. "$here/tap.sh"
unset TCPX_CTRL NCCL_GPUDIRECTTCPX_CTRL_DEV NCCL_GPUDIRECTTCPX_SOCKET_IFNAME

lab_up --rate 250M
json=$scratch/result.json
export TCPX_NICS=eth0,eth1,eth2,eth3

comes() {
	start "$scratch/perf" env TCPX_DEBUG=INFO "$tool" lab exec --name "$lab" h0 "$tool" perf \
		10.77.1.2 -b 64M -e 64M -n 12 -w 1 --json "$json"
	client=$started
	within 60 at_work eth3 "$before" || { cat "$scratch/perf" "$scratch/serve"; return 1; }
	again=$(sent eth2)
	on h1 python3 "$here/link.py" eth2 up
	within 60 at_work eth2 "$again" || { cat "$scratch/perf" "$scratch/serve"; return 1; }
	wait "$client"
	code=$?
	cat "$scratch/perf"
	return $code
}
on h1 python3 "$here/link.py" eth2 down
before=$(sent eth3)
serve_on h1
ok "it is told" grep -q "eth2 is down; it joins when its link comes" "$scratch/serve"
ok "transfers begin without eth2, and go on with it" comes
ok "every byte is right" right "$json"
ok "its channels stand" grep -q "on eth2 to eth2 of .* stands again" "$scratch/perf"
kill "$server"
wait "$server"
done_testing
