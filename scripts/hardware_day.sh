#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The first day on a pair of A3-high machines: answers the open questions of deploy/hardware-day.md,
# one step each, and keeps what each printed.
#
#   scripts/hardware_day.sh [--dry-run] [--tool TCPX] [--out DIR] [--nic NIC] [--step NAME] PEER
#
# PEER is the other machine's control address; there run: tcpx serve --mem cuda:0. PEER_NICS names
# its data addresses, between commas. --dry-run prints the steps and runs nothing. With RSH="ssh PEER"
# the script starts the servers itself (THERE: tcpx there; PEER_SETUP: what the shell there runs
# before, as a rule the tcpx env of that machine). SIZE (64M), ITERS (20) and ROUNDS (6) of
# measurements may be set.
set -u

tool=tcpx
out=hardware-day
nic=eth1
dry=''
only=''
peer=''
active=''
server=''
size=${SIZE:-64M}
RSH=${RSH:-}
THERE=${THERE:-tcpx}
PEER_SETUP=${PEER_SETUP:-"eval \"\$($THERE env)\"; export TCPX_PLUGIN_PATH=${TCPX_PLUGIN_PATH:-}"}
usage() {
	sed -n '6,13s/^# \{0,1\}//p' "$0" >&2
	exit 2
}
while [ $# -gt 0 ]; do
	case $1 in
	--dry-run) dry=1 ;;
	--tool | --out | --nic | --step)
		[ $# -ge 2 ] || usage
		case $1 in
		--tool) tool=$2 ;;
		--out) out=$2 ;;
		--nic) nic=$2 ;;
		--step) only=$2 ;;
		esac
		shift
		;;
	-h | --help) usage ;;
	-*) usage ;;
	*)
		[ -z "$peer" ] || usage
		peer=$1
		;;
	esac
	shift
done
[ -n "$peer" ] || usage
peer_nics=${PEER_NICS:-$peer}
failed=0 steps=0

# step NAME QUESTION: the commands that follow by run belong to it.
step() {
	name=$1
	active=''
	[ -z "$only" ] || [ "$only" = "$name" ] || return 0
	active=1
	steps=$((steps + 1))
	printf '\n== %s: %s\n' "$name" "$2"
}

# run LABEL COMMAND...: its output goes to OUT/NAME.LABEL.txt, its end to OUT/summary.txt.
run() {
	[ -n "$active" ] || return 0
	label=$1
	shift
	printf '   %s:' "$label"
	printf ' %s' "$@"
	printf '\n'
	[ -z "$dry" ] || return 0
	"$@" >"$out/$name.$label.txt" 2>&1
	code=$?
	printf '%s %s %s\n' "$name" "$label" "$code" >>"$out/summary.txt"
	[ "$code" = 0 ] || printf '   ended with %s: %s\n' "$code" "$out/$name.$label.txt"
	[ "$code" -le 1 ] || failed=$((failed + 1))
}

# start LABEL env NAME=VALUE...: a server with these variables, until stop. The shell there ends it
# when the pipe that it reads is closed.
start() {
	[ -n "$RSH" ] && [ -n "$active" ] && [ -z "$dry" ] || return 0
	log=$out/$name.$1.serve.txt
	shift
	rm -f "$out/hold"
	mkfifo "$out/hold" || exit 3
	# shellcheck disable=SC2086 # RSH is several words
	$RSH "$PEER_SETUP; $* $THERE serve --mem cuda:0 & read -r _; kill \$! 2>/dev/null; wait \$!" \
		<"$out/hold" >"$log" 2>&1 &
	server=$!
	exec 3>"$out/hold"
	tries=0
	until grep -q ': port [0-9]' "$log"; do
		tries=$((tries + 1))
		[ $tries -le 300 ] && kill -0 $server 2>/dev/null || {
			printf '   no server there: %s\n' "$log"
			failed=$((failed + 1))
			return 0
		}
		sleep 0.1
	done
}
stop() {
	[ -n "$server" ] || return 0
	exec 3>&-
	wait "$server"
	server=''
	rm -f "$out/hold"
}

