#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A byte that the network gets wrong in any timed transfer is found: both directions, both ways at
# once, several rings one after the other, plain sockets, GPUs, meshes.
. "$(dirname "$0")/tap.sh"

file "$tool" 2>/dev/null | grep -q "statically linked" && skip_all "a static program preloads nothing"
json=$scratch/result.json
export ASAN_OPTIONS="${ASAN_OPTIONS-}:verify_asan_link_order=0"

# self FLIP OPTIONS...: 20 transfers of 1 MiB over one connection, over a network that does FLIP.
# So many share the memory that a ring has but a few of them.
self() {
	flip=$1
	shift
	rm -f "$json"
	FLIP=$flip LD_PRELOAD=$FLIP_NET timeout 100 "$tool" perf --self -b 1M -e 1M -n 20 -w 0 \
		--channels 1 --chunk 256K --beside 2000 --json "$json" "$@"
}
# finds WRONG FLIP OPTIONS...: so many bytes, and the exit code tells
finds() {
	bytes=$1
	shift
	exits 1 self "$@" && result "$json" \
		"rows[0]['wrong'] == $bytes and rows[0]['checked'] and rows[0]['compared'] == 1"
}
# in_transfer K: a byte of transfer K, not of the first: control streams have had as much then
in_transfer() {
	echo "ours:$(($1 * 1048576 + 345678))"
}

ok "nothing is wrong" exits 0 self ""
ok "and everything was compared" right "$json"
for k in 2 3 10 19; do
	ok "a byte of transfer $k, written" finds 1 "$(in_transfer $k)"
done
ok "its place is named" says "1 wrong bytes at the server: transfer" self "$(in_transfer 9)"
for k in 2 18; do
	ok "a byte of transfer $k, read" finds 1 "$(in_transfer $k)" --op read
	ok "one of transfer $k each way" finds 2 "$(in_transfer $k)" --dir bi
	ok "a byte of transfer $k, sent and received" finds 1 "$(in_transfer $k)" --op sendrecv
	ok "a byte of message $k of a lane" finds 1 "$(in_transfer $k)" --op lane
done
ok "several in flight" finds 1 "$(in_transfer 17)" --depth 3
ok "scattered pieces" finds 1 "$(in_transfer 12)" --descs 64
ok "each by itself" finds 1 "$(in_transfer 12)" --each
there_and_back() {
	exits 1 self "$(in_transfer 19)" --lat && result "$json" "rows[0]['wrong'] == 2 and rows[0]['compared'] > 0"
}
ok "there and back, in the last part" there_and_back

gpus() {
	TCPX_CUDA_LIBRARY=$FAKECUDA_LIBRARY finds 1 "$(in_transfer 14)" --mem cuda:0 --peer-mem cuda:0
}
ok "to the memory of a GPU" gpus

# finds_raw PART OPTIONS...: of plain sockets only, one byte each 3 MB; PART of them was compared
finds_raw() {
	part=$1
	shift
	exits 1 self raw:3000000 --baseline --pairs 1 "$@" && result "$json" \
		"rows[0]['wrong'] == 0 and rows[0]['baseline_wrong'] > 0 and rows[0]['baseline_compared'] $part"
}
ok "plain sockets, written" finds_raw "== 1"
ok "and said to be theirs" says "bytes that raw sockets moved were wrong" self raw:3000000 \
	--baseline --pairs 1
ok "plain sockets, read" finds_raw "== 1" --op read
ok "plain sockets, both ways" finds_raw "== 1" --dir bi --depth 2
ok "plain sockets, there and back" finds_raw "> 0" --lat
ok "plain sockets that are right" exits 0 self "" --baseline --pairs 1
ok "were compared" right "$json" "rows[0]['baseline_compared'] == 1"

# Summed, each is sent again: the transfers are right, and the log says what happened.
summed() {
	TCPX_CHECKSUM=1 TCPX_DEBUG=WARN self "$@" 2>&1
}
repairs() {
	summed "$@" >"$scratch/summed" || { cat "$scratch/summed"; return 1; }
	grep -q "arrived changed on channel" "$scratch/summed" || { cat "$scratch/summed"; return 1; }
	right "$json"
}
for k in 2 18; do
	ok "a byte of transfer $k, written, is sent again" repairs "$(in_transfer $k)"
done
ok "read" repairs "$(in_transfer 9)" --op read
ok "both ways" repairs "$(in_transfer 9)" --dir bi
ok "sent and received" repairs "$(in_transfer 9)" --op sendrecv
ok "over a lane" repairs "$(in_transfer 9)" --op lane
ok "scattered pieces are sent again" repairs "$(in_transfer 12)" --descs 64
ok "a network that is right costs nothing" exits 0 summed ""
gpus_summed() {
	TCPX_CUDA_LIBRARY=$FAKECUDA_LIBRARY repairs "$(in_transfer 14)" --mem cuda:0 --peer-mem cuda:0
}
ok "to the memory of a GPU it is sent again" gpus_summed

# A run by the clock says how much of it was compared.
ok "a run by the clock" exits 0 timeout 100 "$tool" perf --self -b 1M -e 1M --duration 1 --json "$json"
ok "tells the share" right_in_part "$json"

# mesh BYTE: of 2.6 MB a pair
mesh() {
	FLIP=ours:$1 LD_PRELOAD=$FLIP_NET timeout 100 "$tool" perf --mesh --ranks 3 \
		-b 64K -n 40 -w 0 --channels 1 --all-at-once --json "$json"
}
pairs_are() {
	python3 -c "
import json, sys
p = json.load(open(sys.argv[1]))['mesh'][0]['pairs']
sys.exit(not (len(p) == 6 and all($1 for x in p)))" "$json"
}
for byte in 30000 2600000; do
	ok "a mesh, byte $byte" exits 1 mesh $byte
	ok "in every pair" pairs_are "x['wrong'] == 1 and x['checked']"
done
done_testing
