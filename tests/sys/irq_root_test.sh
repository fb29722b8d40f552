#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154
# tcpx irq apply, verify and restore on a made-up machine: exit codes, bad journals, two at
# once, and that nothing is written outside of the root, or below one that is not marked.
. "$(dirname "$0")/tap.sh"

root=$scratch/root
journal=$root/run/tcpx-irq/journal

# irq NUMBER NAME: both are asked for 0-3 and effective on 1.
irq() {
	mkdir -p "$root/proc/irq/$1" "$root/sys/kernel/irq/$1"
	echo 0-3 >"$root/proc/irq/$1/smp_affinity_list"
	echo 1 >"$root/proc/irq/$1/effective_affinity_list"
	echo "$2" >"$root/sys/kernel/irq/$1/actions"
	echo "$1" >"$root/sys/kernel/irq/$1/hwirq"
	echo 0,5,0,0 >"$root/sys/kernel/irq/$1/per_cpu_count"
}

machine() {
	rm -rf "$root"
	mkdir -p "$root/sys/devices/system/cpu" "$root/proc/sys/kernel/random"
	echo 0-3 >"$root/sys/devices/system/cpu/online"
	echo 11111111-2222-3333-4444-555555555555 >"$root/proc/sys/kernel/random/boot_id"
	irq 40 eth1-TxRx-0
	irq 41 eth1-TxRx-1
	irq 42 nvme0q1
	chmod 444 "$root/proc/irq/42/smp_affinity_list"
	touch "$root/tcpx-fixture"
}

plan() {
	cat >"$scratch/plan.json" <<-EOF
	{"schema": 1, "groups": [{"nics": ["eth1"], "head": "0", "tx": "1", "rx": "2", "tail": "3"}],
	 "irqs": [{"irq": 40, "name": "eth1-TxRx-0", "hwirq": 40, "nic": "eth1", "cpu": ${1:-2}},
	          {"irq": 41, "name": "eth1-TxRx-1", "nic": "eth1", "cpu": 3},
	          {"irq": 42, "name": "nvme0q1", "cpu": 3},
	          {"irq": null, "name": "none", "cpu": 3}]}
	EOF
}

asked() {
	cat "$root/proc/irq/40/smp_affinity_list" "$root/proc/irq/41/smp_affinity_list" \
		"$root/proc/irq/42/smp_affinity_list" | tr -d '\n'
}

masks_are() {
	[ "$(asked)" = "$1" ] || { asked; return 1; }
}

# shellcheck disable=SC2120
irq_apply() {
	"$tool" irq apply "$scratch/plan.json" --root "$root" "$@"
}

# shellcheck disable=SC2120
irq_restore() {
	"$tool" irq restore --root "$root" "$@"
}

irq_verify() {
	"$tool" irq verify "$scratch/plan.json" --root "$root" "$@"
}

machine
plan
rm "$root/tcpx-fixture"
ok "a root without the marker is not written to" exits 3 irq_apply
ok "and nothing was made in it" test ! -e "$root/run"
ok "but it can be looked at" exits 0 irq_apply --dry-run
ok "and verified" exits 1 irq_verify
touch "$root/tcpx-fixture"

ok "a dry run tells" says "to be moved" irq_apply --dry-run
ok "and writes nothing" masks_are 0-30-30-3
ok "a plan is applied" says "2 pending, 1 skipped-managed" irq_apply
ok "what has no number is told" says "1 without a number left out" irq_verify
ok "as planned" masks_are 230-3
ok "verify finds it pending" says "as planned: 2 pending" irq_verify
ok "which is a finding if strict" exits 1 irq_verify --strict
echo 2 >"$root/proc/irq/40/effective_affinity_list"
ok "and effective when it is" says "1 pending, 1 effective" irq_verify
ok "a second plan is refused" exits 2 irq_apply
ok "it is taken back" exits 0 irq_restore
ok "to what it was" masks_are 0-30-30-3
ok "twice is once" exits 0 irq_restore
ok "and it can be applied again" exits 0 irq_apply
echo 0-1 >"$root/proc/irq/41/smp_affinity_list"
ok "drift is found" says "drifted" irq_verify
ok "with exit code 1" exits 1 irq_verify --json "$scratch/verify.json"
ok "as JSON too" python3 -c "
import json, sys
d = json.load(open(sys.argv[1]))
assert not d['as_planned'] and [i['state'] for i in d['items']] == \
    ['effective', 'drifted', 'skipped-managed'], d" "$scratch/verify.json"

ok "another boot's journal is refused" sh -c "
	echo 9-9 >'$root/proc/sys/kernel/random/boot_id'
	'$tool' irq restore --root '$root'; [ \$? = 2 ]"
ok "but by force" exits 0 irq_restore --force
ok "restored" masks_are 0-30-30-3

machine
ok "strict refuses managed ones" exits 3 irq_apply --strict
plan 9
ok "an offline CPU is refused" exits 2 irq_apply
plan
echo somebody-else >"$root/sys/kernel/irq/41/actions"
ok "another vector's number is refused" exits 2 irq_apply
irq 77 eth1-TxRx-1
ok "its name is followed on demand" exits 0 irq_apply --renumber
ok "to where it is" grep -qx 3 "$root/proc/irq/77/smp_affinity_list"
rm -r "$root/proc/irq/77" "$root/sys/kernel/irq/77"
ok "what is gone is told" exits 1 irq_restore
ok "and nothing was changed twice" masks_are 0-30-30-3

