#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154
# tcpx irq apply, verify and restore on this machine's kernel: an idle vector of the memory
# balloon, one of a NIC if traffic fires one, and one that the kernel manages. All
# affinities are compared at the end, and restored on every exit.
. "$(dirname "$0")/tap.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root, to move interrupts"
[ "$(nproc)" -ge 2 ] || skip_all "needs two CPUs"
[ -w /proc/irq ] && [ -d /sys/kernel/irq ] || skip_all "no interrupts to move here"
grep -qsx irqbalance /proc/[0-9]*/comm && skip_all "irqbalance runs here"
if [ -e /run/tcpx-irq/journal ]; then
	grep -qxE 'state (restored|rolled-back)' /run/tcpx-irq/journal ||
		! grep -qx "boot $(cat /proc/sys/kernel/random/boot_id)" /run/tcpx-irq/journal ||
		skip_all "a plan is applied here, and it is not ours to take back"
fi

alone_with_irqs
first=$(sed 's/[-,].*//' /sys/devices/system/cpu/online)
last=$(sed 's/.*[-,]//' /sys/devices/system/cpu/online)

masks() {
	for list in /proc/irq/*/smp_affinity_list; do
		echo "$list $(cat "$list" 2>/dev/null)"
	done
}

masks >"$scratch/before"
put_back() {
	masks | diff - "$scratch/before" | sed -n 's/^> //p' | while read -r list mask; do
		echo "$mask" >"$list" 2>/dev/null
	done
}
trap 'put_back; finish' EXIT

as_before() {
	masks | diff "$scratch/before" -
}

# vector PATTERN [mode]: an IRQ with one action like that; its number.
vector() {
	for dir in /sys/kernel/irq/*; do
		irq=${dir##*/}
		grep -qsE "^($1)\$" "$dir/actions" || continue
		[ "$(stat -c %a "/proc/irq/$irq/smp_affinity_list" 2>/dev/null)" = "${2:-644}" ] || continue
		# one that may go anywhere, so that there is somewhere to go
		[ "$(cat "/proc/irq/$irq/smp_affinity_list")" != "$first" ] || continue
		echo "$irq"
		return
	done
	return 1
}

name_of() {
	cat "/sys/kernel/irq/$1/actions"
}

