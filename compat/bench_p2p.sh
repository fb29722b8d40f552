#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Bandwidth between one GPU here and one there, the log in logs/bench_<role>_<time>.log.
set -u

usage() {
	cat <<'END'
usage: bench_p2p.sh {server <gpu> | client <ip> <gpu>} [OPTIONS]

  --ifaces LIST      NICs for the data: eth1,eth2,eth3,eth4 (TCPX_NICS)
  --ctrl NIC         NIC for control (NCCL_GPUDIRECTTCPX_CTRL_DEV)
  --size BYTES       of an iteration (67108864)
  --iters N          timed iterations (20)
  --chunk BYTES      of a message (524288)
  --nsocks N         a plugin's sockets a thread of each connection (NCCL_NSOCKS_PERTHREAD, 4)
  --nthreads N       and its threads (NCCL_SOCKET_NTHREADS, 1)
  --channels N       connections (UCCL_TCPX_NUM_CHANNELS; one for each NIC)
  --unix-prefix P    of a plugin's sockets (NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX)
  --no-unix          unset that
  --impl IMPL        kernel, d2d, host, none (UCCL_TCPX_UNPACK_IMPL)
  --host-recv        memory of the host
  --skip-warmup      no iteration before the timed ones; --skip-warmup=0: one
  --port N           port of GPU 0 (UCCL_TCPX_BOOTSTRAP_PORT_BASE, 20000)
  --any              plain sockets and memory of the host will do, where there is no plugin
                     or no GPU; without this they end it with exit code 3

Values may also follow a "=". What tcpx env prints is set where it is not. LOG_DIR (logs) is where
the log goes. DIAG=1 records the machine around the run (tcpx diag); VERBOSE=1 also shows
variables, bindings, interrupts and threads with their CPUs; SETUP_IRQ_AFFINITY=1 moves interrupts
first (root). BINDINGS=0: threads run where they like.
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

any='' unix=yes
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help)
		usage
		exit 0
		;;
	--no-unix | --host-recv | --skip-warmup | --any)
		option=$1 value=1
		shift
		;;
	--*=*)
		option=${1%%=*} value=${1#*=}
		shift
		;;
	--*)
		[ $# -ge 2 ] || fail "$1: a value is missing, or it is no option"
		option=$1 value=$2
		shift 2
		;;
	*) fail "'$1' is no option" ;;
	esac
	case $option in
	--ifaces) export TCPX_NICS="$value" NCCL_GPUDIRECTTCPX_SOCKET_IFNAME="$value" ;;
	--ctrl) export NCCL_GPUDIRECTTCPX_CTRL_DEV="$value" ;;
	--size) export UCCL_TCPX_PERF_SIZE="$value" ;;
	--iters) export UCCL_TCPX_PERF_ITERS="$value" ;;
	--chunk) export UCCL_TCPX_CHUNK_BYTES="$value" ;;
	--nsocks) export NCCL_NSOCKS_PERTHREAD="$value" ;;
	--nthreads) export NCCL_SOCKET_NTHREADS="$value" ;;
	--channels) export UCCL_TCPX_NUM_CHANNELS="$value" ;;
	--unix-prefix) export NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX="$value" ;;
	--impl) export UCCL_TCPX_UNPACK_IMPL="$value" ;;
	--port) export UCCL_TCPX_BOOTSTRAP_PORT_BASE="$value" ;;
	--host-recv) export UCCL_TCPX_HOST_RECV_DEBUG="$value" ;;
	--skip-warmup) export UCCL_TCPX_SKIP_WARMUP="$value" ;;
	--no-unix) unix='' ;;
	--any) any=--any ;;
	*) fail "'$option' is no option" ;;
	esac
done

here=$(cd "$(dirname "$0")" && pwd)
. "$here/around_p2p.sh"
logs=${LOG_DIR:-logs}
mkdir -p "$logs" || exit 2
stamp=$(date +%Y%m%d_%H%M%S)
log=$logs/bench_${role}_$stamp.log
echo "log: $log"
around_prepare
[ -n "$unix" ] || unset NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX
# shellcheck disable=SC2086 # no address for the server, perhaps no option
around_show "$log" around_run "$logs/diag_${role}_$stamp" "$(around_find test_tcpx_perf_multi)" \
	$any "$role" $ip "$gpu"
