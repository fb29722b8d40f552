#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nccl-tests over the plugin of GPUDirect-TCPX, with the settings that Google has for A3-high.
set -u

usage() {
	cat <<'END'
usage: run_nccl_test_tcpx.sh [OPTIONS] nccl <nodes> <gpus> <0|1|2> <processes> [0|1|diag]

  <nodes>      machines; the first so many of the hosts' file
  <gpus>       GPUs of each process
  <0|1|2>      allreduce, alltoall, sendrecv
  <processes>  of each machine; one process in all is started here, more by mpirun
  1 or diag    tcpx diag run records this machine, to diagnostics/nccl_<time>/; diag: NCCL logs
               all it does, too (NCCL_DEBUG=TRACE, NCCL_DEBUG_SUBSYS=ALL)

  --any               also a run that does not go over the plugin is one: without this it ends
                      with exit code 3
  --launcher mpirun   how the processes are started, also a single one
  --launcher local    on this machine, one process alone
  --hosts FILE        one address a line (NODE_IPS, scripts/node_ips/tcpx.txt)
  --tests DIR         where all_reduce_perf and others lie (NCCL_TESTS, else PATH)
  --size B            smallest size (BEGIN_SIZE, 1M); --end E largest (END_SIZE, 1G)
  --iters N           timed iterations of a size (ITERS, 20)
  --print             shows what would be run and with which variables, and ends

Variables that are set already are kept, and all NCCL_*, UCCL_*, TCPX_* and CUDA_* reach the
processes. What is said also goes to LOG_DIR (logs), nccl_<time>.log. Exit code: that of the test;
3 if NCCL's log does not name the plugin as its net.
END
}

fail() {
	echo "run_nccl_test_tcpx.sh: $1; see --help" >&2
	exit 2
}

here=$(cd "$(dirname "$0")" && pwd)
. "$here/around_p2p.sh"
launcher='' hosts=$(around_hosts) tests=${NCCL_TESTS:-} show='' any=''
begin=${BEGIN_SIZE:-1M} end=${END_SIZE:-1G} iters=${ITERS:-20}
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help)
		usage
		exit 0
		;;
	--print | --any)
		[ "$1" = --any ] && any=1 || show=1
		shift
		continue
		;;
	--*=*)
		option=${1%%=*} value=${1#*=}
		shift
		;;
	-*)
		[ $# -ge 2 ] || fail "$1: a value is missing, or it is no option"
		option=$1 value=$2
		shift 2
		;;
	*) break ;;
	esac
	case $option in
	--launcher) launcher=$value ;;
	--hosts) hosts=$value ;;
	--tests) tests=$value ;;
	--size) begin=$value ;;
	--end) end=$value ;;
	--iters) iters=$value ;;
	*) fail "'$option' is no option" ;;
	esac
done
[ "${1-}" = nccl ] || fail "'${1-}': nccl is wanted"
[ $# -ge 5 ] || fail "nccl <nodes> <gpus> <0|1|2> <processes>"
nodes=$2 each=$3 test=$4 ppn=$5 diag=${6-0}
for number in "$nodes" "$each" "$ppn" "$iters"; do
	case $number in
	'' | *[!0-9]* | 0*) fail "'$number': a number above 0 is wanted" ;;
	esac
done
[ $# -le 6 ] || fail "'$7' is one word too many"
case $diag in
0 | 1 | diag) ;;
*) fail "'$diag': 0, 1 or diag is wanted" ;;
esac
case $test in
0) program=all_reduce_perf ;;
1) program=alltoall_perf ;;
2) program=sendrecv_perf ;;
*) fail "'$test': 0 (allreduce), 1 (alltoall) or 2 (sendrecv) is wanted" ;;
esac
processes=$((nodes * ppn))
if [ -z "$launcher" ]; then
	launcher=mpirun
	[ "$processes" -gt 1 ] || launcher=local
fi
case $launcher in
mpirun) ;;
local) [ "$processes" = 1 ] || fail "--launcher local starts one process, not $processes" ;;
*) fail "'$launcher': mpirun or local is wanted" ;;
esac
started="$nodes machines x $ppn processes x $each GPUs: $processes processes, $((processes * each)) GPUs"
[ -z "$tests" ] || program=${tests%/}/$program

if [ "$launcher" = mpirun ]; then
	list=''
	[ ! -r "$hosts" ] ||
		list=$(around_addresses "$hosts" | head -n "$nodes" | sed "s/\$/:$ppn/" | paste -sd, -)
	[ -n "$list" ] || [ "$nodes" != 1 ] || list=localhost:$ppn
	[ -n "$list" ] || fail "${hosts:-no file} names no hosts"
	found=$(echo "$list" | tr ',' '\n' | wc -l)
	[ "$found" -ge "$nodes" ] || fail "$hosts names $found hosts of $nodes"
fi

