#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Garbage, half sentences and silence on every port of a server, while a client is at
# work: the client does not notice, and the server keeps nothing of it.
here=$(dirname "$0")
. "$here/tap.sh"

lab_up
serve_on h1
json=$scratch/result.json

client() {
	start "$scratch/client" timeout 60 "$tool" lab exec --name "$lab" h0 \
		"$tool" perf 10.77.0.2 -b 4M --json "$json" "$@"
}
throw() {
	for seed in 1 2 3; do
		on h0 timeout 60 python3 "$here/garbage.py" throw 10.77.0.2 "$seed" $ports || return 1
	done
}
few_files() {
	[ "$(ls "/proc/$server/fd" | wc -l)" -le $((files + 2)) ]
}

client -n 2
ok "a client before" wait "$started"
files=$(ls "/proc/$server/fd" | wc -l)
client --duration 5
ok "a client is at work" within 20 moved 50000000
ports=$(on h1 python3 "$here/garbage.py" ports)
ok "garbage at ports $ports" throw
ok "the client is still at work" kill -0 "$started"
ok "and ends well" wait "$started"
ok "every byte is right" result "$json" "all(x['wrong'] == 0 for x in rows)"
ok "the server is still there" kill -0 "$server"
ok "and holds no files of it" within 20 few_files
client -n 2
ok "a client afterwards" wait "$started"
done_testing
