#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The programs and scripts of the older benchmark over the emulator and GPUs in software.
# UCCL_TCPX_PLUGIN_PATH names the plugin; everything else is as without it.
here=$(dirname "$0")
. "$here/../sys/tap.sh"
. "$here/emu.sh"

bin=$(dirname "$tool")/compat
unset TCPX_PROVIDER TCPX_PLUGIN_PATH NCCL_DYNAMIC_CHUNK_SIZE
unset UCCL_TCPX_PERF_SIZE UCCL_TCPX_PERF_ITERS
export UCCL_TCPX_PLUGIN_PATH="$EMU_LIBRARY" TCPX_NICS="$nics" LOG_DIR="$scratch/logs"
export TCPX_EMU_MODE=strict
# in a file of its own, away from the lines that are looked at
export TCPX_DEBUG=INFO TCPX_DEBUG_FILE="$scratch/log"

# pair PROGRAM SERVER-ARGS CLIENT-ARGS: both sides; their lines in $scratch/server, client
pair() {
	for _ in 1 2 3; do
		port=$(free_port 127.0.1.1)
		rm -f "$scratch/log"
		# shellcheck disable=SC2086 # lists of words
		start "$scratch/server" "$bin/$1" --port "$port" server $2
		server=$started
		# shellcheck disable=SC2086
		timeout 100 "$bin/$1" --port "$port" client 127.0.1.1 $3 >"$scratch/client" 2>&1
		code=$?
		# what broke is seen by the server, too
		[ $code = 0 ] || within 60 grep -qE "\] (PASSED|FAILED)" "$scratch/server" ||
			kill "$server" 2>/dev/null
		wait "$server"
		server_code=$?
		grep -q EADDRINUSE "$scratch/server" || break
	done
	tail -n 25 "$scratch/server" "$scratch/client"
	[ $code = 0 ] && [ $server_code = 0 ]
}

# plugged N: so many engines had the plugin, and none was without
plugged() {
	[ "$(grep -c "provider tcpx, 2 NICs" "$scratch/log")" = "$1" ] && ! grep "cannot be had here" "$scratch/log" ||
		{ cat "$scratch/log"; return 1; }
}

ok "a text arrives" pair test_tcpx_transfer "" ""
ok "as it was sent" grep -q "Received: 'Hello from TCPX client!'" "$scratch/server"
ok "over the plugin" plugged 2
ok "from memory of a GPU" both "\[TCPX\] GPU: 0 \(memory of the GPU\)" "PASSED: every byte compared"

ok "a measurement" pair test_tcpx_perf "1" "1 --size 4M --iters 3"
ok "over the plugin" plugged 2
ok "on the NIC of its GPU" both "\[ChannelManager\] Channel 0 -> netDev 1 \(127.0.2.1, "
ok "its lines are the notes' lines" both "\[PERF\] Mode: (SERVER|CLIENT)" "\[PERF\] GPU: 1" \
	"\[PERF\] Channels: 1" "\[PERF\] Size: 4 MB" "\[PERF\] Iterations: 3" "\[PERF\] Chunk size: 524288" \
	"\[PERF\] Iteration 2: total bytes=4194304, chunk_bytes=524288" "\[PERF\] Iter 2 time=[0-9.]+ms" \
	"\[PERF\] Avg \(3 iter\): [0-9.]+ ms, BW: [0-9.]+ GB/s" \
	"\[STEADY-STATE\] Avg time: [0-9.]+ ms, BW: [0-9.]+ GB/s"
four() {
	UCCL_TCPX_NUM_CHANNELS=4 pair test_tcpx_perf_multi "0" "0 --size 1000003 --iters 2"
}
ok "four channels, an odd size" four
ok "two on each NIC" both "Channel [0-3] -> netDev 0 \(127.0.1.1," "Channel [0-3] -> netDev 1 \(127.0.2.1,"
# A plugin that nobody names, where NCCL looks first.
usual_place() {
	mkdir -p "$scratch/lib"
	ln -sf "$EMU_LIBRARY" "$scratch/lib/libnccl-net.so"
	(
		unset TCPX_PROVIDER TCPX_PLUGIN_PATH
		LD_LIBRARY_PATH=$scratch/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
		export LD_LIBRARY_PATH
		pair test_tcpx_perf "0" "0 --size 1M --iters 2"
	)
}
ok "a plugin that lies where it is looked for" usual_place
ok "each figure says so" both "\[PERF\] Provider: tcpx" "\[PERF\] Memory: GPU 0 to GPU 0" \
	"Iter 1 time=.*\(provider tcpx, GPU 0 to GPU 0\)" "BW: .* \(provider tcpx, GPU 0 to GPU 0\)" \
	"PASSED: .* \(provider tcpx, GPU 0 to GPU 0\)"