# plan IRQ CPU...: for all of them
plan() {
	rows=
	while [ $# -gt 0 ]; do
		rows="$rows${rows:+,}{\"irq\": $1, \"name\": \"$(name_of "$1")\", \"cpu\": $2}"
		shift 2
	done
	echo "{\"schema\": 1, \"groups\": [], \"irqs\": [$rows]}" >"$scratch/plan.json"
}

irq() {
	verb=$1
	shift
	[ "$verb" = restore ] || set -- "$scratch/plan.json" "$@"
	"$tool" irq "$verb" "$@"
}

is_asked() {
	[ "$(cat "/proc/irq/$1/smp_affinity_list")" = "$2" ]
}

idle=$(vector 'virtio[0-9]+-(inflate|deflate|stats|reporting_vq)') ||
	skip_all "no vector of a memory balloon to move"
other=$(vector 'virtio[0-9]+-(deflate|stats|reporting_vq)' || echo "$idle")
managed=$(vector 'virtio[0-9]+-req\.[0-9]+|nvme[0-9]+q[1-9][0-9]*' 444)

plan "$idle" "$first"
ok "a dry run" exits 0 irq apply --dry-run
ok "changes nothing" as_before
ok "an idle vector is moved" exits 0 irq apply
ok "the kernel has it" is_asked "$idle" "$first"
ok "verify agrees" exits 0 irq verify
ok "once more is refused" exits 2 irq apply
ok "it is put back" exits 0 irq restore
ok "all as before" as_before
ok "putting back twice" exits 0 irq restore

if [ -n "$managed" ]; then
	plan "$idle" "$first" "$managed" "$first"
	ok "a managed one is left out" says "1 skipped-managed" irq apply
	ok "and the other one moved" is_asked "$idle" "$first"
	ok "and put back" exits 0 irq restore
	ok "strict refuses" exits 3 irq apply --strict
	ok "all as before, again" as_before
else
	count=$((count + 1))
	echo "ok $count - a managed one is left out # SKIP the kernel manages none here"
fi

plan "$idle" "$first"
start "$scratch/for" "$tool" irq apply "$scratch/plan.json" --for 600
ok "applied for a while" within 30 is_asked "$idle" "$first"
kill -KILL "$started"
wait "$started" 2>/dev/null
ok "killed, it stays" is_asked "$idle" "$first"
ok "the journal puts it back" exits 0 irq restore
ok "as before it was killed" as_before

if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null && [ "$other" != "$idle" ]; then
	plan "$idle" "$first" "$other" "$first"
	for k in 1 2; do
		victim=$([ "$k" = 1 ] && echo "$idle" || echo "$other")
		ASAN_OPTIONS=detect_leaks=0 strace -f -o /dev/null -e trace=write \
			-e inject=write:signal=KILL -P "/proc/irq/$victim/smp_affinity_list" \
			"$tool" irq apply "$scratch/plan.json" >/dev/null 2>&1
		ok "killed at write $k, the journal puts back" exits 0 irq restore
		ok "as before write $k" as_before
		ASAN_OPTIONS=detect_leaks=0 strace -f -o /dev/null -e trace=write \
			-e inject=write:error=EINVAL -P "/proc/irq/$victim/smp_affinity_list" \
			"$tool" irq apply "$scratch/plan.json" >/dev/null 2>&1
		code=$?
		ok "refused at write $k, it is rolled back or can be restored" test "$code" -ge 4
		irq restore >/dev/null 2>&1
		ok "as before that, too" as_before
	done
else
	count=$((count + 1))
	echo "ok $count - killed at a write # SKIP no strace here, or one vector only"
fi

in_container() {
	unshare -m sh -c 'mount --bind /proc/irq /proc/irq && mount -o remount,bind,ro /proc/irq &&
		exec "$@"' sh "$@"
}
plan "$idle" "$first"
if in_container true 2>/dev/null; then
	ok "read-only as in a container" exits 3 in_container "$tool" irq apply "$scratch/plan.json"
	ok "and said so" says "read-only" in_container "$tool" irq apply "$scratch/plan.json"
else
	count=$((count + 1))
	echo "ok $count - read-only as in a container # SKIP no mount namespaces here"
fi

# XPS of a pair of virtual NICs that nobody else sees.
with_queues() {
	unshare -n -m sh -c 'mount -t sysfs none /sys &&
		ip link add tcpxv0 numtxqueues 2 numrxqueues 2 type veth peer name tcpxv1 &&
		[ -w /sys/class/net/tcpxv0/queues/tx-1/xps_cpus ] || exit 99
		"$@"' sh "$@"
}
xps_and_back() {
	"$tool" irq apply "$scratch/xps.json" --xps &&
		grep -qE '^0*1$' /sys/class/net/tcpxv0/queues/tx-1/xps_cpus &&
		"$tool" irq verify "$scratch/xps.json" --xps && "$tool" irq restore &&
		grep -qE '^0+$' /sys/class/net/tcpxv0/queues/tx-1/xps_cpus
}
echo '{"schema": 1, "irqs": [], "xps": [{"nic": "tcpxv0", "queue": 1, "cpus": "0"}]}' >"$scratch/xps.json"
export tool scratch
if with_queues true >/dev/null 2>&1; then
	# a function goes to another shell as its text
	ok "XPS masks are set and put back" with_queues sh -c "$(sed -n '/^xps_and_back()/,/^}/p' "$0")
		xps_and_back"
else
	count=$((count + 1))
	echo "ok $count - XPS masks are set and put back # SKIP no virtual NICs for us here"
fi

# A vector that fires by itself, so that a move can be seen to become effective: a NIC's if
# there is traffic (none can be made here: what goes to own addresses reaches no NIC), or the
# balloon's, which hosts ask for statistics every few seconds.
fired() {
	tr , '\n' <"/sys/kernel/irq/$1/per_cpu_count" | awk '{ n += $1 } END { print n }'
}
candidates() {
	for dir in /sys/kernel/irq/*; do
		grep -qsE '^(virtio[0-9]+-(input\.[0-9]+|stats)|.*-TxRx-[0-9]+|mlx5_comp.*|gve-ntfy-blk.*)$' \
			"$dir/actions" || continue
		irq=${dir##*/}
		is_asked "$irq" "$first" || echo "$irq $(fired "$irq")"
	done
}
candidates >"$scratch/counts"
firing() {
	while read -r irq n; do
		[ "$(fired "$irq")" -gt $((n + 1)) ] && echo "$irq" >"$scratch/firing" && return
	done <"$scratch/counts"
	return 1
}
effective_on() {
	[ "$(cat "/proc/irq/$1/effective_affinity_list")" = "$2" ]
}
if within 20 firing; then
	irq=$(cat "$scratch/firing")
	name=$(name_of "$irq")
	home=$(cat "/proc/irq/$irq/effective_affinity_list")
	away=$first
	[ "$home" != "$first" ] || away=$last
	plan "$irq" "$away"
	ok "a vector that fires is moved: $name" exits 0 irq apply
	if within 30 effective_on "$irq" "$away"; then
		ok "it is effective" says "1 effective" irq verify --under-load 1
		ok "it goes back" exits 0 irq restore --settle 30000
		effective_on "$irq" "$home" || echo "# not home yet: no interrupt came in 30 s"
	else
		count=$((count + 1))
		echo "ok $count - it is effective # SKIP no interrupt came in 30 s"
		ok "it goes back" exits 0 irq restore
	fi
else
	count=$((count + 1))
	echo "ok $count - a vector that fires # SKIP none did in 20 s"
fi

ok "all affinities are as before" as_before
done_testing
