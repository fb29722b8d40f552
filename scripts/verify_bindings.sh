#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Whether this shell, the bindings in its environment and the interrupts of the machine are
# as a plan has them: what a run started from here would get. Changes nothing.
#
#	verify_bindings.sh [PLAN] [OPTIONS OF tcpx irq verify]
#
# PLAN is a file of tcpx irq plan --emit json; without it, the one that
# setup_irq_affinity.sh has kept (TCPX_IRQ_PLAN, /run/tcpx-irq/plan.json). TCPX names the
# tool. Exit code 0: all is well; 1: there is a finding.
set -u

here=$(cd "$(dirname "$0")" && pwd)
tcpx=${TCPX:-}
for path in "$here/tcpx" "$here/../tcpx" "$here/../build/tcpx"; do
	[ -n "$tcpx" ] || [ ! -f "$path" ] || [ ! -x "$path" ] || tcpx=$path
done
tcpx=${tcpx:-tcpx}
plan=${TCPX_IRQ_PLAN:-/run/tcpx-irq/plan.json}
case ${1:-} in
-h | --help)
	sed -n '/^#	verify/,/^set /s/^#[	 ]\{0,1\}//p' "$0"
	exit 0
	;;
'' | -*) ;;
*)
	plan=$1
	shift
	;;
esac
if [ ! -r "$plan" ]; then
	echo "$0: no plan $plan; tcpx irq plan --emit json makes one" >&2
	exit 2
fi

findings=0
good() {
	echo "ok       $1"
}
bad() {
	echo "finding  $1"
	findings=$((findings + 1))
}

# field EXPRESSION: of the plan, as python sees it (p); empty if there is none.
field() {
	python3 -c "
import json, sys
p = json.load(open(sys.argv[1]))
try:
    print($1 or '')
except (KeyError, TypeError):
    print('')" "$plan"
}

own=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
online=$(cat /sys/devices/system/cpu/online)
if [ "$own" = "$online" ]; then
	good "this process may use all CPUs: $own"
else
	bad "this process may use CPUs $own of $online only, and what it starts no more than that"
fi

# What numactl or a wrapper left us; the first mapping tells the process's own policy.
policy=$(sed -n '1s/^[^ ]* \([^ ]*\).*/\1/p' /proc/self/numa_maps 2>/dev/null)
case $policy in
'' | default) good "memory policy: ${policy:-not told by this kernel}" ;;
*) bad "memory comes by policy $policy: a numactl around this shell narrows it" ;;
esac

for way in tx rx; do
	name=NCCL_GPUDIRECTTCPX_$(echo $way | tr a-z A-Z)_BINDINGS
	is=$(printenv "$name" | sed 's/;$//')
	want=$(field "p['bindings']['$way']" | sed 's/;$//')
	if [ -z "$is" ]; then
		bad "$name is not set: threads would float over a whole node; the plan has $want"
	elif [ -z "$want" ]; then
		good "$name is $is; the plan has none to compare with"
	elif [ "$is" = "$want" ]; then
		good "$name is as planned: $is"
	else
		bad "$name is $is, the plan has $want"
	fi
done

"$tcpx" irq verify "$plan" "$@"
code=$?
case $code in
0) good "interrupts are as planned" ;;
1) bad "interrupts are not as planned" ;;
*) exit "$code" ;;
esac

echo "$findings findings"
[ "$findings" = 0 ]