cut() {
	UCCL_TCPX_CHUNK_BYTES=2097152 UCCL_TCPX_WINDOW_SIZE=64 pair test_tcpx_perf "0" \
		"0 --size 4M --iters 1"
}
ok "chunks and windows that the plugin does not take" cut
ok "are those that are used" both "Chunk size: 524288 bytes" "Window: 16 messages a channel"
quietly() {
	TCPX_PLUGIN_PATH=none TCPX_PROVIDER=auto says "provider sock" "$tool" perf --self -b 64K -n 1 &&
		! grep -q WARN "$scratch/said"
}
ok "no plugin is wanted: sockets, without a word" quietly
spoken() {
	(
		unset TCPX_DEBUG TCPX_DEBUG_FILE
		export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=NET
		pair test_tcpx_perf "0" "0 --size 1M --iters 1"
	) && both "TCPX INFO .*plugin: NET/TCPX-EMU"
}
ok "the plugin's own lines, as NCCL is asked for them" spoken
# breaks FAULT PROGRAM-OPTIONS...: the pair fails
breaks() {
	TCPX_EMU_FAULT=$1
	export TCPX_EMU_FAULT
	shift
	! TCPX_STALL_MS=1500 pair test_tcpx_perf "0" "0 --size 3M --iters 4 $*"
	code=$?
	unset TCPX_EMU_FAULT
	return $code
}
# and none that could replace it stands
ok "a connection that says nothing any more" \
	breaks "half-open:req=12;$(for n in 1 2 3 4 5 6 7 8 9; do printf 'connect-error:comm=%d;' $n; done)"
ok "the sender names transfer, chunk, tag, offset, channel, NIC and stage" grep -qE "^\[ERROR\] Send (failed|timeout) at iteration 1 chunk=[0-5] tag=1009[0-9] offset=[0-9]+ channel=0 NIC=127.0.1.1 transfer=[0-9]+ stage: [a-z]" \
	"$scratch/client"
ok "the chunks of the iteration that hangs are there" both "chunk_idx=5 tag=10104 size=524288 offset=2621440"
ok "and how the receiver saw it" grep -qE "^\[ERROR\] Receive (failed|timeout) at iteration 1 chunk=[0-5] tag=1009[0-9] .*stage: not arrived" \
	"$scratch/server"
ok "a wrong byte" breaks flip-byte:req=8,role=recv
ok "its place, and what was expected" both \
	"\[ERROR\] Data mismatch at iteration 0 chunk=2 tag=101 offset=[0-9]+ channel=0 NIC=127.0.1.1 transfer=[0-9]+ stage: compared, 1 wrong bytes: expected 0x.., got 0x.." \
	"\[PERF\] FAILED: 1 wrong bytes"
ok "a wrong byte of the warm-up" breaks flip-byte:req=2,role=recv
ok "is the warm-up's" both "Data mismatch at iteration warm-up chunk=2 tag=40101 "
ok "host memory" pair test_tcpx_perf "0 --host-recv" "0 --host-recv --size 1M --iters 2"
ok "over the plugin" plugged 2

# Every GPU with its counterpart: a process each, and all in one.
export FAKECUDA_DEVICES=4 TCPX_MAP="gpu0=127.0.1.1;gpu1=127.0.1.1;gpu2=127.0.2.1;gpu3=127.0.2.1"
export GPU_LIST=0,1,2,3 UCCL_TCPX_PERF_SIZE=1048576 UCCL_TCPX_PERF_ITERS=2
emu_nics "127.0.1.1=127.0.1.1,gpus=0+1;127.0.2.1=127.0.2.1,gpus=2+3"
fullmesh() {
	rm -rf "$LOG_DIR" "$scratch/log"
	UCCL_TCPX_BOOTSTRAP_PORT_BASE=$(free_port 127.0.1.1)
	export UCCL_TCPX_BOOTSTRAP_PORT_BASE
	start "$scratch/mesh" "$bin/run_p2p_fullmesh.sh" "$@" server
	server=$started
	timeout 100 "$bin/run_p2p_fullmesh.sh" "$@" client 127.0.1.1 || {
		kill "$server" 2>/dev/null
		tail -n 3 "$LOG_DIR"/*
		return 1
	}
	wait "$server"
}
fullmesh_again() { # ports may be taken by others between the look and the use
	fullmesh "$@" || fullmesh "$@"
}
compared() {
	for role in server client; do
		[ "$(grep -l "PASSED: every byte compared" "$LOG_DIR"/fullmesh_${role}_gpu[0-3]_* | wc -l)" = 4 ] ||
			{ echo "not four of the $role"; return 1; }
	done
	# each GPU's channels begin on its own NIC
	for gpu in 0 1 2 3; do
		grep -q "Channel 0 -> netDev $((gpu / 2)) " "$LOG_DIR"/fullmesh_client_gpu${gpu}_* ||
			{ echo "GPU $gpu: another NIC"; return 1; }
	done
}
ok "four GPUs, a process each" fullmesh_again
ok "all bytes compared, each on its NIC" compared
ok "over the plugin" plugged 8
ok "four GPUs in one process" fullmesh_again --single-process
ok "all bytes compared, each on its NIC" compared
ok "over the plugin" plugged 8
done_testing
