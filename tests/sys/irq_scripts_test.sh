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
ok "help" exits 0 setup --help
ok "that names the words" says "setup_irq_affinity.sh eth1 8-21,112-125" setup -h
ok "help of the other" says "verify_bindings.sh [PLAN]" verify --help

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
ok "and nothing is planned" exits 2 verify

# ---- Google's machine with its control NIC, NIC by NIC and all at once ----
unset TCPX_NICS NCCL_SOCKET_IFNAME NCCL_GPUDIRECTTCPX_SOCKET_IFNAME NCCL_GPUDIRECTTCPX_CTRL_DEV
root=$scratch/a3
a3_high "$scratch/a3.spec"
"$MACHINE_TREE" "$scratch/a3.spec" "$root" || exit 1
cat >"$scratch/tcpx" <<EOF
#!/bin/sh
case "\${FAILS-} \$*" in
"yes irq apply $TCPX_IRQ_PLAN".*) exec "$tool" irq apply /nonexistent ;;
esac
exec "$tool" "\$@" --root "$root"
EOF
export NCCL_GPUDIRECTTCPX_TX_BINDINGS='eth1:8-21,112-125;eth2:8-21,112-125;eth3:60-73,164-177;eth4:60-73,164-177'
export NCCL_GPUDIRECTTCPX_RX_BINDINGS='eth1:22-35,126-139;eth2:22-35,126-139;eth3:74-87,178-191;eth4:74-87,178-191'
# The first interrupt of eth0 to eth4.
firsts() {
	for irq in 34 67 100 133 166; do
		echo "$(cat "$root/proc/irq/$irq/smp_affinity_list")"
	done | paste -sd' '
}
# Nothing but the CPUs of this process, which are not that machine's, may be found.
clean() {
	verify >"$scratch/verified"
	cat "$scratch/verified"
	! grep '^finding' "$scratch/verified" | grep -v "this process may use"
}
before=$(firsts)
one_by_one() {
	setup eth1 8-21,112-125 && setup eth2 22-35,126-139 && setup eth3 60-73,164-177 &&
		setup eth4 74-87,178-191
}
ok "NIC by NIC" one_by_one
ok "all of them stay" says "0-207 8 22 60 74" firsts
ok "with the published bindings nothing is found" clean
ok "a NIC once more" exits 0 setup eth2 36-51
ok "goes elsewhere, alone" says "0-207 8 36 60 74" firsts
ok "a range that is none" exits 2 setup eth3 5-1
ok "CPUs that are not there" exits 3 setup eth3 300-301
ok "leave all as it was" says "0-207 8 36 60 74" firsts
ok "the same" clean
ok "an apply that fails" exits 2 env FAILS=yes "$scripts/setup_irq_affinity.sh" eth3 88-103
ok "leaves all as it was, too" says "0-207 8 36 60 74" firsts
ok "all NICs, by the plan" exits 0 setup
ok "but not the control NIC" says "0-207 36 140 88 192" firsts
ok "with the published bindings nothing is found" clean
ok "one NIC apart from the plan" exits 0 setup eth4 60-73
ok "and the others by it" says "0-207 36 140 88 60" firsts
ok "all back" exits 0 setup --restore
ok "as they were" [ "$(firsts)" = "$before" ]
done_testing
