#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tcpx serve: clients at the same time and one after the other, and a clean stop.
. "$(dirname "$0")/tap.sh"

lab_up --hosts 3
serve_on h1

client() {
	timeout 60 "$tool" lab exec --name "$lab" "$1" "$tool" perf 10.77.0.2 -b 1M -e 16M -n 4 \
		--json "$2"
}
clients_at_once() {
	pids=
	for i in 1 2 3 4; do
		client "h$((i % 2 * 2))" "$scratch/client$i.json" >"$scratch/client$i" 2>&1 &
		pids="$pids $!"
	done
	for pid in $pids; do
		wait "$pid" || { cat "$scratch"/client?; return 1; }
	done
}

ok "four clients of two hosts at once" clients_at_once
for i in 1 2 3 4; do
	ok "every byte of client $i is right" right "$scratch/client$i.json" "len(rows) > 1"
done
files_now() {
	ls "/proc/$server/fd" | wc -l
}
ok "a client afterwards" client h0 "$scratch/again.json"
files=$(files_now)
for i in 1 2 3; do
	ok "client $i after the other" client h0 "$scratch/again.json"
done
few_files() {
	[ "$(files_now)" -le $((files + 2)) ]
}
ok "clients that left hold no files" within 60 few_files
stops() {
	kill -TERM "$server" && wait "$server"
}
ok "the server stops when asked" stops
done_testing
