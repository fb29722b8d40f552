#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tcpx perf with GPU memory, over the driver in software: every way of the data is verified,
# and the result names the place of the memory and the copying implementation.
. "$(dirname "$0")/tap.sh"

[ -e "$FAKECUDA_LIBRARY" ] || skip_all "no software driver (FAKECUDA_LIBRARY)"
export TCPX_CUDA_LIBRARY="$FAKECUDA_LIBRARY"
json=$scratch/result.json

# self ARG...: a run with the result in $json.
self() {
	rm -f "$json"
	timeout 60 "$tool" perf --self -w 1 -n 2 --json "$json" "$@"
}
# run_right EXPRESSION ARG...
run_right() {
	expression=$1
	shift
	self "$@" && right "$json" "$expression"
}
# One byte that is spoilt behind the transfer's back is found, and only that.
finds_one() {
	self --spoil "$@"
	[ $? = 1 ] && result "$json" "rows[0]['checked'] and rows[0]['wrong'] == 1"
}
both="--mem cuda:0 --peer-mem cuda:1"

ok "a sweep of writes from GPU to GPU" run_right "[x['size'] for x in rows] == \
[4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20]" $both -b 4K -e 4M
ok "the result names memory and who copied" right "$json" "rows[0]['mem'] == 'cuda:0' and \
rows[0]['peer_mem'] == 'cuda:1' and r['unpack'] == r['peer_unpack'] == 'kernel'"
ok "and the GPUs" right "$json" "[(g['side'], g['gpu']) for g in r['gpus']] == \
[('client', 0), ('server', 1)] and all(g['name'] and g['pci'] for g in r['gpus'])"
ok "reads" run_right "len(rows) == 2" $both -b 64K -e 1M -f 16 --op read
ok "sends and receives" run_right "1" $both -b 1M --op sendrecv
ok "both ways at once" run_right "1" $both -b 1M --dir bi
ok "lanes" run_right "len(rows) == 4" $both -b 0 -e 4M -f 1000 --op lane
ok "several lanes, both ways" run_right "1" $both -b 64K -e 1M -f 16 --op lane --lanes 3 --depth 8 \
	--dir bi -n 40
ok "lanes from host memory" run_right "1" --peer-mem cuda -b 64K -e 1M -f 16 --op lane
ok "lanes to host memory" run_right "1" --mem cuda:0-1 -b 64K -e 1M -f 16 --op lane --depth 8 -n 40
ok "from host memory" run_right "rows[0]['mem'] == 'host'" --peer-mem cuda -b 4K -e 4M -f 32
ok "to host memory" run_right "rows[0]['peer_mem'] == 'host'" --mem cuda -b 4K -e 4M -f 32
ok "read from host memory" run_right "1" --mem cuda -b 1M --op read
ok "read to host memory" run_right "1" --peer-mem cuda -b 1M --op read
ok "a few pages, scattered" run_right "1" $both --kv 100x8K
ok "many pages, scattered, read" run_right "1" $both --kv 1000x8K --op read
ok "lengths that divide by nothing" run_right "1" $both -b 1000003 --descs 77
ok "nothing, and one byte" run_right "1" $both -b 0 -e 1
ok "messages in flight" run_right "rows[0]['transfers_per_s'] > 0" $both -b 4K --depth 32 -n 200
ok "several GPUs take them in turn" run_right "len(r['gpus']) == 3" \
	--mem cuda:0-1 --peer-mem cuda:1 -b 1M --depth 4 -n 8
ok "small messages, there and back" self $both --lat -b 64 -e 4K -f 64 -n 100
ok "a half round trip is a time" right_in_part "$json" "0 < rows[0]['half_rtt_us']['p50'] < 100000"
for impl in d2d host; do
	ok "copied by $impl" run_right "r['unpack'] == r['peer_unpack'] == '$impl'" \
		$both -b 1M --unpack $impl
done

ok "a wrong byte in the server's GPU is found" finds_one $both -b 1M
ok "a wrong byte in the client's GPU is found" finds_one $both -b 1M --op read
ok "a wrong byte of many pages is found" finds_one $both --kv 300x8K
ok "a wrong byte of a lane's message is found" finds_one $both -b 1M --op lane
ok "a wrong byte in host memory is found" finds_one -b 1M
ok "copying nothing is said, not checked" says "UNPACK NONE: NOTHING WAS COPIED" \
	self $both -b 1M --unpack none
ok "and is in the result" result "$json" "r['unpack'] == 'none' and not rows[0]['checked']"

ok "beside plain sockets and the GPUs' copies" run_right "rows[0]['ratio'] > 0" $both \
	-b 1M --baseline --pairs 1
ok "the path's limit is in the result" right "$json" "rows[0]['path_GBps'] > 0 and \
abs(rows[0]['path_fraction'] * rows[0]['path_GBps'] / rows[0]['algbw_GBps'] - 1) < 0.01"
ok "a baseline of small messages" run_right "1" $both --lat -b 64 -n 100 --baseline --pairs 1
ok "a report" self $both -b 64K --report "$scratch/report.html"
ok "names the GPUs" grep -q "cuda:1" "$scratch/report.html"

ok "a GPU that is not there" exits 3 "$tool" perf --self --mem cuda:9 -b 64K
ok "the server's GPU is not there" exits 1 "$tool" perf --self --peer-mem cuda:9 -b 64K
ok "and the message says what is" says "this process sees 2" "$tool" perf --self \
	--peer-mem cuda:9 -b 64K
ok "info shows the GPUs" says "software GPU 1" "$tool" info
TCPX_CUDA_LIBRARY=/nonexistent
ok "no driver" exits 3 "$tool" perf --self --mem cuda:0 -b 64K
ok "unless host memory will do" run_right "rows[0]['mem'] == rows[0]['peer_mem'] == 'host'" \
	--mem cuda:0 --peer-mem cuda:1 --any -b 64K -e 64K --baseline --pairs 1
ok "info says that there is none" says "no GPU driver" "$tool" info
done_testing
