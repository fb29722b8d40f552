#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tcpx irq plan and lint: the published bindings byte for byte, the famous slip, refusals, and
# threads of a run on the CPUs of their bindings.
here=$(dirname "$0")
. "$here/tap.sh"

root=$scratch/a3-high
"$MACHINE_TREE" "$fixtures/a3-high.spec" "$root" || exit 1
tx='eth1:8-21,112-125;eth2:8-21,112-125;eth3:60-73,164-177;eth4:60-73,164-177'
rx='eth1:22-35,126-139;eth2:22-35,126-139;eth3:74-87,178-191;eth4:74-87,178-191'
slip=$(echo "$rx" | sed 's/126-139/124-139/g')
unset TCPX_TX_BINDINGS TCPX_RX_BINDINGS NCCL_GPUDIRECTTCPX_TX_BINDINGS
unset NCCL_GPUDIRECTTCPX_RX_BINDINGS TCPX_NICS NCCL_SOCKET_IFNAME
unset NCCL_GPUDIRECTTCPX_SOCKET_IFNAME NCCL_GPUDIRECTTCPX_CTRL_DEV

plan() {
	"$tool" irq plan --root "$root" "$@"
}
published() {
	plan --emit nccl >"$scratch/nccl" || return
	printf 'NCCL_GPUDIRECTTCPX_TX_BINDINGS=%s\nNCCL_GPUDIRECTTCPX_RX_BINDINGS=%s\n' "$tx" "$rx" |
		diff - "$scratch/nccl"
}
json_is() {
	plan --json - --explain | python3 -c "
import json, sys
p = json.load(sys.stdin)
if not ($1):
    sys.exit(json.dumps(p, indent=1)[:2000])"
}
lint() {
	"$tool" irq lint --root "$root" "$@"
}
shell_script() {
	plan --emit sh >"$scratch/plan.sh" && sh -n "$scratch/plan.sh" &&
		grep -q '^echo 36 >/proc/irq/67/smp_affinity_list' "$scratch/plan.sh"
}

ok "the published bindings" published
a3_high "$scratch/eth0.spec"
"$MACHINE_TREE" "$scratch/eth0.spec" "$scratch/a3" || exit 1
with_control() {
	root=$scratch/a3 published
}
ok "a control NIC beside them changes nothing" with_control
ok "and that is said" says "NICs next to GPUs; not for eth0" "$tool" irq plan --root \
	"$scratch/a3"
# same VARIABLE=VALUE...: tcpx env and tcpx irq plan have the same data NICs
same() {
	env "$@" "$tool" env --root "$scratch/a3" --format docker | grep "^NCCL.*_BINDINGS" \
		>"$scratch/env" &&
		env "$@" "$tool" irq plan --root "$scratch/a3" --emit nccl | diff "$scratch/env" - &&
		sed -n 's/.*TX_BINDINGS=//p' "$scratch/env" | tr ';' '\n' | sed 's/:.*//' | paste -sd,
}
ok "env and plan have its data NICs" says "eth1,eth2,eth3,eth4" same A=
ok "or those of TCPX_NICS" says "eth0,eth2" same TCPX_NICS==eth2,eth0 NCCL_GPUDIRECTTCPX_CTRL_DEV=eth1
ok "or of NCCL's plugin" says "eth1,eth3" same NCCL_GPUDIRECTTCPX_SOCKET_IFNAME=eth1,eth3
ok "not that of NCCL's bootstrap" says "eth1,eth2,eth3,eth4" same NCCL_SOCKET_IFNAME=eth0
ok "names without a NIC here" exits 3 env TCPX_NICS=eth9 "$tool" irq plan --root "$scratch/a3"
ok "--nics has the last word" says "eth0:" env TCPX_NICS=eth9 "$tool" irq plan --root "$scratch/a3" \
	--nics eth0 --emit nccl
ok "the application's CPUs" says "application 0-7,104-111,52-59,156-163" plan
ok "reasons" says "2 for each of 4 GPUs" plan --explain
ok "JSON" json_is "p['bindings']['tx'] == '$tx' and len(p['irqs']) == 128 and
	p['application'] == '0-7,104-111,52-59,156-163' and p['groups'][1]['why']"
ok "policy spread" says "eth3             32 on 52-67" plan --policy spread
ok "a shell script that is one" shell_script
ok "systemd" says 'CPUAffinity=0-51,104-155 52-103,156-207' plan --emit systemd
ok "Slurm" says 'taskset -c 0-7,104-111,52-59,156-163' plan --emit slurm
ok "this machine has a plan" says "interrupts" "$tool" irq plan --explain

ok "what is published has no finding" exits 0 lint --tx "$tx" --rx "$rx"
control_is_none() {
	exits 0 "$tool" irq lint --root "$scratch/a3" --tx "$tx" --rx "$rx" >"$scratch/linted" &&
		! grep eth0 "$scratch/linted"
}
ok "also beside a control NIC" control_is_none
ok "but telemetry's CPUs are told" says telemetry lint --tx "$tx" --rx "$rx"
ok "which is one to the strict" exits 1 lint --strict --tx "$tx" --rx "$rx"
ok "the slip is a finding" exits 1 lint --tx "$tx" --rx "$slip"
ok "that names its CPUs" says "TX and RX of eth1 share CPUs 124-125" lint --tx "$tx" --rx "$slip"
ok "the environment is looked at" exits 1 env NCCL_GPUDIRECTTCPX_RX_BINDINGS='eth1:9-3' \
	"$tool" irq lint --root "$root" --json "$scratch/lint.json"
ok "and JSON says what is wrong" grep -q '"id": "reversed"' "$scratch/lint.json"

ok "no bindings at all" exits 2 lint
ok "an unknown policy" exits 2 plan --policy sideways
ok "an unknown NIC" exits 3 plan --nics eth9
ok "no such machine" exits 2 "$tool" irq plan --root "$scratch/none"

# one CPU that this process may use is enough to see a thread go there
cpu=$(python3 -c 'import os; print(max(os.sched_getaffinity(0)))')
bound() {
	TCPX_NICS=lo TCPX_TX_BINDINGS="lo:$cpu-$cpu" timeout 100 "$tool" perf --self -b 64K -e 64K \
		-n 5 --json "$scratch/result.json" "$@"
}
ok "a run with bindings" bound
ok "its threads are where they say" result "$scratch/result.json" \
	"all(t['requested'] == t['granted'] == '$cpu' for t in rows[0]['threads'])"
ok "TCPX_CPUS and TCPX_BIND=off beat them" env TCPX_BIND=off sh -c "TCPX_NICS=lo \
	TCPX_TX_BINDINGS=lo:$cpu-$cpu timeout 100 '$tool' perf --self -b 64K -e 64K -n 5 \
	--json '$scratch/result.json'"
ok "so that threads are free" result "$scratch/result.json" \
	"all(t['requested'] == '' for t in rows[0]['threads'])"
ok "bindings that are wrong stop us" exits 2 env TCPX_NICS=lo TCPX_TX_BINDINGS=lo:3-1 "$tool" perf \
	--self -b 64K -e 64K -n 1
done_testing
