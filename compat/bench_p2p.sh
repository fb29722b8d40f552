#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Bandwidth between one GPU here and one there, the log in logs/bench_<role>_<time>.log.
set -u

usage() {
	cat <<'END'
usage: bench_p2p.sh {server <gpu> | client <ip> <gpu>} [OPTIONS]

  --ifaces LIST      NICs for the data: eth1,eth2,eth3,eth4 (TCPX_NICS)
  --ctrl NIC         NIC for control of a plugin (NCCL_GPUDIRECTTCPX_CTRL_DEV)
  --size BYTES       of an iteration (67108864)
  --iters N          timed iterations (20)
  --chunk BYTES      of a message (524288)
  --nsocks N         sockets a thread, where channels are not set (NCCL_NSOCKS_PERTHREAD)
  --nthreads N       threads a connection (NCCL_SOCKET_NTHREADS)
  --channels N       connections (UCCL_TCPX_NUM_CHANNELS, 2)
  --unix-prefix P    of a plugin's sockets (NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX)
  --no-unix          unset that
  --impl IMPL        kernel, d2d, host, none (UCCL_TCPX_UNPACK_IMPL)
  --host-recv        memory of the host
  --skip-warmup      no iteration before the timed ones
  --port N           port of GPU 0 (UCCL_TCPX_BOOTSTRAP_PORT_BASE, 20000)

LOG_DIR (logs) is where the log goes. DIAG=1 records the machine around the run (tcpx diag);
VERBOSE=1 also shows bindings, interrupts and threads with their CPUs; SETUP_IRQ_AFFINITY=1 moves
interrupts first (root). Bindings of threads are the plan's unless they are set; BINDINGS=0: none.
END
}

fail() {
	echo "bench_p2p.sh: $1; see --help" >&2
	exit 2
}

case ${1-} in
-h | --help)
	usage
	exit 0
	;;
server)
	[ $# -ge 2 ] || fail "server <gpu>"
	role=server ip='' gpu=$2
	shift 2
	;;
client)
	[ $# -ge 3 ] || fail "client <ip> <gpu>"
	role=client ip=$2 gpu=$3
	shift 3
	;;
*) fail "'${1-}': server or client is wanted" ;;
esac

export UCCL_TCPX_PERF_SIZE="${UCCL_TCPX_PERF_SIZE:-67108864}"
export UCCL_TCPX_PERF_ITERS="${UCCL_TCPX_PERF_ITERS:-20}"
while [ $# -gt 0 ]; do
	case $1 in
	--no-unix)
		unset NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX
		shift
		continue
		;;
	--host-recv)
		export UCCL_TCPX_HOST_RECV_DEBUG=1
		shift
		continue
		;;
	--skip-warmup)
		export UCCL_TCPX_SKIP_WARMUP=1
		shift
		continue
		;;
	-h | --help)
		usage
		exit 0
		;;
	--ifaces | --ctrl | --size | --iters | --chunk | --nsocks | --nthreads | --channels | \
		--unix-prefix | --impl | --port) [ $# -ge 2 ] || fail "$1: a value is missing" ;;
	*) fail "'$1' is no option" ;;
	esac
	case $1 in
	--ifaces) export TCPX_NICS="$2" NCCL_GPUDIRECTTCPX_SOCKET_IFNAME="$2" ;;
	--ctrl) export NCCL_GPUDIRECTTCPX_CTRL_DEV="$2" ;;
	--size) export UCCL_TCPX_PERF_SIZE="$2" ;;
	--iters) export UCCL_TCPX_PERF_ITERS="$2" ;;
	--chunk) export UCCL_TCPX_CHUNK_BYTES="$2" ;;
	--nsocks) export NCCL_NSOCKS_PERTHREAD="$2" ;;
	--nthreads) export NCCL_SOCKET_NTHREADS="$2" ;;
	--channels) export UCCL_TCPX_NUM_CHANNELS="$2" ;;
	--unix-prefix) export NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX="$2" ;;
	--impl) export UCCL_TCPX_UNPACK_IMPL="$2" ;;
	--port) export UCCL_TCPX_BOOTSTRAP_PORT_BASE="$2" ;;
	esac
	shift 2
done

here=$(cd "$(dirname "$0")" && pwd)
program=test_tcpx_perf_multi
for dir in "$here" "$here/../build/compat"; do
	if [ -x "$dir/$program" ]; then
		program=$dir/$program
		break
	fi
done

logs=${LOG_DIR:-logs}
mkdir -p "$logs" || exit 2
stamp=$(date +%Y%m%d_%H%M%S)
log=$logs/bench_${role}_$stamp.log
echo "log: $log"
. "$here/around_p2p.sh"
around_prepare
# a pipe would hide how the program ended
# shellcheck disable=SC2086 # no address for the server
around_run "$logs/diag_${role}_$stamp" "$program" "$role" $ip "$gpu" >"$log" 2>&1
code=$?
cat "$log"
exit $code