machine
for plan in '' '[]' '{"schema":1}' '{"schema":2,"irqs":[]}' '{"schema":1,"irqs":[{"irq":40,"cpu":1}]}' \
	'{"schema":1,"irqs":[{"irq":40,"name":"x","cpu":9999999}]}' \
	'{"schema":1,"irqs":[{"irq":-7,"name":"x","cpu":1}]}' \
	'{"schema":1,"irqs":[{"irq":null,"name":"x","cpu":1}]}' \
	'{"schema":1,"irqs":[],"xps":[{"nic":"../x","queue":0,"cpus":"1"}]}'; do
	printf '%s' "$plan" >"$scratch/bad.json"
	ok "bad plan: $plan" exits 2 "$tool" irq apply "$scratch/bad.json" --root "$root"
done

plan
irq_apply >/dev/null
cp -p "$journal" "$scratch/good"
head -c -40 "$scratch/good" | sed '/^end/d' >"$journal"
ok "a journal that was cut is refused" exits 2 irq_restore
sed 's/journal 1/journal 7/' "$scratch/good" >"$journal"
ok "one of a newer version, too" exits 2 irq_restore
cp -p "$scratch/good" "$journal"
chmod 666 "$journal"
ok "one that others may write, too" exits 2 irq_restore
ln -sf "$scratch/good" "$journal"
ok "a link, too" exits 2 irq_restore
ok "one that is not there, too" exits 2 irq_restore "$scratch/none"
ok "nothing was changed by those" masks_are 230-3
ok "by its name it works" exits 0 irq_restore "$scratch/good"
ok "restored by name" masks_are 0-30-30-3
rm -f "$journal"

if command -v flock >/dev/null; then
	ok "two at once are not" exits 3 flock "$root/run/tcpx-irq/lock" "$tool" irq apply \
		"$scratch/plan.json" --root "$root"
fi

full_disk() {
	mkdir -p "$scratch/small"
	unshare -m sh -c 'mount -t tmpfs -o size=8k none "$1" && cat /dev/zero >"$1/fill" 2>/dev/null
		shift; exec "$@"' sh "$scratch/small" "$@"
}
if full_disk true 2>/dev/null; then
	ok "a full disk stops it" exits 4 full_disk "$tool" irq apply "$scratch/plan.json" \
		--root "$root" --journal "$scratch/small/journal"
	ok "before anything is touched" masks_are 0-30-30-3
else
	count=$((count + 1))
	echo "ok $count - a full disk stops it # SKIP no mount namespaces for us"
fi

ok "for a second, and back" exits 0 irq_apply --for 1
ok "it went back" masks_are 0-30-30-3

start "$scratch/for" "$tool" irq apply "$scratch/plan.json" --root "$root" --for 600
ok "while it is applied" within 60 masks_are 230-3
kill -TERM "$started"
ok "a signal takes it back" within 60 masks_are 0-30-30-3
ok "and the command is content" wait "$started"

irq_apply >/dev/null
start "$scratch/watch" "$tool" irq verify "$scratch/plan.json" --root "$root" --watch
ok "watching begins" within 60 grep -q "Name:[[:space:]]*tcpx" "/proc/$started/status"
noticed() {
	echo 1 >"$root/proc/irq/41/smp_affinity_list"
	grep -q "irq 41 (eth1-TxRx-1): .*drifted (asked for 1," "$scratch/watch"
}
ok "drift is seen while watching" within 60 noticed
kill -INT "$started"
wait "$started"
ok "and a finding at its end" test $? = 1
irq_restore >/dev/null

if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
	# leaks cannot be looked for while traced
	ASAN_OPTIONS=detect_leaks=0
	export ASAN_OPTIONS
	outside() {
		strace -f -o "$scratch/trace" -e trace=%file,ftruncate "$@" >"$scratch/said" 2>&1
		grep -E 'O_WRONLY|O_RDWR|O_CREAT|^[0-9]+ +(mkdir|rename|unlink|rmdir|chmod|chown|link|symlink|truncate)' \
			"$scratch/trace" | grep -v -e '= -1 ' -e '"/dev/null"' -e '"/proc/self/' \
			>"$scratch/outside"
		grep -vF "\"$root/" "$scratch/outside"
	}
	ok "applying writes in the root alone" exits 1 outside "$tool" irq apply \
		"$scratch/plan.json" --root "$root"
	ok "and it wrote" grep -q "smp_affinity_list" "$scratch/outside"
	ok "restoring, too" exits 1 outside "$tool" irq restore --root "$root"
	rm -r "$root/tcpx-fixture" "$root/run"
	outside "$tool" irq apply "$scratch/plan.json" --root "$root" >/dev/null
	ok "below an unmarked root, nothing is written" test ! -s "$scratch/outside"
else
	count=$((count + 1))
	echo "ok $count - writes are inside of the root # SKIP no strace here"
fi
done_testing
