# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154
# What bench_p2p.sh and run_p2p_fullmesh.sh do around their programs. Sourced, with $here set.
#
#	bindings                the plan's (tcpx irq plan), unless they are set; BINDINGS=0: none
#	SETUP_IRQ_AFFINITY=1    interrupts go where the plan has them (setup_irq_affinity.sh, root)
#	DIAG=1                  tcpx diag run around it; the folder lies beside the logs
#	VERBOSE=1               the same, and shows bindings, affinity of interrupts, and threads
#	                        with their CPUs (so does UCCL_TCPX_VERBOSE=1)

around_find() {
	for path in "$here/$1" "$here/../$1" "$here/../build/$1" "$here/../scripts/$1"; do
		if [ -x "$path" ] && [ ! -d "$path" ]; then
			echo "$path"
			return
		fi
	done
	echo "$1"
}
around_tcpx=${TCPX:-$(around_find tcpx)}

around_is_on() {
	case $1 in
	'' | 0 | no | off | false) return 1 ;;
	esac
}

around_is_verbose() {
	around_is_on "${VERBOSE-}" || around_is_on "${UCCL_TCPX_VERBOSE-}"
}

# Bindings of both directions, or of the one that is not set.
around_bind() {
	around_is_on "${BINDINGS-1}" || return 0
	nics=${TCPX_NICS:-${NCCL_GPUDIRECTTCPX_SOCKET_IFNAME:-}}
	# addresses, beginnings of names and exceptions are no names
	case $nics in
	*[=^]* | *[0-9].[0-9]* | *:*) return 0 ;;
	esac
	plan=$("$around_tcpx" irq plan ${nics:+--nics "$nics"} --emit nccl 2>/dev/null) || {
		echo "no plan of CPUs for ${nics:-the NICs here}: threads run where they like" >&2
		return 0
	}
	for way in TX RX; do
		name=NCCL_GPUDIRECTTCPX_${way}_BINDINGS
		eval "set_here=\${$name:-\${TCPX_${way}_BINDINGS:-}}"
		[ -n "$set_here" ] ||
			export "$name=$(echo "$plan" | sed -n "s/^$name=//p")"
	done
}

# Before the programs; ends the script where interrupts cannot be moved.
around_prepare() {
	around_bind
	if around_is_on "${SETUP_IRQ_AFFINITY-}"; then
		TCPX=$around_tcpx "$(around_find setup_irq_affinity.sh)" || exit
	fi
	around_is_verbose || return 0
	for way in TX RX; do
		eval "echo \"$way bindings: \${TCPX_${way}_BINDINGS:-\${NCCL_GPUDIRECTTCPX_${way}_BINDINGS:-none}}\""
	done
}

around_is_wanted() {
	around_is_on "${DIAG-}" || around_is_verbose
}

# around_run DIR COMMAND...: its exit code.
around_run() {
	around_dir=$1
	shift
	if ! around_is_wanted; then
		"$@"
		return
	fi
	"$around_tcpx" diag run -i 100ms -o "$around_dir" -- "$@"
	around_code=$?
	if around_is_verbose; then
		for part in irq_affinity threads; do
			echo "$part:"
			cat "$around_dir/$part.txt"
		done
	fi
	return $around_code
}
