#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A peer that asks for more than its share, of each kind: the server keeps no more for it than it may,
# gives it back, and serves the others. $2: the folder of the build. Times are the benchmark's.
. "$(dirname "$0")/tap.sh"

need_root
lab_up # or the reason why not
"$tool" lab down --name "$lab" >/dev/null
sh "$(dirname "$0")/../../bench/greedy.sh" "$2" 1 1G 60 >"$scratch/greedy" 2>"$scratch/said" || {
	cat "$scratch/said"
	exit 1
}
sed 's/^/# /' "$scratch/greedy"

# row KIND EXPRESSION: of awk, on its columns: KiB at most $8, then $9, after so many seconds $10
row() {
	cat "$scratch/greedy"
	awk -v kind="$1" '$1 == kind && '"$2"' { ok = 1 } END { exit !ok }' "$scratch/greedy"
}
ok "the bystander has its bytes alone" row alone '$2 > 0 && $3 > 0'
for kind in lists notes opens reads; do
	ok "$kind: at most 64 MiB and what a session needs" row $kind '$8 < 98304'
	ok "$kind: it is given back" row $kind '$10 < 60'
	ok "$kind: the bystander is served meanwhile" row $kind '$2 > 0 && $3 > 0'
done
ok "notes: more were asked than are kept" row notes '$7 > 0'
done_testing
