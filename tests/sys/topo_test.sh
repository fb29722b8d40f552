#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tcpx topo and tcpx irq snapshot and diff: on this machine, on trees, and on bad input.
. "$(dirname "$0")/tap.sh"
specs=$(dirname "$0")/../fixtures

# json FILE EXPRESSION: true of a JSON file, as python sees it (d, and every object in it).
json() {
	python3 -c '
import json, sys
def objects(x):
    if isinstance(x, dict):
        yield x
        x = list(x.values())
    for y in x if isinstance(x, list) else []:
        yield from objects(y)
d = json.load(open(sys.argv[1]))
if not eval(sys.argv[2], {"d": d, "every": list(objects(d))}):
    sys.exit("not true: " + sys.argv[2])' "$@"
}
topo() {
	"$tool" topo "$@"
}
irq() {
	"$tool" irq "$@"
}

ok "this machine is shown" says "NICs" topo
ok "with reasons" says "not known" topo --explain
ok "as JSON" topo --json "$scratch/topo.json"
ok "each null has its reason" json "$scratch/topo.json" "all(v is not None or k + '_why' in o for o in every for k, v in o.items())"
ok "the CPUs are those of nproc" json "$scratch/topo.json" "sum(len(c['cpus']) for c in d['cores']) >= $(nproc)"

for spec in "$specs"/*.spec; do
	name=$(basename "$spec" .spec)
	[ "$name" != cpus-4096 ] || continue # the unit test has it; it takes seconds
	"$MACHINE_TREE" "$spec" "$scratch/$name" || exit 1
	ok "$name is shown" says "/$name" topo --root "$scratch/$name"
done
ok "a reader that goes is no failure" sh -c "'$tool' topo --root '$scratch/a3-high' | head -1"
ok "a file that cannot be written is one" exits 2 topo --root "$scratch/a3-high" --json /nowhere/x.json

tree=$scratch/mlx5
ok "its NICs are named" says "ens1f1np1" topo --root "$tree"
ok "its JSON" topo --root "$tree" --json "$scratch/topo.json"
ok "that of info" "$tool" info --root "$tree" --json "$scratch/info.json"
# what info says beside it: which NICs are used, and what an engine would do
same='import json, sys
of_topo, of_info = (json.load(open(f)) for f in sys.argv[1:])
for nic in of_info["nics"]["all"]:
    del nic["used"], nic["why"]
of_info["nics"] = of_info["nics"]["all"]
assert of_topo == {k: of_info.get(k) for k in of_topo}'
ok "info has the same view of it" python3 -c "$same" "$scratch/topo.json" "$scratch/info.json"
ok "a root that is none is refused" exits 2 topo --root /nowhere/at/all
ok "a word too many is refused" exits 2 topo eth0

snap=$scratch/snap
ok "counts of a tree" irq snapshot --root "$tree" -o "$snap"
ok "do not differ from themselves" irq diff "$snap" "$snap"
ok "nor from the tree" irq diff "$snap" live --root "$tree" --per-queue --per-cpu
ok "NICs are named" says "ens1f0np0" irq diff "$snap" "$snap" --per-queue
sed 's/1-edge      mlx5_comp0@/1-edge      other@/' "$tree/proc/interrupts" >"$scratch/interrupts"
cat "$scratch/interrupts" >"$tree/proc/interrupts"
ok "a vector with another name is found" exits 1 irq diff "$snap" live --root "$tree"
ok "and told" says "made anew" irq diff "$snap" live --root "$tree"
ok "JSON of it" sh -c "'$tool' irq diff '$snap' live --root '$tree' --json '$scratch/diff.json' >/dev/null; [ \$? = 1 ]"
ok "has the vector" json "$scratch/diff.json" "[r['label'] for r in d['irqs'] if r['state'] == 'anew'] == ['61']"
head -c 600 "$snap" >"$scratch/cut"
ok "a cut file is refused" exits 2 irq diff "$scratch/cut" "$snap"
# plain copies of /proc/interrupts, as people take them without us
plain() {
	printf '           CPU0       CPU1\n 24: %10d %10d  PCI-MSIX-0000:06:00.0   0-edge      ntfy-0\n' "$@"
}
plain 5 100 >"$scratch/before"
plain 6 107 >"$scratch/after"
ok "plain copies are compared" says "8 1 (88 %)      ntfy-0" irq diff "$scratch/before" "$scratch/after"
ok "and say nothing of time" says '"seconds": 0' irq diff "$scratch/before" "$scratch/after" --json -
ok "a plain copy and a machine" says "ens1f0np0" irq diff "$tree/proc/interrupts" live --root "$tree"
echo hello >"$scratch/hello"
ok "what is no copy is refused" says "nor that of proc/interrupts" irq diff "$scratch/hello" "$scratch/after"
ok "one snapshot is too few" exits 2 irq diff "$snap"
ok "an unknown NIC is refused" exits 2 irq snapshot --root "$tree" --nics nosuch0
ok "an unknown verb is refused" exits 2 irq snapshit
sed 's/^boot .*/boot another/' "$snap" >"$scratch/boot"
ok "another boot is refused" exits 2 irq diff "$scratch/boot" "$snap"

if [ -r /proc/interrupts ]; then
	ok "counts of this machine" irq snapshot -o "$scratch/here"
	ok "are compared" sh -c "'$tool' irq diff '$scratch/here' live --per-cpu --per-queue; [ \$? -le 1 ]"
	ok "by a pipe, too" sh -c "'$tool' irq snapshot | '$tool' irq diff - live --json - >'$scratch/pipe.json'; [ \$? -le 1 ]"
	ok "time has passed" json "$scratch/pipe.json" "d['seconds'] >= 0 and d['schema'] == 1"
fi

if [ "$(id -u)" = 0 ] && "$tool" lab up --name "$lab" --hosts 2 --nics 2 >"$scratch/up" 2>&1; then
	ok "in a lab its NICs are shown" says "no device stands behind it" on h0 "$tool" topo
	ok "with their queues" sh -c "'$tool' lab exec --name $lab h0 '$tool' topo --json - >'$scratch/lab.json'"
	ok "as the kernel has them" json "$scratch/lab.json" "any(n['queue_list'] for n in d['nics'] if n['name'] != 'lo')"
fi
done_testing
