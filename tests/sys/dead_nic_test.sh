#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A NIC of four loses its link or its address in the middle of a transfer, as its kernel alone knows: the
# others carry what was on it, and every byte is right. When it is back it carries its share again.
# eth1 has the control stream besides.
here=$(dirname "$0")
. "$here/tap.sh"

lab_up --rate 250M
json=$scratch/result.json

# The line with the right reason may be one too many for its second of the log.
no_silence() {
	! grep "on $1 .*is lost: its path is silent" "$scratch/serve"
}
given_up() {
	grep -q "on $1 .*is lost" "$scratch/perf"
}
# loses NIC OPERATION DOWN UP: link.py does that to the NIC of the server while both carry transfers, and
# back when its channel has been given up
loses() {
	before=$(sent "$1")
	start "$scratch/perf" env TCPX_DEBUG=INFO "$tool" lab exec --name "$lab" h0 "$tool" perf \
		10.77.1.2 -b 64M -e 64M -n 12 -w 1 --op "$2" --json "$json"
	client=$started
	within 60 at_work "$1" "$before" || { cat "$scratch/perf"; return 1; }
	on h1 python3 "$here/link.py" "$1" "$3"
	within 60 given_up "$1" || { cat "$scratch/perf" "$scratch/serve"; return 1; }
	on h1 python3 "$here/link.py" "$1" "$4"
	again=$(sent "$1")
	within 60 at_work "$1" "$again" || { cat "$scratch/perf" "$scratch/serve"; return 1; }
	wait "$client"
	code=$?
	cat "$scratch/perf"
	return $code
}

for what in "eth2 write down up" "eth1 write down up" "eth1 write 0.0.0.0 10.77.1.2"; do
	serve_on h1
	ok "transfers go on without it, and with it again: $what" loses $what
	ok "every byte is right" right "$json"
	ok "the server did not wait for a silence" no_silence "${what%% *}"
	kill "$server"
	wait "$server"
done
done_testing
