#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run_nccl_test_tcpx.sh with stand-ins for mpirun, nccl-tests and NCCL's log: the commands and
# variables that it uses, and its verdict on a run that did not use the plugin.
. "$(dirname "$0")/tap.sh"

runner=$(dirname "$tool")/compat/run_nccl_test_tcpx.sh
cd "$scratch" || exit 1
for name in $(env | sed -n 's/^\(\(NCCL\|UCCL\|TCPX\)_[A-Z0-9_]*\)=.*/\1/p'); do
	[ "$name" = TCPX_STATS ] || unset "$name"
done
unset LD_LIBRARY_PATH
export TCPX="$tool" LOG_DIR="$scratch/logs" NODE_IPS="$scratch/hosts" PATH="$scratch/bin:$PATH"
printf '10.0.0.1 # first\n10.0.0.2\n10.0.0.3\n' >"$scratch/hosts"
mkdir "$scratch/bin" "$scratch/tests"
cat >"$scratch/bin/mpirun" <<'END'
#!/bin/sh
echo "mpirun: $*"
while [ "${1##*_perf}" != '' ]; do
	shift
done
exec "$@"
END
cat >"$scratch/tests/all_reduce_perf" <<'END'
#!/bin/sh
echo "$(basename "$0"): $*; $NCCL_ALGO $NCCL_PROTO $NCCL_SOCKET_IFNAME $NCCL_DEBUG $NCCL_DYNAMIC_CHUNK_SIZE"
[ "${NET-x}" = none ] || echo "h0:77:79 [0] NCCL INFO Using network ${NET-GPUDirectTCPX_v7}"
[ -z "${WAY-}" ] || echo "h0:77:79 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via $WAY"
cat <<'TABLE'
# nThread 1 nGpus 8 minBytes 1048576 maxBytes 1048576 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
     1048576        262144     float     sum      -1    150.5    6.97   12.19      0    149.1    7.03   12.31      0
