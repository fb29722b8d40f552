#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tcpx perf --self: every operation moves every byte, over all NICs, at every size, and the
# result shows it.
. "$(dirname "$0")/tap.sh"

nics=127.0.0.1,127.0.1.1,127.0.2.1,127.0.3.1
json=$scratch/result.json

# self ARG...: a run with the result in $json.
self() {
	rm -f "$json"
	timeout 60 "$tool" perf --self --nics "$nics" -w 1 -n 2 --json "$json" "$@"
}
# run_right SIZES ARG...: these rows, every byte of which is right.
run_right() {
	sizes=$1
	shift
	self "$@" && right "$json" "[x['size'] for x in rows] == $sizes"
}
run_part_right() {
	self "$@" && right_in_part "$json"
}

no_variable_of_ours() {
	! grep -E '"NCCL_(DYNAMIC_CHUNK_SIZE|GPUDIRECTTCPX)' "$json"
}

ok "a sweep of writes" run_right "[1 << 20, 1 << 22, 1 << 24]" -b 1M -e 16M
ok "all four NICs carried some of it" result "$json" \
	"len([n for n in rows[-1]['per_nic'] if n['bytes'] > 0]) == 4"
ok "shares are of the whole" result "$json" \
	"all(abs(sum(n['share'] for n in x['per_nic']) - 1) < 0.01 for x in rows)"
ok "reads" run_right "[1 << 24]" -b 16M --op read
ok "sends and receives" run_right "[1 << 24]" -b 16M --op sendrecv
ok "over a lane" run_right "[0, 1, 1 << 10, 1 << 20]" -b 0 -e 1M -f 1024 --op lane
ok "which the result names" result "$json" "all(x['op'] == 'lane' for x in rows)"
ok "a lane each way, full" run_right "[1000003]" -b 1000003 --op lane --dir bi --depth 64 -n 130
ok "both ways at once" run_right "[1 << 24]" -b 16M --dir bi
ok "several lanes" run_right "[1 << 20]" -b 1M --op lane --lanes 4 -n 41
ok "several each way, full" run_right "[1000003]" -b 1000003 --op lane --dir bi --lanes 3 --depth 64 -n 130
ok "which the result has, and what was in flight" result "$json" "rows[0]['lanes'] == 3 and rows[0]['depth'] == 64"
ok "as many as there may be" run_right "[4096]" -b 4K --op lane --lanes 64 -n 200
ok "several in flight" run_right "[1 << 20]" -b 1M --depth 8 -n 16
ok "and no lanes" result "$json" "rows[0]['depth'] == 8 and 'lanes' not in rows[0]"
ok "its variables are the user's" no_variable_of_ours
ok "nothing, and one byte" run_right "[0, 1]" -b 0 -e 1
ok "lengths that divide by nothing" run_right "[1000003, 1000020]" -b 1000003 -e 1000020 --step 17
ok "scattered pages, written" run_right "[8192000]" --kv 1000x8K
ok "scattered pages, read" run_right "[8192000]" --kv 1000x8K --op read
ok "more channels than NICs" run_right "[1 << 24]" -b 16M --channels 7
ok "one channel" run_right "[1 << 24]" -b 16M --channels 1
ok "round robin" run_right "[1 << 24]" -b 16M --dist rr
ok "small messages, there and back" run_part_right --lat -b 64 -n 200
ok "there and back over lanes" run_part_right --lat -b 64 -n 200 --op lane
ok "a half round trip is a time" result "$json" "0 < rows[0]['time_us']['p50'] < 100000"
ok "NICs of the two sides may differ in number" run_right "[1 << 22]" -b 4M \
	--peer-nics 127.0.0.2,127.0.1.2

# Of all the kernel has but reno, which connections within a host have by themselves.
other=$(tr ' ' '\n' 2>/dev/null </proc/sys/net/ipv4/tcp_allowed_congestion_control |
	grep -vx reno | head -1)
# alike NAME: ours and the plain sockets had it, one way and the other.
alike() {
	result "$json" "rows[0]['congestion'] == rows[0]['baseline_congestion'] == '$1'"
}
ok "one congestion control for ours and plain sockets" run_right "[1 << 20]" --baseline --pairs 1 -b 1M \
	--congestion "${other:-reno}"
ok "and the record says so" alike "${other:-reno}"
ok "plain sockets take what ours have" run_right "[1 << 20]" --baseline --pairs 1 -b 1M --op read
ok "and the record of that says so" alike reno
ok "as for small messages" run_part_right --baseline --pairs 1 --lat -n 20 --congestion "${other:-reno}"
ok "whose record says so" alike "${other:-reno}"
ok "an unknown congestion control is refused" says "TCPX_CONGESTION 'nonsense'" \
	self --congestion nonsense

# adds_up N: the series has so many points at least, in order, and every byte.
adds_up() {
	result "$json" "len(rows[0]['series']) >= $1 and
		sum(p['bytes'] for p in rows[0]['series']) == rows[0]['iters'] * rows[0]['size'] and
		abs(rows[0]['series'][-1]['t_s'] * rows[0]['busbw_GBps'] * 1e9 /
			sum(p['bytes'] for p in rows[0]['series']) - 1) < 1e-6 and
		all(a['t_s'] < b['t_s'] for a, b in zip(rows[0]['series'], rows[0]['series'][1:]))"
}
lines() {
	run_part_right -b 1M --duration 1 -i 0.1 --depth 4 >"$scratch/table" &&
		grep -q "^ *1M  *0.00-[0-9.]* s .* GB/s$" "$scratch/table"
}
ok "a line for each interval" lines
ok "and the record has the same" adds_up 1
ok "a page is made of them" "$tool" report "$json" -o "$scratch/rate.html"
ok "and has them" grep -q '"series": \[' "$scratch/rate.html"
ok "a series of what was read" self -b 1M --op read -n 100 -i 3600
ok "that adds up, too" adds_up 1
ok "a short run has no series" self -b 1M
ok "in its record" result "$json" "'series' not in rows[0]"

json_on_stdout() {
	timeout 60 "$tool" perf --self --nics "$nics" -b 1M -n 1 -w 0 --json - >"$json" &&
		right "$json" "[x['size'] for x in rows] == [1 << 20]"
}
ok "stdout is clean JSON" json_on_stdout
ok "a page" self -b 64K -e 1M --report "$scratch/page.html"
ok "its policy allows its script and no other" python3 "$(dirname "$0")/page.py" "$scratch/page.html"
ok "a bad size is refused" exits 2 "$tool" perf --self -b 1X
ok "more messages in flight than a lane has are refused" says "at most 64" \
	exits 2 "$tool" perf --self --op lane --depth 65
ok "so are lanes without work" says "some of 4 lanes without" \
	exits 2 "$tool" perf --self --op lane --lanes 4 --depth 3
ok "and lanes of no lane" says "for --op lane" exits 2 "$tool" perf --self --lanes 2
ok "so are pieces over a lane" says "one piece" exits 2 "$tool" perf --self --op lane --kv 10x8K
ok "neither a host nor --self is refused" exits 2 "$tool" perf
ok "too many channels are refused" exits 2 "$tool" perf --self --channels 100000
done_testing
