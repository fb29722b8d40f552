#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154
# A plan is applied to the machine that it was made for and to no other: made-up machines,
# each with one fact changed.
. "$(dirname "$0")/tap.sh"

base='machine m
node 0 distance 10,20
node 1 distance 20,10
cores 0 0-3
cores 1 4-7
nic eth1 node 0 rx 2 tx 2 max 2 driver ena pci 0000:06:00.0
nic eth2 node 1 rx 2 tx 2 max 2 driver ena pci 0000:86:00.0
irq eth1 txrx 0-1 at 40 hwirq 0 name eth1-Tx-Rx-{0}
irq eth2 txrx 0-1 at 50 hwirq 0 name eth2-Tx-Rx-{0}
gpu 0 node 0 pci 0000:04:00.0'

# machine [SED]: its files, with that change to the text.
root=$scratch/root
machine() {
	rm -rf "$root"
	echo "$base" | sed "${1:-}" >"$scratch/spec"
	"$MACHINE_TREE" "$scratch/spec" "$root" || exit 1
	echo "${2:-1-1}" >"$root/proc/sys/kernel/random/boot_id"
}
irq() {
	verb=$1
	shift
	"$tool" irq "$verb" "$scratch/plan.json" --root "$root" "$@"
}
masks() {
	cat "$root"/proc/irq/*/smp_affinity_list
}
nothing_moved() {
	masks | diff "$scratch/masks" - && [ ! -s "$root/run/tcpx-irq/journal" ]
}

machine
"$tool" irq plan --root "$root" --emit json >"$scratch/plan.json" || exit 1
ok "the plan names its machine" python3 -c "
import json, sys
p = json.load(open(sys.argv[1]))
t = json.load(sys.stdin)
assert p['topo_hash'] == t['hash'] and len(p['topo_hash']) == 16, (p['topo_hash'], t['hash'])
assert sorted(p['topo_parts']) == ['cpus', 'gpus', 'nics', 'queues'] and p['boot_id'] == '1-1'
" "$scratch/plan.json" <<EOF2
$("$tool" topo --root "$root" --json -)
EOF2
ok "it fits" exits 0 irq apply --dry-run
ok "and is applied" exits 0 irq apply
ok "and found to be as planned" exits 0 irq verify
ok "and still the machine's" sh -c "! '$tool' irq verify '$scratch/plan.json' --root '$root' 2>&1 | grep another"
ok "and taken back" exits 0 "$tool" irq restore --root "$root"

# changed WHAT SED TEXT
changed() {
	machine "$2"
	masks >"$scratch/masks"
	ok "$1: refused" exits 2 irq apply
	ok "$1: said what" says "$3" irq apply
	ok "$1: a dry run refuses as well" exits 2 irq apply --dry-run
	ok "$1: also when names are followed" exits 2 irq apply --renumber
	ok "$1: nothing was moved" nothing_moved
	ok "$1: verify says so" says "made for another machine" irq verify
}
changed "nodes the other way round" 's/^cores 0 0-3/cores 0 4-7/; s/^cores 1 4-7/cores 1 0-3/' "other CPUs"
changed "siblings" 's/0-3/0-1\/2-3/' "other CPUs"
changed "a CPU is isolated" 's/^gpu/isolated 2\ngpu/' "other CPUs"
changed "a NIC at another address" 's/06:00.0/07:00.0/' "other NICs"
changed "NICs that changed their names" 's/86:00.0/x/; s/06:00.0/86:00.0/; s/0000:x/0000:06:00.0/' "other NICs"
changed "a GPU less" '/^gpu/d' "other GPUs"
changed "fewer queues in use" 's/rx 2 tx 2 max 2/rx 1 tx 1 max 2/' "other queues"

machine '' 2-2
masks >"$scratch/masks"
ok "another boot: refused" exits 2 irq apply
ok "another boot: said" says "another boot" irq apply
ok "another boot: nothing was moved" nothing_moved
machine 's/at 40/at 60/' 2-2
ok "another boot: by names it is fine" exits 0 irq apply --renumber
ok "another boot: and as planned" test -s "$root/run/tcpx-irq/journal"

machine
masks >"$scratch/masks"
# with SED: the plan with something replaced, or gone
with() {
	sed "$1" "$scratch/plan.json" >"$scratch/with.json"
	"$tool" irq apply "$scratch/with.json" --root "$root" --dry-run
}
ok "a bad hash is refused" exits 2 with 's/"topo_hash": "./"topo_hash": "X/'
ok "and a bad part" exits 2 with 's/"nics": "[0-9a-f]*"/"nics": 7/'
ok "and a bad boot" exits 2 with 's/"boot_id": "1-1"/"boot_id": 11/'
ok "and a hash of no machine" exits 2 with 's/"topo_hash": "..../"topo_hash": "beef/'
ok "a plan that does not tell is taken" exits 0 with '/topo_hash/d'
ok "and that is said" says "does not name its machine" with '/topo_hash/d'

# What a process may use is not of the machine.
hash_of() {
	"$@" irq plan --emit json | grep '"topo_hash"'
}
same_hash() {
	[ "$(hash_of "$tool" pin --cpus "$1" -- "$tool")" = "$(hash_of "$tool")" ]
}
own=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\).*/\1/p' /proc/self/status)
ok "one CPU fewer for the planner is the same machine" same_hash "$own"

# a NIC of which no vector can be moved: not "nothing", and done
base='machine m
node 0
cores 0 0-7
nic eth1 node 0 rx 1 tx 1 driver virtio_net pci 0000:04:00.0
irq eth1 mgmt at 66 hwirq 0 name virtio1-config'
machine
"$tool" irq plan --root "$root" --json "$scratch/plan.json" >"$scratch/plan" || exit 1
ok "a NIC without a vector of a queue is named" grep "eth1 *left out: no vector of it is known to serve a queue" "$scratch/plan"
ok "and no plan moves nothing" exits 2 irq apply --dry-run
ok "which is said" says "no interrupt to move" irq apply --dry-run
"$tool" irq plan --root "$root" --policy keep --json "$scratch/plan.json" >"$scratch/plan" || exit 1
ok "unless it is to keep them" exits 0 irq apply --dry-run
done_testing
