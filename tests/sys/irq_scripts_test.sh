#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154
# The scripts around tcpx irq, on a made-up machine and with a plan that is given.
. "$(dirname "$0")/tap.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root, as the scripts do"
scripts=$(cd "$(dirname "$0")/../../scripts" && pwd)
root=$scratch/root
mkdir -p "$root/proc/irq/40" "$root/sys/kernel/irq/40" "$root/proc/sys/kernel/random" \
	"$root/sys/devices/system/cpu"
touch "$root/tcpx-fixture"
echo 0-3 | tee "$root/proc/irq/40/smp_affinity_list" >"$root/sys/devices/system/cpu/online"
echo 2 >"$root/proc/irq/40/effective_affinity_list"
echo eth1-TxRx-0 >"$root/sys/kernel/irq/40/actions"
echo 1-2 >"$root/proc/sys/kernel/random/boot_id"
cat >"$scratch/given.json" <<'EOF'
{"schema": 1, "bindings": {"tx": "eth1:8-21;", "rx": "eth1:22-35;"}, "groups": [],
 "irqs": [{"irq": 40, "name": "eth1-TxRx-0", "nic": "eth1", "cpu": 2}]}
EOF
cat >"$scratch/tcpx" <<EOF
#!/bin/sh
echo "\$*" >>"$scratch/calls"
if [ "\$2" = plan ]; then
	cat "$scratch/given.json"
else
	exec "$tool" "\$@" --root "$root"
fi
EOF
chmod +x "$scratch/tcpx"
export TCPX="$scratch/tcpx" TCPX_IRQ_LOG="$scratch/log" TCPX_IRQ_PLAN="$scratch/kept/plan.json"

setup() {
	"$scripts/setup_irq_affinity.sh" "$@"
}
# shellcheck disable=SC2120
verify() {
	"$scripts/verify_bindings.sh" "$@"
}
asked() {
	[ "$(cat "$root/proc/irq/40/smp_affinity_list")" = "$1" ]
}

ok "a dry run" says "to be moved" setup eth1 0-3 --dry-run
ok "moves nothing" asked 0-3
ok "and keeps no plan" test ! -e "$TCPX_IRQ_PLAN"
ok "a NIC's interrupts on a range" exits 0 setup eth1 2-3
ok "are moved" asked 2
ok "as asked for" grep -qx "irq plan --nics eth1 --allow 2-3 --policy spread --emit json" \
	"$scratch/calls"
ok "the log says what was" grep -q "before: eth1 2-3" "$scratch/log"
ok "and what is" grep -q "after: exit code 0" "$scratch/log"
ok "once more, for all" exits 0 setup
ok "by the plan" grep -qx "irq plan --emit json" "$scratch/calls"
ok "half a command" exits 2 setup eth1

bindings() {
	NCCL_GPUDIRECTTCPX_TX_BINDINGS=$1 NCCL_GPUDIRECTTCPX_RX_BINDINGS=$2 verify
}
ok "bindings as planned" says "TX_BINDINGS is as planned" bindings "eth1:8-21" "eth1:22-35;"
ok "other bindings" says "finding  NCCL_GPUDIRECTTCPX_RX_BINDINGS is eth1:1-2" bindings \
	"eth1:8-21" "eth1:1-2"
ok "are a finding" exits 1 bindings "eth1:8-21" "eth1:1-2"
ok "bindings that are not set" says "TX_BINDINGS is not set" verify
ok "interrupts as planned" says "ok       interrupts are as planned" verify
echo 0 >"$root/proc/irq/40/smp_affinity_list"
ok "interrupts that drifted" says "finding  interrupts are not as planned" verify
first=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\).*/\1/p' /proc/self/status)
[ "$(nproc)" = 1 ] || ok "a mask that was narrowed" says "finding  this process may use CPUs" \
	"$tool" pin --cpus "$first" -- "$scripts/verify_bindings.sh"
ok "no plan at all" exits 2 verify "$scratch/none"
ok "all back" exits 0 setup --restore
ok "as it was" asked 0-3
done_testing
