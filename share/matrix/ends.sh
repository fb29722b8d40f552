#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ends.sh VERB [...] - one step of a cell of t1-t5, on this host and on the one that $RSH reaches.
#
#   irq POLICY    plan interrupts by POLICY and apply the plan, on both
#   verify        they are still as planned, on both
#   restore       as they were, on both
#   movable       this host has a NIC with interrupts
#   serve HOW     start tcpx serve there: free, or bound to its plan's RX CPUs
#   stop          end it
#   bound CMD...  become CMD on this host's head CPUs (or TX), I/O threads on its TX CPUs
#   clean         nothing of an earlier study is left
#
# Plans and marks lie in $MATRIX_DIR here and in /run/tcpx-matrix there.
here=$MATRIX_DIR
there=/run/tcpx-matrix
theirs=${THERE:-tcpx}

# The CPUs of role $2 in plan $1, all groups: "8-21,60-73".
set_of='import json, sys
print(",".join(g[sys.argv[2]] for g in json.load(open(sys.argv[1]))["groups"] if g[sys.argv[2]]))'

far() { # a command line on the other host
	# shellcheck disable=SC2086 # RSH is several words
	$RSH "$1" </dev/null
}

plans() { # a plan by policy $1, applied or not, on both
	"$TCPX" irq plan --policy "$1" --emit json >"$here/plan.json" &&
		far "mkdir -p $there && $theirs irq plan --policy $1 --emit json >$there/plan.json"
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
serve)
	on=
	if [ "$2" = bound ]; then
		# the roles are those of every policy; interrupts are not touched by this
		[ -e "$here/applied" ] || plans keep || exit 1
		python3 -c "$set_of" "$here/plan.json" tx >"$here/tx.cpus" || exit 1
		rx=$(far "cat $there/plan.json" >"$here/peer.json" &&
			python3 -c "$set_of" "$here/peer.json" rx) || exit 1
		on="TCPX_CPUS=$rx"
	fi
	far "mkdir -p $there && cd $there && { env $on nohup $theirs serve >serve.out 2>&1 & echo \$! >serve.pid; }" || exit 1
	tries=0
	until far "grep -q ' port ' $there/serve.out"; do
		tries=$((tries + 1))
		[ "$tries" -lt 50 ] || exit 1
		sleep 0.2
	done
	;;
stop)
	far "test ! -e $there/serve.pid || { kill \$(cat $there/serve.pid) 2>/dev/null; rm -f $there/serve.pid; }"
	;;
bound)
	shift
	tx=$(cat "$here/tx.cpus")
	head=$(python3 -c "$set_of" "$here/plan.json" head) || exit 1
	# a small machine has no CPUs to spare for the application alone
	TCPX_CPUS=$tx exec "$TCPX" pin --cpus "${head:-$tx}" -- "$@"
	;;
clean)
	sh "$0" stop && sh "$0" restore && far "rm -rf $there"
	;;
*)
	echo "ends.sh: unknown verb '$1'" >&2
	exit 2
	;;
esac
