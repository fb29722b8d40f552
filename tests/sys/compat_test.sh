#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The programs of the older benchmark: two processes on the loopback.
. "$(dirname "$0")/tap.sh"

bin=$(dirname "$tool")/compat
export TCPX_NICS=127.0.0.1 LOG_DIR="$scratch/logs" TCPX_CUDA_LIBRARY=/nonexistent
unset UCCL_TCPX_PERF_SIZE UCCL_TCPX_PERF_ITERS
# by choice, not because there is nothing else
export TCPX_PROVIDER=sock UCCL_TCPX_HOST_RECV_DEBUG=1

# pair PROGRAM SERVER-ARGS CLIENT-ARGS: both sides; their lines in $scratch/server, client.
pair() {
	for _ in 1 2 3; do
		port=$(free_port)
		# shellcheck disable=SC2086 # lists of words
		start "$scratch/server" "$bin/$1" --port="$port" server $2
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

# same TEXT: server and client say the same number there.
same() {
	here=$(sed -n "s/$1/\1/p" "$scratch/server")
	there=$(sed -n "s/$1/\1/p" "$scratch/client")
	[ -n "$here" ] && [ "$here" = "$there" ] || { echo "'$here', '$there'"; return 1; }
}

ok "a text arrives" pair test_tcpx_transfer "" ""
ok "as it was sent" grep -q "Received: 'Hello from TCPX client!'" "$scratch/server"
ok "both say how it ended, and over what" both "\[TCPX\] GPU: 0 \(host memory, as asked\)" \
	"PASSED: every byte compared \(provider sock, host memory to host memory\)"
ok "over two channels" pair test_tcpx_transfer_multi "--size 1M" "--size 1M"
ok "which are named" both "\[ChannelManager\] Channel 1 -> netDev 0 \(127.0.0.1, PCI=none, score=0,"

ok "a measurement" pair test_tcpx_perf "--verbose 0" "--size=1M --iters=3 --verbose"
ok "its lines are the notes' lines" both "\[PERF\] Mode: (SERVER|CLIENT)" "\[PERF\] GPU: 0" \
	"\[PERF\] Channels: 1" "\[PERF\] Size: 1 MB" "\[PERF\] Iterations: 3" "\[PERF\] Chunk size: 524288" \
	"\[PERF\] Iteration 2: total bytes=1048576, chunk_bytes=524288" "\[PERF\] Iter 2 time=[0-9.]+ms" \
	"\[PERF\] Provider: sock" "\[PERF\] Memory: host memory to host memory" \
	"\[PERF\] Window: 16 messages a channel" "\[PERF\] Warm-up" \
	"\[PERF\] Avg \(3 iter\): [0-9.]+ ms, BW: [0-9.]+ GB/s \(provider sock, host memory to" \
	"\[STEADY-STATE\] Avg time: [0-9.]+ ms, BW: [0-9.]+ GB/s \(provider sock, host memory to"
ok "variables, bindings, interrupts and threads" both "\[ENV\] TCPX_NICS=127.0.0.1" \
	"\[ENV\] RX bindings: none" "\[IRQ\] NIC .*node" "\[THREAD\] tcpx-io-0 .* ran on CPUs [0-9]"
ok "how deep it was" grep -qE "In flight: [0-9.]+ messages a channel, at most [0-9]+ of 16" \
	"$scratch/client"
ok "a line for each message, with its tag" grep -qF \
	"[PERF][CLIENT] chunk_idx=1 tag=20100 size=524288 offset=524288" "$scratch/client"
ok "both have both sides' times" both "Agreement: .*server [0-9.]+ ms" "Agreement: .*client [0-9.]+ ms"
ok "an odd size" pair test_tcpx_perf "0" "--size 1000003 --iters 2 --chunk 64K --skip-warmup"
first_tags() {
	pair test_tcpx_perf "0" "--size 1M --iters 2 --skip-warmup=1" &&
		[ "$(grep -c "tag=" "$scratch/client")" = 2 ] && grep -q "tag=99 " "$scratch/server" &&
		! grep -q "Warm-up" "$scratch/client"
}
ok "without --verbose the first iteration shows its tags" first_tags
two_nics() {
	TCPX_NICS=127.0.0.1,127.0.0.2 pair test_multi_channel "0" "0"
}
ok "several channels" two_nics
ok "one on each NIC" both "\[PERF\] Channels: 2" "Channel [01] -> netDev 0 \(127.0.0.1," \
	"Channel [01] -> netDev 1 \(127.0.0.2,"
ok "more than there are NICs" pair test_multi_channel "0 --channels 3" "0 --channels 3"
ok "share them" both "\[PERF\] Channels: 3" "3 channels share 1 NICs"
windows() {
	export UCCL_TCPX_WINDOW_SIZE=4
	pair test_tcpx_perf_multi "0" "0 --size 8M --chunk 64K --channels 2 --iters 1" || return
	both "Window: 4 messages a channel" || return
	UCCL_TCPX_MAX_SEND_INFLIGHT=2
	export UCCL_TCPX_MAX_SEND_INFLIGHT
	pair test_tcpx_perf_multi "0" "0 --size 8M --chunk 64K --channels 2 --iters 1"
	code=$?
	unset UCCL_TCPX_WINDOW_SIZE UCCL_TCPX_MAX_SEND_INFLIGHT
	return $code
}
ok "a window is of each channel, and the sender's counts" windows
ok "as both sides say" both "Window: 2 messages a channel"
ok "and it is kept to" grep -q "at most [12] of 2" "$scratch/client"

# words TEXT PROGRAM WORDS...: what it would run has TEXT in it
words() {
	text=$1 program=$2
	shift 2
	says "$text" "$bin/$program" --dry-run "$@"
}
ours() {
	TCPX_CHANNELS=8 TCPX_CHUNK=256K TCPX_PORT=23456 words \
		"serve --port 23456 --once --wait 600 --label test_tcpx_perf_multi --events - --channels 8 --chunk 256K" \
		test_tcpx_perf_multi server 0
}
ok "our variables count" ours
older() {
	TCPX_CHANNELS=8 UCCL_TCPX_NUM_CHANNELS=3 UCCL_TCPX_BOOTSTRAP_PORT_BASE=30000 \
		UCCL_TCPX_PERF_SIZE=64M UCCL_TCPX_PERF_ITERS=20 NCCL_P2P_NET_CHUNKSIZE=131072 \
		UCCL_TCPX_DEVICE_IDX=5 words "$1" test_tcpx_perf_multi client 10.0.0.1
}
ok "the older names before them" older "perf 10.0.0.1:30005 --label test_tcpx_perf_multi --events - --channels 3 --chunk 131072"
ok "and all of them" older "--begin 67108864 --iters 20 --warmup 1"
ok "the command line before all" words "perf [::1]:4007" test_tcpx_perf_multi --port=4000 client ::1 7
several() {
	[ "$("$bin/test_tcpx_perf_multi" --dry-run server 0-2,7 | grep -c serve)" = 4 ]
}
ok "one run for each GPU" several
found() {
	env -u TCPX_PROVIDER -u UCCL_TCPX_HOST_RECV_DEBUG "$bin/test_tcpx_perf" --dry-run "$@" |
		grep -q -- "--provider tcpx.* --mem cuda:3"
}
ok "the plugin and the GPU are wanted" found server 3
# without KIND: the program ends with 3 and one sentence before it listens
without() {
	exits 3 timeout 60 env -u TCPX_PROVIDER -u UCCL_TCPX_HOST_RECV_DEBUG "$@" \
		"$bin/test_tcpx_perf" server 0 >"$scratch/without" 2>&1
	code=$?
	cat "$scratch/without"
	[ $code = 0 ] && [ "$(grep -c "^\[ERROR\].*--any would take" "$scratch/without")" = 1 ] &&
		! grep -q Listening "$scratch/without"
}
ok "no GPU: it ends with 3" without FOO=1
ok "no plugin: likewise" without UCCL_TCPX_PLUGIN_PATH=none TCPX_CUDA_LIBRARY="$FAKECUDA_LIBRARY"
any() {
	unset TCPX_PROVIDER UCCL_TCPX_HOST_RECV_DEBUG
	pair test_tcpx_perf "--any 0" "--any --size 1M --iters 1"
	code=$?
	export TCPX_PROVIDER=sock UCCL_TCPX_HOST_RECV_DEBUG=1
	return $code
}
ok "unless --any allows it" any
ok "which is said" both "\[WARN\] cuda:0 cannot be used: .* host memory, by --any" \
	"\[WARN\] no plugin can be used: .* plain sockets, by --any" "BW: .* \(provider sock, host"

gpus() {
	UCCL_TCPX_HOST_RECV_DEBUG=0 TCPX_CUDA_LIBRARY=$FAKECUDA_LIBRARY pair test_tcpx_perf_multi \
		"0-1" "0-1 --size 1M --iters 2"
}
ok "memory of GPUs, several in one process" gpus
ok "of the GPU, it says" both "GPU: 0 \(memory of the GPU\)" "GPU: 1 \(memory of the GPU\)"

for self in test_bootstrap test_channel_manager test_sliding_window test_device_discovery; do
	ok "$self" says "PASSED" timeout 60 "$bin/$self"
done
plugged() {
	UCCL_TCPX_PLUGIN_PATH=/nonexistent/plugin.so TCPX_PROVIDER=tcpx says PASSED timeout 60 "$bin/$1"
}
ok "test_channel_manager with a plugin named" plugged test_channel_manager
for words in "" both client "server x" "server 3-1" "server 0," "server 5000" "client a 0 b" \
	"server 0 --size 257M" "server 0 --size 4Q" "server 0 --size=-1" "server 7 --port=65530"; do
	# shellcheck disable=SC2086 # lists of words
	ok "refused: '$words'" exits 2 "$bin/test_tcpx_perf_multi" $words
done
ok "--ctrl beats the environment" says 'TCPX_CTRL "eth9"' env TCPX_CTRL=lo "$bin/test_tcpx_perf" --any \
	--ctrl eth9 client 127.0.0.1 0
ok "so does --impl" says bogus env TCPX_UNPACK_IMPL=host "$bin/test_tcpx_perf" --any --impl bogus client \
	127.0.0.1 0
mkdir "$scratch/side1"
ok "one of two logs that cannot be written ends both with that cause" exits 2 "$bin/test_tcpx_perf_multi" \
	--any --log "$scratch/side%g" server 0-1
ok "several GPUs have no one port" exits 2 "$bin/test_tcpx_perf" server 0-1
ok "a variable that is no number" exits 2 env UCCL_TCPX_PERF_ITERS=ten "$bin/test_tcpx_perf" server 0
ok "a payload without room for the text" exits 2 env UCCL_TCPX_PAYLOAD_BYTES=10 \
	"$bin/test_tcpx_transfer" server
ok "a chunk that the tool refuses" says "64K to 16M bytes" "$bin/test_tcpx_perf" server 0 --chunk=4096
for program in test_tcpx_transfer test_tcpx_perf_multi test_multi_channel test_bootstrap; do
	ok "$program refuses what it does not know" exits 2 "$bin/$program" --fast
	ok "$program has help" exits 0 "$bin/$program" --help
done
done_testing
