#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A byte that changes in the server's memory is found by the check, counted, and reported with
# its place.
here=$(dirname "$0")
. "$here/tap.sh"

lab_up
serve_on h1
json=$scratch/result.json

client() {
	timeout 60 "$tool" lab exec --name "$lab" h0 "$tool" perf 10.77.0.2 -b 48M -n 1 -w 0 \
		--json "$json" >"$scratch/client" 2>&1
}
# The byte may be set too late for one check; not for five.
client_finds_it() {
	for _ in 1 2 3 4 5; do
		client
		got=$?
		cat "$scratch/client"
		[ "$got" = 0 ] || break
	done
	[ "$got" = 1 ]
}

ok "nothing is wrong" client
start "$scratch/corrupt" python3 "$here/corrupt.py" "$server" 50331648 30
corrupting=$started
ok "a byte goes wrong, and the exit code tells" client_finds_it
ok "one byte is wrong" result "$json" "rows[0]['checked'] and rows[0]['wrong'] == 1"
ok "its place is named" grep -q "1 wrong bytes at the server.*offset" "$scratch/client"
kill "$corrupting"
wait "$corrupting" 2>/dev/null
ok "nothing is wrong afterwards" client
done_testing
