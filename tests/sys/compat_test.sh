#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The programs and scripts of the older benchmark: two processes on the loopback.
. "$(dirname "$0")/tap.sh"

bin=$(dirname "$tool")/compat
export TCPX_NICS=127.0.0.1 LOG_DIR="$scratch/logs" TCPX_CUDA_LIBRARY=/nonexistent
unset UCCL_TCPX_PERF_SIZE UCCL_TCPX_PERF_ITERS

# A port with three free ones behind it; somebody may still be faster, so pair() asks again.
free_port() {
	python3 - <<'END'
import random, socket
while True:
    base = random.randrange(20000, 32000)
    held = [socket.socket() for _ in range(4)]
    try:
        for i, one in enumerate(held):
            one.bind(("127.0.0.1", base + i))
    except OSError:
        continue
    print(base)
    break
END
}

# pair PROGRAM SERVER-ARGS CLIENT-ARGS: both sides; their lines in $scratch/server, client.
pair() {
	for _ in 1 2 3; do
		port=$(free_port)
		# shellcheck disable=SC2086 # lists of words
		start "$scratch/server" "$bin/$1" --port "$port" server $2
		server=$started
		# shellcheck disable=SC2086
		timeout 60 "$bin/$1" --port "$port" client 127.0.0.1 $3 >"$scratch/client" 2>&1
		code=$?
		[ $code = 0 ] || kill "$server" 2>/dev/null
		wait "$server"
		server_code=$?
		grep -q EADDRINUSE "$scratch/server" || break
	done
	cat "$scratch/server" "$scratch/client"
	[ $code = 0 ] && [ $server_code = 0 ]
}

# both TEXT...: each is in what server and client said.
both() {
	for text; do
		for side in server client; do
			grep -qE -- "$text" "$scratch/$side" || {
				echo "no '$text' of the $side"
				cat "$scratch/$side"
				return 1
			}
		done
	done
}

# same TEXT: server and client say the same number there.
same() {
	here=$(sed -n "s/$1/\1/p" "$scratch/server")
	there=$(sed -n "s/$1/\1/p" "$scratch/client")
	[ -n "$here" ] && [ "$here" = "$there" ] || { echo "'$here', '$there'"; return 1; }
}

ok "a text arrives" pair test_tcpx_transfer "" ""
ok "as it was sent" grep -q "Received: 'Hello from TCPX client!'" "$scratch/server"
ok "both say how it ended, and that there is no GPU" both "PASSED: every byte compared" \
	"\[TCPX\] GPU: 0 \(no GPU driver here: host memory\)"
ok "over two channels" pair test_tcpx_transfer_multi "--size 1M" "--size 1M"
ok "which are named" both "\[ChannelManager\] Channel 1 -> netDev 0 \(127.0.0.1, PCI=none, score=0,"

ok "a measurement" pair test_tcpx_perf "0" "--size 1M --iters 3 --verbose"
ok "its lines are the notes' lines" both "\[PERF\] Mode: (SERVER|CLIENT)" "\[PERF\] GPU: 0" \
	"\[PERF\] Channels: 1" "\[PERF\] Size: 1 MB" "\[PERF\] Iterations: 3" "\[PERF\] Chunk size: 524288" \
	"\[PERF\] Iteration 2: total bytes=1048576, chunk_bytes=524288" "\[PERF\] Iter 2 time=[0-9.]+ms" \
	"\[PERF\] Avg \(3 iter\): [0-9.]+ ms, BW: [0-9.]+ GB/s" \
	"\[STEADY-STATE\] Avg time: [0-9.]+ ms, BW: [0-9.]+ GB/s"
ok "a line for each message, with its tag" grep -qF \
	"[PERF][CLIENT] chunk_idx=1 tag=20100 size=524288 offset=524288" "$scratch/client"
ok "both have both sides' times" both "Agreement: .*server [0-9.]+ ms" "Agreement: .*client [0-9.]+ ms"
ok "an odd size" pair test_tcpx_perf "0" "--size 1000003 --iters 2 --chunk 64K --skip-warmup"
ok "several channels" pair test_multi_channel "0" "0"
ok "all of them are there" both "\[PERF\] Channels: 4"

