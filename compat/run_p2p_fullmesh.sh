#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every GPU here with the GPU of the same number there, all at once: a process for each, or
# with --single-process one for all. Logs: logs/fullmesh_<role>_gpu<N>_<time>.log.
set -u

usage() {
	cat <<'END'
usage: run_p2p_fullmesh.sh [--single-process] [--any] server [gpu] | client [<ip> [gpu]]

Without [gpu] the GPUs of GPU_LIST (0,1,2,3,4,5,6,7). A client without <ip> takes the first
address of NODE_IPS (scripts/node_ips/tcpx.txt). Start the server first, or within ten
seconds. Logs go to LOG_DIR (logs); print_latest_bw.py sums them up.

--any: plain sockets and memory of the host will do, where there is no plugin or no GPU; without
this they end it with exit code 3.

Settings: UCCL_TCPX_PERF_SIZE (67108864), UCCL_TCPX_PERF_ITERS (20), UCCL_TCPX_NUM_CHANNELS
(2), UCCL_TCPX_BOOTSTRAP_PORT_BASE (20000, one more for each GPU), and the others of tcpx.conf(5). What
tcpx env prints is set where it is not. DIAG=1 records the machine around the run (tcpx diag);
VERBOSE=1 also shows variables, bindings, interrupts and threads with their CPUs;
SETUP_IRQ_AFFINITY=1 moves interrupts first (root). BINDINGS=0: threads run where they like.
END
}

fail() {
	echo "run_p2p_fullmesh.sh: $1; see --help" >&2
	exit 2
}

here=$(cd "$(dirname "$0")" && pwd)
. "$here/around_p2p.sh"
single='' any='' role='' ip='' gpu=''
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help)
		usage
		exit 0
		;;
	--single-process) single=$1 ;;
	--any) any=$1 ;;
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
	nodes=$(around_hosts)
	[ -n "$ip" ] || [ -z "$nodes" ] || ip=$(around_addresses "$nodes" | head -1)
	[ -n "$ip" ] || fail "client <ip>"
	;;
*) fail "'$role': server or client is wanted" ;;
esac
gpus=${gpu:-${GPU_LIST:-0,1,2,3,4,5,6,7}}
gpus=$(echo "$gpus" | tr ' ' ',')
case $gpus in
*[!0-9,]* | '' | ,* | *, | *,,*) fail "GPUs '$gpus': numbers between commas are wanted" ;;
esac

logs=${LOG_DIR:-logs}
mkdir -p "$logs" || exit 2
stamp=$(date +%Y%m%d_%H%M%S)
# all processes together are one run to record: this script again
if [ -z "${AROUND_P2P-}" ]; then
	# two each, so that 8 GPUs fill their NICs evenly
	[ -n "${TCPX_CHANNELS-}" ] || export UCCL_TCPX_NUM_CHANNELS="${UCCL_TCPX_NUM_CHANNELS:-2}"
	around_prepare
	if around_is_wanted; then
		export AROUND_P2P=1
		# shellcheck disable=SC2086 # options that are there
		around_run "$logs/diag_${role}_$stamp" "$0" $single $any "$role" ${ip:+"$ip"} ${gpu:+"$gpu"}
		exit
	fi
fi

log_of() {
	echo "$logs/fullmesh_${role}_gpu$1_$stamp.log"
}
# show GPU: its figure with what carried it, or why there is none; before the first one, what all
# of them have.
shown=$(mktemp) || exit 2
show() {
	log=$(log_of "$1")
	[ -s "$shown" ] || grep -hE '^\[PERF\] (Size|Iterations|Channels|Window|Provider|Memory):' "$log"
	line=$(grep -h '\] Avg (' "$log" || grep -h '^\[ERROR\]' "$log" || tail -n 1 "$log")
	grep -h '^\[THREAD\]' "$log"
	echo "GPU $1: ${line:-no figure, see $log}" | tee -a "$shown"
} 2>/dev/null
# ended CODE: a failure outweighs a fall-back that was refused
code=0
ended() {
	[ "$1" = 0 ] || [ "$code" = 1 ] || code=$1
	[ "$code" = 0 ] || [ "$code" = 3 ] || code=1
}

program=$(around_find test_tcpx_perf_multi)
pids=
trap 'kill $pids 2>/dev/null' INT TERM HUP
trap 'rm -f "$shown"' EXIT
echo "logs: $(log_of '*')"
if [ -n "$single" ]; then
	# shellcheck disable=SC2086 # no address for the server, perhaps no option
	"$program" $any --log "$(log_of %g)" "$role" $ip "$gpus" &
	pids=$!
	wait "$pids"
	ended $?
else
	for gpu in $(echo "$gpus" | tr ',' ' '); do
		# shellcheck disable=SC2086
		"$program" $any "$role" $ip "$gpu" >"$(log_of "$gpu")" 2>&1 &
		pids="$pids $!"
	done
fi
# shellcheck disable=SC2086 # a list of words
set -- $pids
for gpu in $(echo "$gpus" | tr ',' ' '); do
	if [ -z "$single" ]; then
		wait "$1"
		ended $?
		shift
	fi
	show "$gpu"
done
awk '{ for (i = 1; i < NF; i++) if ($i == "BW:") { sum += $(i + 1); n++ } }
	/BW:/ { how = $0; sub(/.*\(provider/, "(provider", how); gsub(/GPU [0-9]+/, "GPU", how)
		if (index(hows, how) == 0) hows = hows " " how }
	END { if (n) printf "total: %.2f GB/s by %d GPUs%s\n", sum, n, hows }' "$shown"
exit "$code"
