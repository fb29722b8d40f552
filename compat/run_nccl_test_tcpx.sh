#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nccl-tests over the plugin of GPUDirect-TCPX, with the settings that Google has for A3-high.
set -u

usage() {
	cat <<'END'
usage: run_nccl_test_tcpx.sh [OPTIONS] nccl <nodes> <gpus> <0|1|2> <ppn> [diag]

  <nodes>     machines; the first so many of the hosts' file
  <gpus>      GPUs, all machines together
  <0|1|2>     allreduce, alltoall, sendrecv
  <ppn>       processes a machine; each has gpus / (nodes * ppn) GPUs
  diag        NCCL logs all it does (NCCL_DEBUG=TRACE, NCCL_DEBUG_SUBSYS=ALL), and tcpx diag run
              records this machine; everything goes to diagnostics/nccl_<time>/

  --launcher mpirun   how the processes are started (this is what is done without it)
  --launcher local    on this machine, one process alone: <nodes> and <ppn> are 1
  --hosts FILE        one address a line (NODE_IPS, scripts/node_ips/tcpx.txt)
  --tests DIR         where all_reduce_perf and others lie (NCCL_TESTS, else PATH)
  --size B            smallest size (BEGIN_SIZE, 1M); --end E largest (END_SIZE, 1G)
  --iters N           timed iterations of a size (ITERS, 20)
  --print             shows what would be run and with which variables, and ends

Variables that are set already are kept. Exit code: that of the test.
END
}

fail() {
	echo "run_nccl_test_tcpx.sh: $1; see --help" >&2
	exit 2
}

here=$(cd "$(dirname "$0")" && pwd)
launcher=mpirun hosts='' tests=${NCCL_TESTS:-} show=''
begin=${BEGIN_SIZE:-1M} end=${END_SIZE:-1G} iters=${ITERS:-20}
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help)
		usage
		exit 0
		;;
	--print)
		show=1
		shift
		continue
		;;
	--launcher | --hosts | --tests | --size | --end | --iters)
		[ $# -ge 2 ] || fail "$1: a value is missing"
		;;
	-*) fail "'$1' is no option" ;;
	*) break ;;
	esac
	case $1 in
	--launcher) launcher=$2 ;;
	--hosts) hosts=$2 ;;
	--tests) tests=$2 ;;
	--size) begin=$2 ;;
	--end) end=$2 ;;
	--iters) iters=$2 ;;
	esac
	shift 2
done
[ "${1-}" = nccl ] || fail "'${1-}': nccl is wanted"
[ $# -ge 5 ] || fail "nccl <nodes> <gpus> <0|1|2> <ppn>"
nodes=$2 gpus=$3 test=$4 ppn=$5 diag=${6-}
for number in "$nodes" "$gpus" "$ppn" "$iters"; do
	case $number in
	'' | *[!0-9]* | 0*) fail "'$number': a number above 0 is wanted" ;;
	esac
done
[ $# -le 6 ] || fail "'$7' is one word too many"
[ -z "$diag" ] || [ "$diag" = diag ] || fail "'$diag': diag or nothing is wanted"
case $test in
0) program=all_reduce_perf ;;
1) program=alltoall_perf ;;
2) program=sendrecv_perf ;;
*) fail "'$test': 0 (allreduce), 1 (alltoall) or 2 (sendrecv) is wanted" ;;
esac
case $launcher in
mpirun) ;;
local) [ "$nodes" = 1 ] && [ "$ppn" = 1 ] || fail "--launcher local starts one process: 1 node, ppn 1" ;;
*) fail "'$launcher': mpirun or local is wanted" ;;
esac
processes=$((nodes * ppn))
[ $((gpus % processes)) = 0 ] || fail "$gpus GPUs do not divide among $processes processes"
each=$((gpus / processes))
[ -z "$tests" ] || program=${tests%/}/$program

hosts=${hosts:-${NODE_IPS:-$here/../scripts/node_ips/tcpx.txt}}
if [ "$launcher" = mpirun ]; then
	list=''
	[ ! -r "$hosts" ] ||
		list=$(sed 's/#.*//; s/[[:space:]]//g; /^$/d' "$hosts" | head -n "$nodes" |
			sed "s/\$/:$ppn/" | paste -sd, -)
	case $list in
	'') [ "$nodes" = 1 ] && list=localhost:$ppn || fail "$hosts names no hosts" ;;
	esac
	found=$(echo "$list" | tr ',' '\n' | wc -l)
	[ "$found" -ge "$nodes" ] || fail "$hosts names $found hosts of $nodes"
fi

# default NAME VALUE: unless it is set; all of these go to the processes.
names=
default() {
	eval "is_set=\${$1+x}"
	[ -n "$is_set" ] || export "$1=$2"
	names="$names $1"
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
dir=diagnostics/nccl_$(date +%Y%m%d_%H%M%S)
if [ -n "$diag" ]; then
	default NCCL_DEBUG TRACE
	default NCCL_DEBUG_SUBSYS ALL
else
	default NCCL_DEBUG WARN
fi

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
	echo "$@"
	exit 0
fi
if [ -z "$diag" ]; then
	exec "$@"
fi
tcpx=${TCPX:-}
if [ -z "$tcpx" ]; then
	tcpx=tcpx
	for path in "$here/tcpx" "$here/../tcpx" "$here/../build/tcpx"; do
		if [ -x "$path" ] && [ ! -d "$path" ]; then
			tcpx=$path
			break
		fi
	done
fi
exec "$tcpx" diag run -o "$dir" -- "$@"
