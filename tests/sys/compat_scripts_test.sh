#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The scripts of the older benchmark: with a stand-in for their program, then over the loopback.
. "$(dirname "$0")/tap.sh"

bin=$(dirname "$tool")/compat
for name in $(env | sed -n 's/^\(\(NCCL\|UCCL\|TCPX\)_[A-Z0-9_]*\)=.*/\1/p'); do
	[ "$name" = TCPX_STATS ] || unset "$name"
done
unset GPU_LIST NODE_IPS BINDINGS VERBOSE DIAG SETUP_IRQ_AFFINITY
export LOG_DIR="$scratch/logs"

# ---- a program that says what it was started with, and ends as $CODE or $CODE_<gpu> says ----
apart=$scratch/apart
mkdir -p "$apart" "$scratch/m/sys/class/net" "$scratch/m/sys/devices/system/cpu"
cp "$bin"/*.sh "$bin/print_latest_bw.py" "$apart"
cat >"$apart/test_tcpx_perf_multi" <<'END'
#!/bin/sh
echo "words: $*"
env | grep -E '^(NCCL|UCCL|TCPX)_' | sort
for gpu; do :; done
gpu=${gpu%%,*}
echo "[PERF] Size: 1 MB"
echo "[PERF] Window: 16 messages a channel"
echo "[PERF] Avg (2 iter): 5.000 ms, BW: 2.50 GB/s (provider tcpx, GPU $gpu to GPU $gpu)"
[ ! -p "${GATE-}" ] || read -r _ <"$GATE"
eval "exit \${CODE_$gpu:-${CODE-0}}"
END
chmod +x "$apart/test_tcpx_perf_multi"
# the machine that tcpx env is asked about: Google's, with its control NIC
a3_high "$scratch/a3.spec"
"$MACHINE_TREE" "$scratch/a3.spec" "$scratch/a3" || exit 1
cat >"$apart/tcpx" <<END
#!/bin/sh
[ "\$1" != env ] || set -- "\$@" --root "$scratch/a3"
exec "$tool" "\$@"
END
chmod +x "$apart/tcpx"
# logged COMMAND...: what it says, and what its logs have
logged() {
	"$@" >"$scratch/said" 2>&1
	code=$?
	cat "$scratch/said" "$LOG_DIR"/*.log
	return $code
}
# has ROLE-OPTIONS -- LINE...: bench_p2p.sh with these, and its program has these lines
has() {
	rm -rf "$LOG_DIR"
	words=
	while [ "$1" != -- ]; do
		words="$words $1"
		shift
	done
	shift
	# shellcheck disable=SC2086 # a list of words
	logged "$apart/bench_p2p.sh" server 0 $words >"$scratch/has" || return
	for line; do
		grep -qxF -- "$line" "$scratch/has" || { echo "not $line"; cat "$scratch/has"; return 1; }
	done
}
ok "what tcpx env prints is set" has -- NCCL_GPUDIRECTTCPX_SOCKET_IFNAME=eth1,eth2,eth3,eth4 \
	NCCL_GPUDIRECTTCPX_CTRL_DEV=eth0 NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX=/run/tcpx \
	NCCL_GPUDIRECTTCPX_PROGRAM_FLOW_STEERING_WAIT_MICROS=50000 NCCL_NSOCKS_PERTHREAD=4 \
	NCCL_SOCKET_NTHREADS=1 NCCL_MIN_ZCOPY_SIZE=4096 TCPX_NICS=eth1,eth2,eth3,eth4 \
	"NCCL_GPUDIRECTTCPX_TX_BINDINGS=eth1:8-21,112-125;eth2:8-21,112-125;eth3:60-73,164-177;eth4:60-73,164-177" \
	"NCCL_GPUDIRECTTCPX_RX_BINDINGS=eth1:22-35,126-139;eth2:22-35,126-139;eth3:74-87,178-191;eth4:74-87,178-191"
ok "and the script's own" has -- UCCL_TCPX_PERF_SIZE=67108864 UCCL_TCPX_PERF_ITERS=20
mesh_has() {
	rm -rf "$LOG_DIR"
	says "$@"
}
ok "and a full mesh's" mesh_has UCCL_TCPX_NUM_CHANNELS=2 logged "$apart/run_p2p_fullmesh.sh" server
kept() {
	export NCCL_GPUDIRECTTCPX_SOCKET_IFNAME=eth2 NCCL_MIN_ZCOPY_SIZE=7 UCCL_TCPX_NUM_CHANNELS=3 \
		NCCL_GPUDIRECTTCPX_RX_BINDINGS="eth2:1-1"
	has -- NCCL_GPUDIRECTTCPX_SOCKET_IFNAME=eth2 NCCL_MIN_ZCOPY_SIZE=7 UCCL_TCPX_NUM_CHANNELS=3 \
		NCCL_GPUDIRECTTCPX_RX_BINDINGS=eth2:1-1 TCPX_NICS=eth2 \
		"NCCL_GPUDIRECTTCPX_TX_BINDINGS=eth2:8-21,112-125"
	code=$?
	unset NCCL_GPUDIRECTTCPX_SOCKET_IFNAME NCCL_MIN_ZCOPY_SIZE UCCL_TCPX_NUM_CHANNELS \
		NCCL_GPUDIRECTTCPX_RX_BINDINGS
	return $code
}
ok "what the user has set stays" kept
# lacks VARIABLE COMMAND...: the program does not have it
lacks() {
	name=$1
	shift
	rm -rf "$LOG_DIR"
	logged "$@" >"$scratch/has" || return
	! grep "^$name=" "$scratch/has"
}
ok "no bindings, if not wanted" lacks NCCL_GPUDIRECTTCPX_TX_BINDINGS env BINDINGS=0 "$apart/bench_p2p.sh" server 0
ok "none beside our own" lacks NCCL_GPUDIRECTTCPX_TX_BINDINGS env TCPX_TX_BINDINGS=eth1:1-1 \
	"$apart/bench_p2p.sh" server 0
ok "no names of NICs beside addresses" lacks NCCL_GPUDIRECTTCPX_SOCKET_IFNAME env TCPX_NICS=127.0.0.1 \
	"$apart/bench_p2p.sh" server 0
ok "no channels beside TCPX_CHANNELS" lacks UCCL_TCPX_NUM_CHANNELS env TCPX_CHANNELS=4 \
	"$apart/run_p2p_fullmesh.sh" server
ok "no prefix, if not wanted" lacks NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX "$apart/bench_p2p.sh" server 0 \
	--no-unix

ok "options with a =" has --ifaces=eth1,eth2 --ctrl=eth3 --size=4096 --iters=3 --chunk=65536 --nsocks=2 \
	--nthreads=2 --channels=5 --unix-prefix=/x --impl=d2d --skip-warmup=1 --port=21000 --host-recv -- \
	TCPX_NICS=eth1,eth2 NCCL_GPUDIRECTTCPX_SOCKET_IFNAME=eth1,eth2 NCCL_GPUDIRECTTCPX_CTRL_DEV=eth3 \
	UCCL_TCPX_PERF_SIZE=4096 UCCL_TCPX_PERF_ITERS=3 UCCL_TCPX_CHUNK_BYTES=65536 NCCL_NSOCKS_PERTHREAD=2 \
	NCCL_SOCKET_NTHREADS=2 UCCL_TCPX_NUM_CHANNELS=5 NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX=/x \
	UCCL_TCPX_UNPACK_IMPL=d2d UCCL_TCPX_SKIP_WARMUP=1 UCCL_TCPX_BOOTSTRAP_PORT_BASE=21000 \
	UCCL_TCPX_HOST_RECV_DEBUG=1
ok "and with a blank" has --ifaces eth4 --skip-warmup=0 -- TCPX_NICS=eth4 UCCL_TCPX_SKIP_WARMUP=0
ok "--any reaches the program" has --any -- "words: --any server 0"

# ---- how it ends, and when it shows something ----
ok "the program's code" exits 3 env CODE=3 "$apart/bench_p2p.sh" server 0
ok "a full mesh's, too" exits 3 env CODE=3 "$apart/run_p2p_fullmesh.sh" server
ok "of one process" exits 3 env CODE=3 "$apart/run_p2p_fullmesh.sh" --single-process server
ok "a failure outweighs a fall-back" exits 1 env CODE=3 CODE_2=1 CODE_5=139 "$apart/run_p2p_fullmesh.sh" \
	server
ok "recorded, too" exits 3 env CODE=3 DIAG=1 "$apart/run_p2p_fullmesh.sh" server
ok "--any reaches all" says "words: --any client 10.0.0.9 1" logged "$apart/run_p2p_fullmesh.sh" --any \
	client 10.0.0.9
ok "what carried it is in the figures" says "GPU 7: [PERF] Avg (2 iter): 5.000 ms, BW: 2.50 GB/s (provider tcpx, GPU 7 to GPU 7)" \
	"$apart/run_p2p_fullmesh.sh" server
ok "and their sum" says "total: 20.00 GB/s by 8 GPUs (provider tcpx, GPU to GPU)" "$apart/run_p2p_fullmesh.sh" server
ok "and in the table" says "client GPU 0: 5.000 ms, 2.50 GB/s, provider tcpx, GPU 0 to GPU 0" \
	"$apart/print_latest_bw.py" "$LOG_DIR"
ok "and its sum" says "server total: 20.00 GB/s, 2.50 GB/s a GPU (provider tcpx, GPU to GPU)" \
	"$apart/print_latest_bw.py" "$LOG_DIR"
summary() {
	rm -rf "$LOG_DIR" && DIAG=1 "$apart/run_p2p_fullmesh.sh" server >/dev/null &&
		cat "$LOG_DIR"/diag_server_*/p2p_metrics_summary.txt
}
ok "a recorded run has size" says "best bus bandwidth: 2.50 GB/s at 1048576 B" summary
ok "sum" says "total: 20.00 GB/s by 8 GPUs" summary
ok "and depth" says "depth: at most 16 messages a channel" summary
# Its lines are there while its program waits.
live() {
	mkfifo "$scratch/gate"
	start "$scratch/live" env GATE="$scratch/gate" "$@"
	within 60 grep -q "$want_live" "$scratch/live"
	code=$?
	echo >"$scratch/gate"
	rm "$scratch/gate"
	wait "$started" && return $code
}
want_live="words: server 0"
ok "bench_p2p.sh shows lines as they come" live "$apart/bench_p2p.sh" server 0
want_live="^logs: "
ok "run_p2p_fullmesh.sh shows where they go" live "$apart/run_p2p_fullmesh.sh" server 0
ok "variables" says "NCCL_MIN_ZCOPY_SIZE=4096" env VERBOSE=1 "$apart/bench_p2p.sh" server 0

