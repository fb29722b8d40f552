#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Puts the interrupts of NICs on chosen CPUs, and says what was and what is. Needs root.
#
#	setup_irq_affinity.sh                      all NICs that move data, by the plan
#	setup_irq_affinity.sh eth1 8-21,112-125    those of eth1, in turn over these CPUs
#	setup_irq_affinity.sh --restore            as they were before
#
# Doing it again replaces what it did before. Further options go to tcpx irq apply, such as
# --dry-run, --ban-irqbalance or --for 600. TCPX names the tool, TCPX_IRQ_LOG the log
# (/var/log/tcpx-irq.log), TCPX_IRQ_PLAN where the plan is kept (/run/tcpx-irq/plan.json).
set -u

here=$(dirname "$0")
tcpx=${TCPX:-}
if [ -z "$tcpx" ]; then
	tcpx=tcpx
	[ ! -x "$here/../build/tcpx" ] || tcpx=$here/../build/tcpx
fi
log=${TCPX_IRQ_LOG:-/var/log/tcpx-irq.log}
plan=${TCPX_IRQ_PLAN:-/run/tcpx-irq/plan.json}

usage() {
	sed -n 's/^#	\(setup_irq.*\)/usage: \1/p' "$0" >&2
	exit 2
}

nic=
cpus=
restore=
case ${1:-} in
--restore)
	restore=yes
	shift
	;;
--help | -h) usage ;;
'' | -*) ;;
*)
	[ $# -ge 2 ] || usage
	nic=$1
	cpus=$2
	shift 2
	;;
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

# A dry run leaves what is applied as it is. Code 1: some vectors are gone since.
case " $* " in
*" --dry-run "* | *" -n "*) ;;
*)
	"$tcpx" irq restore >/dev/null
	code=$?
	[ "$code" -le 1 ] || exit "$code"
	;;
esac
[ -z "$restore" ] || exit 0

mkdir -p "$(dirname "$plan")" || exit 3
draft=$(mktemp "$plan.XXXXXX") || exit 3
said=$(mktemp) || exit 3
trap 'rm -f "$draft" "$said"' EXIT

if [ -n "$nic" ]; then
	"$tcpx" irq plan --nics "$nic" --allow "$cpus" --policy spread --emit json >"$draft"
else
	"$tcpx" irq plan --emit json >"$draft"
fi || exit
"$tcpx" irq verify "$draft" >"$said"
code=$?
note "before: ${nic:-all NICs} ${cpus:-by plan}" "$said"
cat "$said"
[ "$code" -le 1 ] || exit "$code"

"$tcpx" irq apply "$draft" "$@" >"$said"
code=$?
note "after: exit code $code" "$said"
cat "$said"
case " $* " in
*" --dry-run "* | *" -n "*) ;;
*) [ "$code" != 0 ] || mv "$draft" "$plan" ;;
esac
exit "$code"
