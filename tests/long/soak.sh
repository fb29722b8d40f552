#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154
# One pair of engines at work for minutes, while the connection of its control stream is cut and
# other clients of its server are killed, again and again: every byte is right, and at the end
# both hold as much memory and as many descriptors and threads as after the first round.
# Usage: soak.sh TOOL [SECONDS]
here=$(dirname "$0")/../sys
. "$here/tap.sh"
seconds=${2:-300}
lab_up --nics 3 --rate 500M
# resumptions are counted by lines of the log, which leaves out more than ten in a second
export TCPX_DEBUG=INFO TCPX_DEBUG_SUBSYS=BOOT TCPX_CTRL=eth0
json=$scratch/result.json

serve_on h1
start "$scratch/pair" "$tool" lab exec --name "$lab" h0 "$tool" perf 10.77.0.2 -b 4M -w 1 \
	--duration $((seconds + 60)) --json "$json"
pair=$started
end=$(($(date +%s) + seconds))

# The NIC of h0 that the control stream of the pair has gone by: 28515 is 6F63, 10.77.k.1 is
# 010k4D0A.
control_nic() {
	on h0 awk '$3 ~ /:6F63$/ && $4 == "01" { print "eth" substr($2, 4, 1) }' /proc/net/tcp | head -1
}
resumed() {
	grep -c "control stream with .* resumed" "$scratch/pair"
}
resumed_since() {
	[ "$(resumed)" -gt "$1" ]
}
cut() {
	before=$(resumed)
	nic=$(control_nic)
	on "$1" python3 "$here/link.py" "$nic" down
	within 60 resumed_since "$before"
	code=$?
	on "$1" python3 "$here/link.py" "$nic" up
	within 20 link_runs "$nic" || code=$?
	[ $code = 0 ] || cat "$scratch/pair"
	return $code
}
kills=0
kill_another() {
	start "$scratch/other" "$tool" lab exec --name "$lab" h0 "$tool" perf 10.77.0.2 -b 1M \
		--duration 600
	within 60 grep -q "control stream\|session .* open" "$scratch/other" || {
		cat "$scratch/other"
		return 1
	}
	kill -9 "$started" && kills=$((kills + 1))
	wait "$started" 2>/dev/null
	on h0 "$tool" perf 10.77.0.2 -b 1M -n 4 >"$scratch/other" 2>&1 || { cat "$scratch/other"; return 1; }
}
# What a process holds: "descriptors threads KiB".
holds() {
	echo "$(find "/proc/$1/fd" -type l | wc -l) $(find "/proc/$1/task" -mindepth 1 -maxdepth 1 | wc -l)" \
		"$(awk '/^RssAnon/ { print $2 }' "/proc/$1/status")"
}
# steady PID BEFORE: no more descriptors and threads than then, as a client that has just ended may have had
# one, and no MiB more of memory
steady() {
	echo "before: $2; now: $(holds "$1") (descriptors, threads, KiB)"
	# shellcheck disable=SC2046,SC2086 # lists of numbers
	set -- $2 $(holds "$1")
	[ "$4" -le "$1" ] && [ "$5" -le "$2" ] && [ "$6" -lt $(($3 + 1024)) ]
}

within 60 moved 20000000
round() {
	rounds=$((rounds + 1))
	cut "h$((rounds % 2))" && kill_another
}
rounds=0
ok "a round" round
server_had=$(holds "$server")
pair_had=$(holds "$pair")
rounds_go_on() {
	while [ "$(date +%s)" -lt "$end" ]; do
		round || return 1
	done
}
ok "rounds for $seconds seconds" rounds_go_on
ok "the server holds what it held" within 20 steady "$server" "$server_had"
steady "$server" "$server_had" | sed 's/^/# /'
ok "the client holds what it held" within 20 steady "$pair" "$pair_had"
steady "$pair" "$pair_had" | sed 's/^/# /'
ok "the client ends well" wait "$pair"
ok "no byte of those compared was wrong" right_in_part "$json"
stops() {
	kill -TERM "$server" && wait "$server"
}
ok "the server stops when asked" stops
echo "# $rounds rounds, $kills clients killed, $(resumed) times resumed"
done_testing