# ---- companions: beside the scripts, or where the source has them ----
# finds FOLDER: its scripts find the tool, the script for interrupts and a file of hosts
finds() {
	mkdir -p "$scratch/cwd" && cd "$scratch/cwd" && here=$1 sh -c '
		. "$here/around_p2p.sh"
		for one in "$around_tcpx" "$(around_find setup_irq_affinity.sh)" "$(around_hosts)"; do
			echo "$one"
			[ -r "$one" ] || exit 1
		done'
}
source=$(cd "$(dirname "$0")/../.." && pwd)
prefix=$scratch/prefix
mkdir -p "$prefix/bin" "$prefix/share/tcpx-p2p/node_ips" "$scratch/built/compat"
cp "$bin"/*.sh "$prefix/bin"
cp "$source/scripts/node_ips/tcpx.txt" "$prefix/share/tcpx-p2p/node_ips"
ln -s "$tool" "$prefix/bin/tcpx"
ok "where they are installed" finds "$prefix/bin"
ok "in a build directory" finds "$bin"
ok "both scripts are there" test -x "$bin/setup_irq_affinity.sh" -a -x "$bin/verify_bindings.sh"
hosts() {
	printf '# comment\n10.1.2.3 # first\n10.1.2.4\n' >"$scratch/hosts" && rm -rf "$LOG_DIR" &&
		NODE_IPS="$scratch/hosts" logged "$apart/run_p2p_fullmesh.sh" client
}
ok "the first host is the server" says "words: client 10.1.2.3 0" hosts

# ---- the program itself, over the loopback ----
export TCPX_NICS=127.0.0.1 TCPX_CUDA_LIBRARY=/nonexistent

for script in bench_p2p.sh run_p2p_fullmesh.sh print_latest_bw.py; do
	ok "$script refuses what it does not know" exits 2 "$bin/$script" --fast
	ok "$script has help" exits 0 "$bin/$script" --help
done
ok "bench_p2p.sh refuses an option it does not know" exits 2 "$bin/bench_p2p.sh" server 0 --fast
ok "bench_p2p.sh refuses an option without its value" exits 2 "$bin/bench_p2p.sh" server 0 --size

# fullmesh OPTIONS...: three pairs with the script, both roles.
fullmesh() {
	rm -rf "$LOG_DIR"
	UCCL_TCPX_BOOTSTRAP_PORT_BASE=$(free_port)
	export UCCL_TCPX_BOOTSTRAP_PORT_BASE GPU_LIST=0,1,2 UCCL_TCPX_PERF_SIZE=1048576 \
		UCCL_TCPX_PERF_ITERS=2
	start "$scratch/mesh" "$bin/run_p2p_fullmesh.sh" --any "$@" server
	server=$started
	timeout 60 "$bin/run_p2p_fullmesh.sh" --any "$@" client 127.0.0.1 || {
		kill "$server" 2>/dev/null
		tail -n 3 "$LOG_DIR"/*
		return 1
	}
	wait "$server"
}
# Ports may be taken by others between the look and the use.
fullmesh_again() {
	fullmesh "$@" || fullmesh "$@"
}
three_logs() {
	[ "$(find "$LOG_DIR" -name "fullmesh_$1_gpu[012]_*_*.log" | wc -l)" = 3 ]
}
ok "three pairs, a process each" fullmesh_again
ok "a log for each of the server" three_logs server
ok "and of the client" three_logs client
ok "which are summed up" says "client total: " "$bin/print_latest_bw.py" "$LOG_DIR" 3
ok "a figure that is missing is told" exits 1 "$bin/print_latest_bw.py" "$LOG_DIR" 4
ok "three pairs, one process" fullmesh_again --single-process
ok "the same logs" three_logs client
ok "summed up, too" says "server total: " "$bin/print_latest_bw.py" "$LOG_DIR" 3
old_format() {
	mkdir -p "$scratch/old"
	printf 'Total time: 21.5 ms\nBandwidth: 3.12 GB/s\n' >"$scratch/old/fullmesh_server_gpu0_1.log"
	"$bin/print_latest_bw.py" "$scratch/old" 1
}
ok "the other form of the figures" says "server GPU 0: 21.500 ms, 3.12 GB/s, ?" old_format

bench() {
	UCCL_TCPX_BOOTSTRAP_PORT_BASE=$(free_port)
	export UCCL_TCPX_BOOTSTRAP_PORT_BASE
	start "$scratch/bench" "$bin/bench_p2p.sh" server 0 --size 1048576 --iters 2 --ifaces 127.0.0.1 --any
	server=$started
	timeout 60 "$bin/bench_p2p.sh" client 127.0.0.1 0 --size 1048576 --iters 2 --chunk 262144 \
		--channels 3 --any || {
		kill "$server"
		return 1
	}
	wait "$server"
}
bench_again() {
	bench || bench
}
ok "bench_p2p.sh" says "[PERF] Avg (2 iter)" bench_again
ok "its log" sh -c "ls '$LOG_DIR'/bench_client_*_*.log"
recorded() {
	rm -rf "$LOG_DIR"
	export VERBOSE=1 NCCL_GPUDIRECTTCPX_TX_BINDINGS="$1"
	bench_again >"$scratch/verbose" || return 1
	unset VERBOSE NCCL_GPUDIRECTTCPX_TX_BINDINGS
	cat "$scratch/verbose"
	grep -qF "TX bindings: $1" "$scratch/verbose" && grep -q "on CPUs" "$scratch/verbose" &&
		grep -q "best bus bandwidth" "$LOG_DIR"/diag_client_*/p2p_metrics_summary.txt
}
ok "VERBOSE=1 records it, with the bindings that were set" recorded "eth9:0-0"
moved_first() {
	printf '#!/bin/sh\necho moved by "$TCPX"\nexit 3\n' >"$apart/setup_irq_affinity.sh"
	
	SETUP_IRQ_AFFINITY=1 TCPX=/nonexistent "$apart/bench_p2p.sh" server 0
}
ok "interrupts that cannot be moved end it" exits 3 moved_first
ok "with the tool that was named" says "moved by /nonexistent" moved_first
fullmesh_recorded() {
	DIAG=1 fullmesh_again --single-process
}
ok "three pairs, recorded" fullmesh_recorded
ok "each with its figure" sh -c "grep -q 'GPU 2' '$LOG_DIR'/diag_client_*/p2p_metrics_summary.txt"
done_testing
