#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A NIC of four goes down in the middle of a transfer, without a word to either side: the others
# carry what was on it, and every byte is right. Each NIC in turn would be the same; eth0 has the
# control stream besides.
here=$(dirname "$0")
. "$here/tap.sh"

lab_up --rate 250M
json=$scratch/result.json

sent() {
	on h0 awk -v nic="$1" 'sub(":", "", $1) && $1 == nic { printf "%.0f\n", $10 }' /proc/net/dev
}
at_work() {
	[ "$(sent "$1")" -gt $(($2 + 4000000)) ]
}
# loses NIC OPERATION: the NIC of the server goes down while both carry a transfer
loses() {
	before=$(sent eth1)
	start "$scratch/perf" env TCPX_DEBUG=WARN "$tool" lab exec --name "$lab" h0 "$tool" perf \
		10.77.1.2 -b 192M -e 192M -n 1 -w 1 --op "$2" --json "$json"
	client=$started
	within 20 at_work eth1 "$before" || { cat "$scratch/perf"; return 1; }
	on h1 python3 "$here/link.py" "$1" down
	wait "$client"
	code=$?
	cat "$scratch/perf"
	on h1 python3 "$here/link.py" "$1" up
	return $code
}

for nic in eth2 eth0; do
	serve_on h1
	ok "a write goes on without $nic" loses $nic write
	ok "every byte is right" result "$json" "all(row['wrong'] == 0 for row in rows)"
	ok "the log names $nic" grep -q "on $nic .*while others move" "$scratch/perf"
	kill "$server"
	wait "$server"
done
done_testing