# perf LABEL env NAME=VALUE...: SIZE from GPU to GPU. The receiver's variables count as much as
# ours, so the other side has to be started anew with them.
perf() {
	[ -n "$active" ] || return 0
	label=$1
	shift
	[ -n "$RSH" ] || printf '   on the peer: %s tcpx serve --mem cuda:0\n' "$*"
	if [ -z "$RSH$dry" ] && [ -t 0 ]; then
		printf '   then press Enter '
		read -r _
	fi
	start "$label" "$@"
	run "$label" "$@" "$tool" perf "$peer" --mem cuda:0 --peer-mem cuda:0 -b "$size" -e "$size" \
		-w 2 -n "${ITERS:-20}" --json "$out/$name.$label.json"
	stop
}

# once LABEL env NAME=VALUE...: one transfer of 4 KiB, with these variables on this side only.
once() {
	start "$1" env
	label=$1
	shift
	run "$label" "$@" "$tool" perf "$peer" --mem cuda:0 --peer-mem cuda:0 -b 4K -e 4K -w 0 -n 1
	stop
}

[ -n "$dry" ] || mkdir -p "$out" || exit 3

step machine "what kind of machine is this, and does it invite trouble?"
start doctor env
run doctor "$tool" doctor --peer "$peer_nics" --json "$out/doctor.json"
stop
run topo "$tool" topo --json "$out/topo.json"
run env "$tool" env
run lint "$tool" env --lint
run info "$tool" info
run before "$tool" irq snapshot -o "$out/irq-before.txt"

step connect "does the installed plugin's connect() return before the connection stands?"
once log env NCCL_DEBUG=TRACE NCCL_DEBUG_SUBSYS=NET TCPX_DEBUG=TRACE TCPX_DEBUG_SUBSYS=NET
once early env NCCL_GPUDIRECTTCPX_SPINWAIT_CONNECT=0

step pages "does a request of several pieces lose pages of the receive pool?"
run counters-before ethtool -S "$nic"
perf one-piece env NCCL_DYNAMIC_CHUNK_SIZE=524288 TCPX_CHUNK=512K
perf small-pieces env NCCL_DYNAMIC_CHUNK_SIZE=131072 TCPX_CHUNK=128K
run counters-after ethtool -S "$nic"

step size "is one piece, or one for each socket, the best request?"
for chunk in 131072 262144 524288 1048576 2097152; do
	perf "chunk-$chunk" env NCCL_DYNAMIC_CHUNK_SIZE="$chunk" TCPX_CHUNK="$chunk"
done
for sockets in 1 2 4 8; do
	perf "sockets-$sockets" env NCCL_DYNAMIC_CHUNK_SIZE=524288 NCCL_NSOCKS_PERTHREAD="$sockets"
done

step rules "how long until a flow rule is active?"
for us in 0 1000 10000 50000 200000; do
	once "wait-$us" env NCCL_GPUDIRECTTCPX_PROGRAM_FLOW_STEERING_WAIT_MICROS="$us"
done
run list ethtool -n "$nic"

step fragments "how long are fragments when the network is loaded?"
run mtu ip link show "$nic"
perf alone env TCPX_DEBUG=DEBUG TCPX_DEBUG_SUBSYS=NET
perf all-gpus env TCPX_DEBUG=DEBUG TCPX_DEBUG_SUBSYS=NET TCPX_RELAY=auto

step sync "does announcing receives (RECV_SYNC) cost anything?"
for round in $(seq "${ROUNDS:-6}"); do
	perf "off-$round" env NCCL_GPUDIRECTTCPX_RECV_SYNC=0
	perf "on-$round" env NCCL_GPUDIRECTTCPX_RECV_SYNC=1
done

step own-nic "can a GPU receive by a NIC that is not its own? (expected: no)"
perf own env TCPX_MAP="gpu0=$nic"
perf foreign env TCPX_MAP="gpu0=eth3"

step unpack "what does unpacking cost beside the wire?"
perf with env TCPX_UNPACK_IMPL=kernel
perf without env TCPX_UNPACK_IMPL=none

step after "what moved, and what did the kernel say?"
run after "$tool" irq snapshot -o "$out/irq-after.txt"
run diff "$tool" irq diff "$out/irq-before.txt" "$out/irq-after.txt"
start doctor env
run doctor "$tool" doctor --peer "$peer_nics" --json "$out/doctor-after.json"
stop

[ "$steps" -gt 0 ] || {
	echo "hardware_day.sh: no step is called $only" >&2
	exit 2
}
[ -n "$dry" ] || printf '\n%s steps, %s commands failed; all output is in %s\n' "$steps" "$failed" "$out"
[ "$failed" = 0 ]
