#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ends.sh VERB [...] - one step of a cell of t1-t5, on this host and on the one that $RSH reaches.
#
#   irq POLICY    plan interrupts by POLICY and apply the plan, on both
#   verify        they are still as planned, on both
#   restore       as they were, on both
#   movable       this host has a NIC with interrupts
#   memory        find out what memory $MEM and $PEER_MEM mean
#   serve HOW     start tcpx serve there: free, or bound by its plan
#   stop          end it, and wait until it has ended
#   told          the bindings that the server has in its environment
#   free CMD...   become CMD without any binding
#   bound CMD...  become CMD on this host's head CPUs (or TX), with the plan's bindings
#   clean         nothing of an earlier study is left
#
# Bindings are NCCL_GPUDIRECTTCPX_TX_BINDINGS and _RX_BINDINGS: I/O threads follow them, and a
# plugin's threads. Plans and marks lie in $MATRIX_DIR here and in /run/tcpx-matrix there.
here=$MATRIX_DIR
there=/run/tcpx-matrix
theirs=${THERE:-tcpx}
unbind='unset NCCL_GPUDIRECTTCPX_TX_BINDINGS NCCL_GPUDIRECTTCPX_RX_BINDINGS TCPX_TX_BINDINGS TCPX_RX_BINDINGS TCPX_CPUS TCPX_BIND'
# Exports NAME=VALUE lines; a value has ";" in it.
bind='while IFS= read -r line; do export "$line"; done'

# The CPUs of role $2 in plan $1, all groups: "8-21,60-73".
set_of='import json, sys
print(",".join(g[sys.argv[2]] for g in json.load(open(sys.argv[1]))["groups"] if g[sys.argv[2]]))'

# What "tcpx info --json -" means by auto: all GPUs, or the host's memory.
memory_of='import json, sys
n = len(json.load(sys.stdin)["driver"]["gpus"] or [])
print("cuda:0-%d" % (n - 1) if n > 1 else "cuda:0" if n else "host")'

far() { # a command line on the other host
	# shellcheck disable=SC2086 # RSH is several words
	$RSH "$1" </dev/null
}

plans() { # a plan by policy $1 and its bindings, applied or not, on both
	"$TCPX" irq plan --policy "$1" --emit json >"$here/plan.json" &&
		"$TCPX" irq plan --policy "$1" --emit nccl >"$here/bindings" &&
		far "mkdir -p $there && $theirs irq plan --policy $1 --emit json >$there/plan.json &&
			$theirs irq plan --policy $1 --emit nccl >$there/bindings"
}

serve() { # the wrapper's last word, serve.ended, comes after the server's end
	far "mkdir -p $there && cd $there && rm -f serve.* && $unbind && ${1:-:} &&
		{ nohup sh -c '$theirs serve >serve.out 2>&1 & echo \$! >serve.pid; wait; >serve.ended' \
			>/dev/null 2>&1 & }" || return 1
	far "cd $there; n=0
		until grep -q ' port ' serve.out 2>/dev/null; do
			n=\$((n + 1))
			[ ! -e serve.ended ] && [ \$n -lt 100 ] || { paste -sd ' ' serve.out >&2; exit 1; }
			sleep 0.1
		done"
}

# A server whose wrapper was killed, too, leaves serve.pid alone: its number may be another's by now.
stop() {
	far "cd $there 2>/dev/null && [ -e serve.pid ] || exit 0
		n=0
		pid=\$(cat serve.pid)
		alive() { tr '\\0' ' ' 2>/dev/null </proc/\$pid/cmdline | grep -q ' serve '; }
		alive && kill \$pid
		until [ -e serve.ended ]; do
			n=\$((n + 1))
			[ \$n -lt 30 ] || alive || break
			[ \$n != 100 ] || kill -9 \$pid
			[ \$n -lt 120 ] || { echo 'the server does not end' >&2; exit 1; }
			sleep 0.1
		done
		rm -f serve.pid serve.ended"
}

case $1 in
irq)
	plans "$2" || exit 1
	touch "$here/applied"
	"$TCPX" irq apply "$here/plan.json" --xps && far "$theirs irq apply $there/plan.json --xps"
	;;
verify)
	"$TCPX" irq verify "$here/plan.json" && far "$theirs irq verify $there/plan.json"
	;;
restore)
	[ -e "$here/applied" ] || exit 0
	"$TCPX" irq restore
	near=$?
	far "$theirs irq restore" && [ "$near" = 0 ] && rm -f "$here/applied"
	;;
movable)
	for nic in /sys/class/net/*; do
		device=$(readlink -f "$nic/device" 2>/dev/null) || continue
		case $device in
		*/virtio[0-9]*) device=${device%/virtio*} ;;
		esac
		[ -d "$device/msi_irqs" ] && exit 0
	done
	exit 1
	;;
memory)
	mem=$MEM peer_mem=$PEER_MEM
	if [ "$mem" = auto ]; then
		info=$("$TCPX" info --json -) && mem=$(echo "$info" | python3 -c "$memory_of") || exit 1
	fi
	if [ "$peer_mem" = auto ]; then
		info=$(far "$theirs info --json -") && peer_mem=$(echo "$info" | python3 -c "$memory_of") || exit 1
	fi
	echo "--mem $mem --peer-mem $peer_mem" >"$here/memory"
	;;
serve)
	if [ "$2" = bound ]; then
		# the roles are those of every policy; interrupts are not touched by this
		[ -e "$here/applied" ] || plans keep || exit 1
		serve "$bind <bindings"
	else
		serve
	fi
	;;
stop)
	stop
	;;
told)
	far "tr '\0' '\n' </proc/\$(cat $there/serve.pid)/environ | grep _BINDINGS= || echo none" |
		paste -sd ' '
	;;
free)
	shift
	eval "$unbind"
	exec "$@"
	;;
bound)
	shift
	eval "$unbind"
	eval "$bind" <"$here/bindings"
	head=$(python3 -c "$set_of" "$here/plan.json" head) || exit 1
	# a small machine has no CPUs to spare for the application alone
	[ -n "$head" ] || head=$(python3 -c "$set_of" "$here/plan.json" tx) || exit 1
	exec "$TCPX" pin --cpus "$head" -- "$@"
	;;
clean)
	sh "$0" stop && sh "$0" restore && far "rm -rf $there"
	;;
*)
	echo "ends.sh: unknown verb '$1'" >&2
	exit 2
	;;
esac
