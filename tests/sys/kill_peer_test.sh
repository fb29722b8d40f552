#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A peer is killed in the middle: the other side ends in time with the cause, and a server
# goes on with its other clients.
. "$(dirname "$0")/tap.sh"

lab_up
serve_on h1

# client LOG ARG...: its process id in $started.
client() {
	log=$1
	shift
	start "$log" timeout -s KILL 60 "$tool" lab exec --name "$lab" h0 \
		"$tool" perf 10.77.0.2 -b 4M --timeout 10 "$@"
}
# The client under `timeout`.
kill_client() {
	read -r pid _ <"/proc/$started/task/$started/children"
	kill -9 "$pid"
}
# fails_in SECONDS PID: a process ends by itself, with a code of its own that is not 0.
fails_in() {
	within "$1" gone "$2" || { echo "still there after $1 s"; return 1; }
	wait "$2"
	got=$?
	cat "$log"
	echo "exit code $got"
	[ "$got" != 0 ] && [ "$got" -lt 128 ]
}
gone() {
	[ "$(sed 's/.*) \(.\).*/\1/' "/proc/$1/stat" 2>/dev/null || echo Z)" = Z ]
}

client "$scratch/killed" --duration 30
ok "a client is at work" within 60 moved 20000000
ok "it is killed" kill_client
ok "the server is still there" kill -0 "$server"
client "$scratch/next" -n 4
ok "and serves the next client" wait "$started"

client "$scratch/left" --duration 30
ok "another client is at work" within 60 moved 100000000
ok "the server is killed" kill -9 "$server"
ok "its client ends with an error in time" fails_in 15 "$started"
ok "and says what became of the peer" grep -qi "peer\|gone\|connection" "$scratch/left"

serve_on h1
client "$scratch/last" -n 4
ok "a server started again serves again" wait "$started"
done_testing