# Avg bus bandwidth    : 12.25
TABLE
exit "${CODE-0}"
END
cp "$scratch/tests/all_reduce_perf" "$scratch/tests/alltoall_perf"
cp "$scratch/tests/all_reduce_perf" "$scratch/tests/sendrecv_perf"
chmod +x "$scratch"/bin/* "$scratch"/tests/*
nccl() {
	"$runner" --tests "$scratch/tests" "$@"
}

# ---- what the words mean ----
ok "two machines, one process of 8 GPUs each" says "-np 2 --host 10.0.0.1:1,10.0.0.2:1 --bind-to none" \
	nccl nccl 2 8 0 1 0
ok "with all its GPUs" says "all_reduce_perf: -b 1M -e 1G -f 2 -g 8 -n 20" nccl nccl 2 8 0 1
ok "which is said" says "2 machines x 1 processes x 8 GPUs: 2 processes, 16 GPUs" nccl nccl 2 8 0 1
ok "two processes of one GPU on each of two" says "-np 4 --host 10.0.0.1:2,10.0.0.2:2" nccl nccl 2 1 2 2
ok "send and receive" says "sendrecv_perf: -b 1M -e 1G -f 2 -g 1" nccl nccl 2 1 2 2
ok "all to all" says "alltoall_perf: " nccl nccl 1 8 1 1
alone() {
	nccl "$@" nccl 1 2 0 1 >"$scratch/alone" || return
	! grep mpirun "$scratch/alone"
}
ok "one process needs no mpirun" alone
ok "but may have it" says "mpirun: " nccl --launcher mpirun nccl 1 2 0 1
ok "values after a =" says "-b 8 -e 64M" nccl --size=8 --end=64M nccl 1 2 0 1
ok "the settings for it" says "Ring Simple eth0 INFO 524288" nccl nccl 1 8 0 1
ok "those that are set are kept" says "Tree Simple eth9" env NCCL_ALGO=Tree NCCL_SOCKET_IFNAME=eth9 \
	"$runner" --tests "$scratch/tests" nccl 1 8 0 1

# ---- what reaches the processes ----
reaches() {
	NCCL_DEBUG=TRACE NCCL_DEBUG_SUBSYS=ALL NCCL_NET_PLUGIN=x UCCL_TCPX_X=1 TCPX_DEBUG=INFO \
		nccl nccl 2 8 0 1 >"$scratch/reached"
	cat "$scratch/reached"
	for name in NCCL_DEBUG NCCL_DEBUG_SUBSYS NCCL_NET_PLUGIN UCCL_TCPX_X TCPX_DEBUG LD_LIBRARY_PATH \
		NCCL_GPUDIRECTTCPX_TX_BINDINGS NCCL_P2P_NET_CHUNKSIZE NCCL_BUFFSIZE; do
		grep -q "^mpirun: .* -x $name " "$scratch/reached" || { echo "not $name"; return 1; }
	done
}
ok "all variables do" reaches
ok "what would be run, and with what" says "NCCL_NET_PLUGIN=x" env NCCL_NET_PLUGIN=x "$runner" --print \
	nccl 2 8 0 1 diag

# ---- recorded ----
folder() {
	found=$(ls -d "$scratch"/diagnostics/nccl_*) && grep -q 12.19 "$found/nccl_metrics_summary.txt" &&
		grep -q "$1" "$found/diag.json"
}
ok "with diagnostics" exits 0 nccl nccl 2 8 0 1 1
ok "in a folder of its own" folder '"NCCL_DEBUG": "INFO"'
rm -rf "$scratch/diagnostics"
ok "diag, too" says "Ring Simple eth0 TRACE" nccl nccl 1 8 0 1 diag
ok "with all that NCCL says" folder '"NCCL_DEBUG_SUBSYS": "ALL"'
rm -rf "$scratch/diagnostics"
ok "0 is without" exits 0 nccl nccl 2 8 0 1 0
ok "no folder" [ ! -e "$scratch/diagnostics" ]
ok "but a log" sh -c "grep -q 'Avg bus bandwidth' '$LOG_DIR'/nccl_*.log"

# ---- the net ----
ok "the plugin's net is named" says "net: GPUDirectTCPX_v7" nccl nccl 1 8 0 1
ok "plain sockets end it with 3" exits 3 env NET=Socket "$runner" --tests "$scratch/tests" nccl 2 8 0 1
ok "with a sentence" says "NCCL took the net Socket, not the plugin's" env NET=Socket "$runner" --tests \
	"$scratch/tests" nccl 1 8 0 1
ok "also when they are recorded" exits 3 env NET=Socket "$runner" --tests "$scratch/tests" nccl 2 8 0 1 1
ok "a log that does not say" exits 3 env NET=none "$runner" --tests "$scratch/tests" nccl 2 8 0 1
ok "--any allows it" exits 0 env NET=Socket "$runner" --any --tests "$scratch/tests" nccl 2 8 0 1
ok "and still says it" says "net: Socket" env NET=Socket "$runner" --any --tests "$scratch/tests" nccl 2 8 0 1
ok "bytes that took NVLink did not take the net" exits 3 env WAY=P2P/CUMEM "$runner" --tests "$scratch/tests" \
	nccl 1 2 0 1
ok "which is said" says "NCCL moved the bytes via P2P, not by its net" env WAY=P2P/CUMEM "$runner" --tests \
	"$scratch/tests" nccl 1 2 0 1
ok "and may be allowed" exits 0 env WAY=P2P/CUMEM "$runner" --any --tests "$scratch/tests" nccl 1 2 0 1
ok "those over the net are good" says "channels: via NET" env WAY=NET/GPUDirectTCPX_v7/0 "$runner" --tests \
	"$scratch/tests" nccl 1 2 0 1
ok "a test that fails has its own code" exits 5 env CODE=5 NET=Socket "$runner" --tests \
	"$scratch/tests" nccl 2 8 0 1

# ---- bad input ----
ok "too few hosts" exits 2 nccl nccl 4 8 0 1
for words in "" "nccl" "nccl 1 8 3 1" "nccl 0 8 0 1" "nccl 1 8 0 0" "nccl 1 8 0 1 dia" "nccl 1 8 0 1 2" \
	"ib 1 8 0 1" "--fast nccl 1 8 0 1" "--launcher local nccl 2 8 0 1" "--launcher x nccl 1 8 0 1" \
	"nccl 1 8 0 1 diag more" "--hosts" "--any=1 nccl 1 8 0 1"; do
	# shellcheck disable=SC2086 # lists of words
	ok "'$words' is refused" exits 2 "$runner" $words
done
ok "it has help" exits 0 "$runner" --help
done_testing
