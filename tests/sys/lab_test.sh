#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tcpx lab: its hosts and NICs carry the requested rates, and nothing of it is left afterwards,
# even if the process that made it was killed.
here=$(dirname "$0")
. "$here/tap.sh"

ok "a bad rate is refused" exits 2 "$tool" lab up --name "$lab" --rate 1G,1G
ok "a bad name is refused" says "allowed are" "$tool" lab up --name ../x
ok "delay is not emulated and that is said" exits 3 "$tool" lab up --name "$lab" --delay 1ms
ok "a verb nearly right is proposed" says "did you mean 'status'" "$tool" lab statsu
lab_up --nics 1
no_rate() {
	on h0 "$tool" info --json - | python3 -c "
import json, sys
nics = {n['name']: n['speed_mbps'] for n in json.load(sys.stdin)['nics']['all']}
assert nics['eth0'] is None, nics"
}
ok "without a limit no rate is claimed" no_rate
"$tool" lab down --name "$lab"

left() {
	find /run/netns "/run/tcpx-lab/$lab.json" -name "*$lab*" 2>/dev/null
}
nothing_left() {
	[ -z "$(left)" ] || { left; return 1; }
}
# measure NIC: bits a second of a second of plain TCP from h0 to h1, in $got.
measure() {
	rm -f "$scratch/port"
	start "$scratch/rate" "$tool" lab exec --name "$lab" h1 \
		python3 "$here/stream.py" recv "10.77.$1.2" "$scratch/port"
	receiver=$started
	within 10 test -e "$scratch/port" || return 1
	"$tool" lab exec --name "$lab" h0 \
		python3 "$here/stream.py" send "10.77.$1.2" "$(cat "$scratch/port")" 1 || return 1
	wait "$receiver" || { cat "$scratch/rate"; return 1; }
	got=$(cat "$scratch/rate")
	echo "NIC $1: $got bit/s"
}
# reaches NIC RATE: within 5 %. A busy machine may be slow, but never too fast.
reaches() {
	for _ in 1 2 3; do
		measure "$1" && [ "$got" -le $(($2 / 100 * 105)) ] || return 1
		[ "$got" -lt $(($2 / 100 * 95)) ] || return 0
	done
	return 1
}
json() {
	"$tool" lab status --name "$lab" --json - | python3 -c "
import json, sys
lab = json.load(sys.stdin)['labs'][0]
assert $1, lab"
}

links_before=$(grep -c : /proc/net/dev)
ok "up" "$tool" lab up --name "$lab" --nics 2 --rate 1G,250M --mtu 9000
ok "status names hosts, NICs, addresses and rates" json \
	"lab['whole'] and [(n['address'], n['rate_bps'], n['up']) for h in lab['hosts'] for n in h['nics']] == \
	[('10.77.%d.%d' % (k, i), [10**9, 25*10**7][k], True) for i in (1, 2) for k in (0, 1)]"
ok "a second lab of the name is refused" exits 2 "$tool" lab up --name "$lab"
ok "and the first is as it was" json "lab['whole']"
ok "the host's /sys shows its own NICs" says "eth1" \
	"$tool" lab exec --name "$lab" h1 ls /sys/class/net
ok "exec gives the command's exit code" exits 7 "$tool" lab exec --name "$lab" h0 sh -c 'exit 7'
ok "a host that is not there is refused" exits 2 "$tool" lab exec --name "$lab" h2 true
ok "a command that is not there is refused" exits 2 "$tool" lab exec --name "$lab" h0 /no/such
ok "the first NIC carries its rate" reaches 0 1000000000
ok "the slow NIC carries its rate" reaches 1 250000000
measures() {
	serve_on h1
	on h0 "$tool" perf 10.77.0.2 -b 8M -e 8M -n 4 "$@" --json "$scratch/result.json" >"$scratch/perf"
	code=$?
	kill "$server"
	wait "$server"
	cat "$scratch/perf"
	return $code
}
rates_known() {
	grep -q "eth0 (1 Gbit/s), eth1 (0.25 Gbit/s)" "$scratch/perf" && grep -q "%line" "$scratch/perf" &&
		result "$scratch/result.json" "[(n['gbps'], n['mbps']) for n in r['nics']] == [(1, 1000), (0, 250)]"
}
ok "a run over both" measures
ok "knows the rates, and its share of them" rates_known
# What the client's NICs counted in the run, by what the record says went over the bus: headers are little.
counted() {
	right "$scratch/result.json" "1 <= sum(n['tx_bytes'] + n['rx_bytes'] for n in rows[0]['nic_counters']
		if n['side'] == 'client' and n['nic'] != 'lo') /
		(rows[0]['busbw_GBps'] / rows[0]['algbw_GBps'] * rows[0]['size'] * rows[0]['iters']) < 1.2"
}
for way in uni bi; do
	ok "a run $way" measures --dir $way
	ok "has the bytes that its NICs counted" counted
done
start "$scratch/sleeper" "$tool" lab exec --name "$lab" h0 sleep 60
within 5 json "[p for h in lab['hosts'] for p in h['pids']] == [$started]"
ok "status counts the processes inside" json \
	"[p for h in lab['hosts'] for p in h['pids']] == [$started]"
ok "down, with a process still inside" "$tool" lab down --name "$lab"
ok "nothing is left" nothing_left
ok "the process has lost its NICs" exits 1 grep eth "/proc/$started/net/dev"
ok "a lab that is not there is told" exits 2 "$tool" lab down --name "$lab"

ok "three hosts" "$tool" lab up --name "$lab" --hosts 3 --nics 2 --rate 250M --mtu 9000
ok "three hosts reach each other at the rate" reaches 1 250000000
ok "three hosts go away" "$tool" lab down --name "$lab"
ok "nothing is left of three" nothing_left

start "$scratch/up" "$tool" lab up --name "$lab" --hosts 40 --nics 8
killed=$started
ok "a lab is being made" within 5 test -e "/run/netns/tcpx-$lab-h3"
kill -9 "$killed"
wait "$killed" 2>/dev/null
ok "after a kill the name is taken" exits 2 "$tool" lab up --name "$lab"
ok "and down removes what there was" "$tool" lab down --name "$lab"
ok "nothing is left after a kill" nothing_left

: >"/run/netns/tcpx-$lab-h0" # killed between making the name and mounting on it
ok "a name without a namespace is taken too" exits 2 "$tool" lab up --name "$lab"
ok "and removed" "$tool" lab down --name "$lab"
ok "nothing is left of it" nothing_left

short_of_files() {
	# shellcheck disable=SC3045 # every sh we know has it
	(ulimit -n 24 && exits 4 "$tool" lab up --name "$lab" --hosts 16)
}
ok "a failure half-way is rolled back" short_of_files
ok "nothing is left after the roll back" nothing_left
ok "the machine's own links are as before" test "$(grep -c : /proc/net/dev)" = "$links_before"

as_nobody() {
	python3 -c 'import os, sys; os.setgid(65534); os.setuid(65534); os.execv(sys.argv[1], sys.argv[1:])' \
		"$tool" "$@"
}
if as_nobody --version >/dev/null 2>&1; then
	ok "without root it says so" exits 3 as_nobody lab up --name "$lab"
fi
done_testing