gpus() {
	TCPX_CUDA_LIBRARY=$FAKECUDA_LIBRARY pair test_tcpx_perf_multi "0-1" "0-1 --size 1M --iters 2"
}
ok "memory of GPUs, several in one process" gpus
ok "of the GPU, it says" both "GPU: 0 \(memory of the GPU\)" "GPU: 1 \(memory of the GPU\)"

for self in test_bootstrap test_channel_manager test_sliding_window test_device_discovery; do
	ok "$self" says "PASSED" timeout 60 "$bin/$self"
done
for program in test_tcpx_transfer test_tcpx_perf_multi test_multi_channel test_bootstrap; do
	ok "$program refuses what it does not know" exits 2 "$bin/$program" --fast
	ok "$program has help" exits 0 "$bin/$program" --help
done
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
	start "$scratch/mesh" "$bin/run_p2p_fullmesh.sh" "$@" server
	server=$started
	timeout 60 "$bin/run_p2p_fullmesh.sh" "$@" client 127.0.0.1 || {
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
ok "the other form of the figures" says "server GPU 0: 21.500 ms, 3.12 GB/s" old_format

bench() {
	UCCL_TCPX_BOOTSTRAP_PORT_BASE=$(free_port)
	export UCCL_TCPX_BOOTSTRAP_PORT_BASE
	start "$scratch/bench" "$bin/bench_p2p.sh" server 0 --size 1048576 --iters 2 --ifaces 127.0.0.1
	server=$started
	timeout 60 "$bin/bench_p2p.sh" client 127.0.0.1 0 --size 1048576 --iters 2 --chunk 262144 \
		--channels 3 || {
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
	grep -qF "TX bindings: $1" "$scratch/verbose" && grep -q "ran on CPUs" "$scratch/verbose" &&
		grep -q "best bus bandwidth" "$LOG_DIR"/diag_client_*/p2p_metrics_summary.txt
}
ok "VERBOSE=1 records it, with the bindings that were set" recorded "eth9:0-0"
moved_first() {
	mkdir -p "$scratch/apart"
	cp "$bin/bench_p2p.sh" "$bin/around_p2p.sh" "$scratch/apart"
	printf '#!/bin/sh\necho moved by "$TCPX"\nexit 3\n' >"$scratch/apart/setup_irq_affinity.sh"
	chmod +x "$scratch/apart/setup_irq_affinity.sh"
	SETUP_IRQ_AFFINITY=1 TCPX=/nonexistent "$scratch/apart/bench_p2p.sh" server 0
}
ok "interrupts that cannot be moved end it" exits 3 moved_first
ok "with the tool that was named" says "moved by /nonexistent" moved_first
planned() {
	unset NCCL_GPUDIRECTTCPX_TX_BINDINGS NCCL_GPUDIRECTTCPX_RX_BINDINGS
	cat >"$scratch/planner" <<'END'
#!/bin/sh
[ "$*" = "irq plan --nics eth1,eth2 --emit nccl" ] || exit 2
echo 'NCCL_GPUDIRECTTCPX_TX_BINDINGS=eth1:0-1;eth2:0-1'
echo 'NCCL_GPUDIRECTTCPX_RX_BINDINGS=eth1:2-3;eth2:2-3'
END
	chmod +x "$scratch/planner"
	env here="$bin" TCPX="$scratch/planner" TCPX_NICS=eth1,eth2 VERBOSE=1 "$@" sh -c '
		. "$here/around_p2p.sh"
		around_prepare'
}
ok "bindings are the plan's" says "RX bindings: eth1:2-3;eth2:2-3" planned
ok "but those that are set are kept" says "TX bindings: eth1:9-9" planned \
	env NCCL_GPUDIRECTTCPX_TX_BINDINGS=eth1:9-9
ok "and may be refused" says "TX bindings: none" planned env BINDINGS=0
fullmesh_recorded() {
	DIAG=1 fullmesh_again --single-process
}
ok "three pairs, recorded" fullmesh_recorded
ok "each with its figure" sh -c "grep -q 'GPU 2' '$LOG_DIR'/diag_client_*/p2p_metrics_summary.txt"
done_testing