# default NAME VALUE: unless it is set
default() {
	eval "is_set=\${$1+x}"
	[ -n "$is_set" ] || export "$1=$2"
}
nics=${TCPX_NICS:-eth1,eth2,eth3,eth4}
default NCCL_GPUDIRECTTCPX_SOCKET_IFNAME "$nics"
default NCCL_GPUDIRECTTCPX_CTRL_DEV eth0
default NCCL_SOCKET_IFNAME eth0
default NCCL_GPUDIRECTTCPX_TX_BINDINGS \
	'eth1:8-21,112-125;eth2:8-21,112-125;eth3:60-73,164-177;eth4:60-73,164-177'
default NCCL_GPUDIRECTTCPX_RX_BINDINGS \
	'eth1:22-35,126-139;eth2:22-35,126-139;eth3:74-87,178-191;eth4:74-87,178-191'
default NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX /run/tcpx
default NCCL_GPUDIRECTTCPX_PROGRAM_FLOW_STEERING_WAIT_MICROS 50000
default NCCL_GPUDIRECTTCPX_FORCE_ACK 0
default NCCL_NSOCKS_PERTHREAD 4
default NCCL_SOCKET_NTHREADS 1
default NCCL_DYNAMIC_CHUNK_SIZE 524288
default NCCL_P2P_NET_CHUNKSIZE 524288
default NCCL_BUFFSIZE 8388608
default NCCL_MIN_ZCOPY_SIZE 4096
default NCCL_MAX_NCHANNELS 8
default NCCL_MIN_NCHANNELS 8
default NCCL_NET_GDR_LEVEL PIX
default NCCL_CROSS_NIC 0
default NCCL_P2P_PXN_LEVEL 0
default NCCL_ALGO Ring
default NCCL_PROTO Simple
default LD_LIBRARY_PATH "/usr/local/tcpx/lib64:/usr/local/nvidia/lib64"
if [ "$diag" = diag ]; then
	default NCCL_DEBUG TRACE
	default NCCL_DEBUG_SUBSYS ALL
else
	# at this level its log names the net
	default NCCL_DEBUG INFO
	default NCCL_DEBUG_SUBSYS INIT,NET
fi
names=$(env | sed -n 's/^\(\(NCCL\|UCCL\|TCPX\|CUDA\)_[A-Za-z0-9_]*\|LD_LIBRARY_PATH\)=.*/\1/p' | sort -u)

set -- "$program" -b "$begin" -e "$end" -f 2 -g "$each" -n "$iters" -w 5 -c 1
if [ "$launcher" = mpirun ]; then
	exports=
	for name in $names; do
		exports="$exports -x $name"
	done
	# shellcheck disable=SC2086 # lists of words
	set -- mpirun --allow-run-as-root -np "$processes" --host "$list" --bind-to none \
		--mca btl self,tcp --mca btl_tcp_if_include "$NCCL_SOCKET_IFNAME" $exports \
		${MPIRUN_ARGS:-} "$@"
fi
if [ -n "$show" ]; then
	for name in $names; do
		eval "echo \"$name=\$$name\""
	done
	echo "$started"
	echo "$@"
	exit 0
fi

logs=${LOG_DIR:-logs}
mkdir -p "$logs" || exit 2
stamp=$(date +%Y%m%d_%H%M%S)
log=$logs/nccl_$stamp.log
echo "$started"
echo "$@"
[ "$diag" = 0 ] || set -- around_record "diagnostics/nccl_$stamp" "$@"
around_show "$log" "$@"
code=$?

# "NCCL INFO Using network GPUDirectTCPX_v7", of each rank
nets=$(sed -n 's/.*NCCL INFO.* [Uu]sing network \([^ ]*\).*/\1/p' "$log" | sort -u | paste -sd' ' -)
echo "net: ${nets:-not named by the log of NCCL}"
# "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM": within a machine NCCL may not need its net
ways=$(sed -n 's/.*NCCL INFO Channel .* via \([A-Z0-9]*\).*/\1/p' "$log" | sort -u | paste -sd' ' -)
echo "channels: ${ways:+via }${ways:-not named by the log of NCCL}"
[ "$code" = 0 ] || exit "$code"
[ -z "$any" ] || exit 0
case $ways in
'' | *NET*) ;;
*)
	echo "run_nccl_test_tcpx.sh: NCCL moved the bytes via $ways, not by its net: this measures" \
		"something else, and --any allows it" >&2
	exit 3
	;;
esac
for net in ${nets:-none}; do
	case $net in
	*TCPX*) ;;
	*)
		if [ -z "$nets" ]; then
			why="the log of NCCL names no net, which it does with NCCL_DEBUG=INFO"
		else
			why="NCCL took the net $net, not the plugin's"
		fi
		echo "run_nccl_test_tcpx.sh: $why: this measures something else, and --any allows it" >&2
		exit 3
		;;
	esac
done
