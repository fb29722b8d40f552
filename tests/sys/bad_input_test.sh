#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Garbage, half frames and silence on every port of a server, while a client is at work:
# the client is not disturbed, and the server keeps nothing of it.
here=$(dirname "$0")
. "$here/tap.sh"

lab_up
serve_on h1
json=$scratch/result.json

client() {
	timeout 60 "$tool" lab exec --name "$lab" h0 "$tool" perf 10.77.0.2 -b 4M --json "$json" "$@"
}
few_files() {
	[ "$(ls "/proc/$server/fd" | wc -l)" -le $((files + 2)) ]
}

ok "a client before" client -n 2
files=$(ls "/proc/$server/fd" | wc -l)
ports=$(on h1 python3 "$here/garbage.py" ports)
start "$scratch/garbage" "$tool" lab exec --name "$lab" h0 \
	python3 "$here/garbage.py" throw 1 $ports
ok "garbage at $ports" within 60 grep -q "threw" "$scratch/garbage"
ok "a client meanwhile" client --duration 4
ok "what was compared is right" right_in_part "$json"
ok "and there was garbage all the time" kill "$started"
ok "the server is still there" kill -0 "$server"
ok "and holds no files of it" within 60 few_files
ok "a client afterwards" client -n 2
done_testing
