#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Chaos in a lab: what happens by a fixed seed is right, and a byte that the network gets wrong is
# found. The judge itself has a table of planted codes in judge_test.c.
. "$(dirname "$0")/../sys/tap.sh"
program=$(realpath "$2")
need_root
json=$scratch/result.json
export ASAN_OPTIONS="${ASAN_OPTIONS-}:verify_asan_link_order=0"

chaos() {
	"$program" --name "$lab" --processes 3 --seed 11 --json "$json" "$@"
}
chaos --duration 10 --stall 10000 >"$scratch/first" 2>&1
code=$?
[ $code != 3 ] || skip_all "no network namespaces here: $(head -1 "$scratch/first")"
first() {
	cat "$scratch/first"
	return $code
}
ok "nothing is wrong" first
holds() {
	cat "$json"
	python3 -c "
import json, sys
r = json.load(open(sys.argv[1]))
sys.exit(not ($1))" "$json"
}
ok "and all kinds were done" holds "all(n > 0 for n in r['done'].values()) and r['seed'] == 11"
ok "while there were faults" holds "sum(r['faults'].values()) > 0 and r['findings'] == []"
ok "none of which the kernel refused" sh -c "! grep ' of host h' '$scratch/first'"
ok "and nothing is left of the lab" test ! -e "/run/tcpx-lab/$lab.json"

flipped() {
	FLIP=ours:300000 LD_PRELOAD=$FLIP_NET exits 1 chaos --duration 5 --stall 10000 &&
		holds "any('wrong bytes' in f for f in r['findings'])"
}
if ! file "$program" 2>/dev/null | grep -q "statically linked"; then
	ok "a byte that the network got wrong is found" flipped
fi
ok "its options are checked" exits 2 chaos --processes 9
done_testing
