#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every GPU here with the GPU of the same number there, all at once: a process for each, or
# with --single-process one for all. Logs: logs/fullmesh_<role>_gpu<N>_<time>.log.
set -u

usage() {
	cat <<'END'
usage: run_p2p_fullmesh.sh [--single-process] server [gpu] | client [<ip> [gpu]]

Without [gpu] the GPUs of GPU_LIST (0,1,2,3,4,5,6,7). A client without <ip> takes the first
address of NODE_IPS (scripts/node_ips/tcpx.txt). Start the server first, or within ten
seconds. Logs go to LOG_DIR (logs); print_latest_bw.py sums them up.

Settings: UCCL_TCPX_PERF_SIZE (67108864), UCCL_TCPX_PERF_ITERS (20), UCCL_TCPX_NUM_CHANNELS
(2), UCCL_TCPX_BOOTSTRAP_PORT_BASE (20000, one more for each GPU), and all of tcpx.conf(5).
DIAG=1 records the machine around the run (tcpx diag); VERBOSE=1 also shows bindings, interrupts
and threads with their CPUs; SETUP_IRQ_AFFINITY=1 moves interrupts first (root). Bindings of
threads are the plan's unless they are set; BINDINGS=0: none.
END
}

fail() {
	echo "run_p2p_fullmesh.sh: $1; see --help" >&2
	exit 2
}

here=$(cd "$(dirname "$0")" && pwd)
single='' role='' ip='' gpu=''
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help)
		usage
		exit 0
		;;
	--single-process) single=1 ;;
	-*) fail "'$1' is no option" ;;
	*)
		if [ -z "$role" ]; then
			role=$1
		elif [ "$role" = client ] && [ -z "$ip" ]; then
			ip=$1
		elif [ -z "$gpu" ]; then
			gpu=$1
		else
			fail "'$1' is one word too many"
		fi
		;;
	esac
	shift
done
case $role in
server) ;;
client)
	nodes=${NODE_IPS:-$here/../scripts/node_ips/tcpx.txt}
	if [ -z "$ip" ] && [ -r "$nodes" ]; then
		ip=$(sed 's/#.*//; s/[[:space:]]//g; /^$/d' "$nodes" | head -1)
	fi
	[ -n "$ip" ] || fail "client <ip>"
	;;
*) fail "'$role': server or client is wanted" ;;
esac
gpus=${gpu:-${GPU_LIST:-0,1,2,3,4,5,6,7}}
gpus=$(echo "$gpus" | tr ' ' ',')
case $gpus in
*[!0-9,]* | '' | ,* | *, | *,,*) fail "GPUs '$gpus': numbers between commas are wanted" ;;
esac

export UCCL_TCPX_PERF_SIZE="${UCCL_TCPX_PERF_SIZE:-67108864}"
export UCCL_TCPX_PERF_ITERS="${UCCL_TCPX_PERF_ITERS:-20}"
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
. "$here/around_p2p.sh"
# all processes together are one run to record: this script again
if [ -z "${AROUND_P2P-}" ]; then
	around_prepare
	if around_is_wanted; then
		export AROUND_P2P=1
		around_run "$logs/diag_${role}_$stamp" "$0" ${single:+--single-process} "$role" \
			${ip:+"$ip"} ${gpu:+"$gpu"}
		exit
	fi
fi
pids=
trap 'kill $pids 2>/dev/null' INT TERM HUP
failed=0
if [ -n "$single" ]; then
	# shellcheck disable=SC2086 # no address for the server
	"$program" --log "$logs/fullmesh_${role}_gpu%g_$stamp.log" "$role" $ip "$gpus" &
	pids=$!
	wait "$pids" || failed=1
else
	for gpu in $(echo "$gpus" | tr ',' ' '); do
		# shellcheck disable=SC2086
		"$program" "$role" $ip "$gpu" \
			>"$logs/fullmesh_${role}_gpu${gpu}_$stamp.log" 2>&1 &
		pids="$pids $!"
	done
	for pid in $pids; do
		wait "$pid" || failed=1
	done
fi
for gpu in $(echo "$gpus" | tr ',' ' '); do
	log=$logs/fullmesh_${role}_gpu${gpu}_$stamp.log
	line=$(grep -h '\] Avg (' "$log" 2>/dev/null || grep -h '^\[ERROR\]' "$log" 2>/dev/null | head -1)
	echo "GPU $gpu: ${line:-no figure, see $log}"
done
exit $failed
