#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tcpx env: it prints a valid environment in every form, which lints clean on its machine.
. "$(dirname "$0")/tap.sh"

for name in $(env | sed -n 's/^\(NCCL_[A-Z0-9_]*\|TCPX_[A-Z0-9_]*\)=.*/\1/p'); do
	unset "$name"
done

fixture() {
	mkdir -p "$scratch/m/sys/class/net" "$scratch/m/run/tcpx" "$scratch/m/sys/devices/system/cpu" &&
	: >"$scratch/m/run/tcpx/rx_rule_manager" && echo 0-7 >"$scratch/m/sys/devices/system/cpu/online"
	for nic in eth0 eth1; do
		mkdir -p "$scratch/m/sys/class/net/$nic/device" || return
		echo up >"$scratch/m/sys/class/net/$nic/operstate"
		echo 0x1003 >"$scratch/m/sys/class/net/$nic/flags"
		echo "$nic 10.0.${nic#eth}.1/24" >>"$scratch/m/addresses"
	done
}
evaluated() {
	( eval "$("$tool" env --root "$scratch/m")" && echo "chunk $NCCL_DYNAMIC_CHUNK_SIZE" )
}
form_lints_clean() {
	"$tool" env --root "$scratch/m" --nics eth1 --control eth0 --format "$1" |
		"$tool" env --root "$scratch/m" --lint --file -
}
# sbatch refuses an option of srun's
slurm_options() {
	"$tool" env --root "$scratch/m" --format slurm >"$scratch/slurm" && grep -x 'export SLURM_CPU_BIND=none' "$scratch/slurm" &&
		[ "$(grep '^#SBATCH' "$scratch/slurm")" = '#SBATCH --exclusive' ]
}
json_is_whole() {
	"$tool" env --root "$scratch/m" --format json | python3 -c "
import json, sys
v = json.load(sys.stdin)
sys.exit(v['variables'].keys() != v['why'].keys() or v['left_out'] is not None)"
}
finding() {
	NCCL_SOCKET_NTHREADS=9 "$tool" env --root "$scratch/m" --lint --json - | python3 -c "
import json, sys
ids = [f['id'] for f in json.load(sys.stdin)['findings']]
print(ids)
sys.exit(not {'nthreads', 'chunk-unset'} <= set(ids))"
}
# Its environment is read before it ends, however slow this is.
of_a_process() {
	NCCL_DYNAMIC_CHUNK_SIZE=7 sleep 1000 &
	jobs_started="$jobs_started $!"
	within 60 grep -qz NCCL_DYNAMIC_CHUNK_SIZE=7 "/proc/$!/environ" &&
		"$tool" env --lint --pid "$!" --json - | grep -q chunk-unset && return 1
	return 0
}

fixture || exit 1
ok "a shell takes it" says "chunk 524288" evaluated
for form in sh docker slurm; do
	ok "$form lints clean" exits 0 form_lints_clean "$form"
done
ok "options of sbatch alone, for Slurm" slurm_options
ok "JSON is refused, and not an empty environment" exits 2 form_lints_clean json
ok "JSON has a reason for each" json_is_whole
ok "JSON has the findings" finding
ok "findings end with 1" exits 1 "$tool" env --root "$scratch/m" --lint
"$MACHINE_TREE" "$fixtures/a3-high.spec" "$scratch/a3" || exit 1
in_silence() {
	"$tool" env --root "$scratch/a3" 2>&1 >/dev/null | grep . && return 1
	"$tool" env --root "$scratch/a3" >/dev/null
}
ok "a machine with GPUs is one for such jobs" in_silence
without_gpu() {
	"$tool" env --root "$scratch/m" --json "$scratch/vars" && grep -q NCCL_CROSS_NIC "$scratch/vars"
}
ok "one without is none, though the variables are printed" without_gpu
ok "which is said" says "no GPU is found here" "$tool" env --root "$scratch/m"
ok "so is a plugin that is not there" says "no NCCL net plugin" \
	env TCPX_PLUGIN_PATH=/nonexistent.so "$tool" env
# mpirun TX RX: options of mpirun, as scripts have them
mpirun() {
	cat <<-END
	mpirun -np 16 --hostfile hosts \\
	  -x NCCL_DYNAMIC_CHUNK_SIZE=524288 \\
	  -x NCCL_GPUDIRECTTCPX_TX_BINDINGS="$1" \\
	  -x NCCL_GPUDIRECTTCPX_RX_BINDINGS="$2" \\
	  ./program
	END
}
# lint_says TEXT: of the file on standard input, and not that the chunk is not set
lint_says() {
	"$tool" env --root "$scratch/a3" --lint --file - >"$scratch/said" 2>&1
	cat "$scratch/said"
	grep -q "$1" "$scratch/said" && ! grep chunk-unset "$scratch/said"
}
shared_cpus() {
	mpirun "eth1:10-19,110-121" "eth1:20-31,120-135" | lint_says 'overlap.* 120-121'
}
pod() {
	printf 'spec:\n  containers:\n  - env:\n    - name: NCCL_DYNAMIC_CHUNK_SIZE\n      value: "0"\n'
}
of_a_pod() {
	pod | "$tool" env --root "$scratch/a3" --lint --file - | grep 'NCCL_DYNAMIC_CHUNK_SIZE is 0'
}
ok "options of mpirun are read" shared_cpus
ok "a manifest is" of_a_pod
echo "echo hello" >"$scratch/hello.sh"
ok "a file without a variable is none" exits 2 "$tool" env --lint --file "$scratch/hello.sh"
ok "which is said" says "no line of $scratch/hello.sh is NAME=VALUE" "$tool" env --lint --file "$scratch/hello.sh"
# what NCCL's file sets is in the environment that is looked at
by_conf() {
	echo NCCL_SOCKET_NTHREADS=9 >"$scratch/nccl.conf"
	NCCL_CONF_FILE=$scratch/nccl.conf "$tool" env --root "$scratch/m" --lint | grep nthreads
}
ok "a file of NCCL counts" by_conf
ok "another process's" of_a_process
ok "no such process" exits 2 "$tool" env --lint --pid 1073741823
ok "no such NIC" exits 2 "$tool" env --root "$scratch/m" --control eth7
said_once() {
	"$tool" env --root "$scratch/m" --nics eth7 2>&1 | tee "$scratch/said"
	[ "$(grep -c "leaves none" "$scratch/said")" = 1 ]
}
ok "none of that name among those for data, which is said once" said_once
ok "no such form" exits 2 "$tool" env --format xml
ok "--pid without --lint" exits 2 "$tool" env --pid 1
done_testing
