#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Puts the interrupts of NICs on chosen CPUs, and says what was and what is. Needs root.
#
#	setup_irq_affinity.sh                      all NICs that carry data, by the plan
#	setup_irq_affinity.sh eth1 8-21,112-125    those of eth1, in turn over these CPUs
#	setup_irq_affinity.sh --restore            all as they were before
#
# NICs add up: a call for one leaves the others where earlier calls have put them. A call for
# all replaces what was. Further options go to tcpx irq apply, such as --dry-run,
# --ban-irqbalance or --for 600. TCPX names the tool, TCPX_IRQ_LOG the log
# (/var/log/tcpx-irq.log), TCPX_IRQ_PLAN where the plan is kept (/run/tcpx-irq/plan.json).
set -u

here=$(cd "$(dirname "$0")" && pwd)
tcpx=${TCPX:-}
for path in "$here/tcpx" "$here/../tcpx" "$here/../build/tcpx"; do
	[ -n "$tcpx" ] || [ ! -f "$path" ] || [ ! -x "$path" ] || tcpx=$path
done
tcpx=${tcpx:-tcpx}
log=${TCPX_IRQ_LOG:-/var/log/tcpx-irq.log}
plan=${TCPX_IRQ_PLAN:-/run/tcpx-irq/plan.json}

usage() {
	sed -n '/^#	setup_irq/,/^set /s/^#[	 ]\{0,1\}//p' "$0"
}

nic=
cpus=
restore=
case ${1:-} in
--restore)
	restore=yes
	shift
	;;
--help | -h)
	usage
	exit 0
	;;
'' | -*) ;;
*)
	if [ $# -lt 2 ]; then
		usage >&2
		exit 2
	fi
	nic=$1
	cpus=$2
	shift 2
	;;
esac
dry=
lasts=yes
case " $* " in
*" --dry-run "* | *" -n "*) dry=yes ;;
*" --for"* | *" -f "*) lasts= ;;
esac

if [ "$(id -u)" != 0 ]; then
	echo "$0: only root may move interrupts" >&2
	exit 3
fi

# note TEXT FILE: the log grows by it.
note() {
	{
		echo "== $(date -u +%Y-%m-%dT%H:%M:%SZ) $1"
		cat "$2"
	} >>"$log" || echo "$0: cannot write to $log" >&2
}

# take_back: what is applied. Code 1: some vectors are gone since. $applied: there was a plan.
take_back() {
	said=$("$tcpx" irq restore)
	code=$?
	[ "$code" -le 1 ] || exit "$code"
	applied=yes
	case $said in
	"nothing to restore"*) applied= ;;
	esac
	[ -r "$plan" ] || applied=
}
if [ -n "$restore" ]; then
	take_back
	rm -f "$plan"
	exit 0
fi

mkdir -p "$(dirname "$plan")" || exit 3
part=$(mktemp) && draft=$(mktemp "$plan.XXXXXX") && text=$(mktemp) || exit 3
trap 'rm -f "$part" "$draft" "$text"' EXIT

if [ -n "$nic" ]; then
	"$tcpx" irq plan --nics "$nic" --allow "$cpus" --policy spread --emit json >"$part"
else
	"$tcpx" irq plan --emit json >"$part"
fi || exit
"$tcpx" irq verify "$part" >"$text"
code=$?
note "before: ${nic:-all NICs} ${cpus:-by plan}" "$text"
cat "$text"
[ "$code" -le 1 ] || exit "$code"
if [ -n "$dry" ]; then
	"$tcpx" irq apply "$part" "$@"
	exit
fi

# merge KEPT: that plan, but the NIC's interrupts are those of the part
merge() {
	python3 - "$1" "$part" "$nic" <<'END' >"$draft"
import json, sys
kept, part = (json.load(open(path)) for path in sys.argv[1:3])
kept["irqs"] = [i for i in kept["irqs"] if i["nic"] != sys.argv[3]] + part["irqs"]
print(json.dumps(kept, indent=1))
END
}

# What cannot be applied is found before anything is taken back.
"$tcpx" irq apply "$part" "$@" --dry-run >"$text" || {
	code=$?
	cat "$text"
	exit "$code"
}
if [ -n "$nic" ]; then
	"$tcpx" irq plan --policy keep --emit json >"$text" || exit
fi
take_back
if [ -z "$nic" ]; then
	cp "$part" "$draft"
elif [ -n "$applied" ]; then
	merge "$plan"
else
	merge "$text"
fi
code=$?
trap : INT TERM HUP # they end the apply; what was applied before is still to come back
if [ "$code" = 0 ]; then
	"$tcpx" irq apply "$draft" "$@" >"$text"
	code=$?
	note "after: exit code $code" "$text"
	cat "$text"
fi
if [ "$code" = 0 ] && [ -n "$lasts" ]; then
	mv "$draft" "$plan"
elif [ -n "$applied" ]; then
	if "$tcpx" irq apply "$plan" >"$text"; then
		echo "as it was applied before: $plan"
	else
		cat "$text" >&2
	fi
fi
exit "$code"
