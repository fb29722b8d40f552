# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154
# What the scripts do around their programs. Sourced, with $here set.
#
#	the environment         what tcpx env prints, where it is not set; BINDINGS=0: no bindings
#	SETUP_IRQ_AFFINITY=1    interrupts go where the plan has them (setup_irq_affinity.sh, root)
#	DIAG=1                  tcpx diag run around it; the folder lies beside the logs
#	VERBOSE=1               the same, and shows variables, bindings, affinity of interrupts, and
#	                        threads with their CPUs, as the programs do with
#	                        UCCL_TCPX_VERBOSE=1, which is the same here

# Beside the scripts where they are installed and in a build directory; or the source's.
around_find() {
	for path in "$here/$1" "$here/../$1" "$here/../build/compat/$1" "$here/../build/$1" \
		"$here/../scripts/$1"; do
		if [ -x "$path" ] && [ ! -d "$path" ]; then
			echo "$path"
			return
		fi
	done
	echo "$1"
}
around_tcpx=${TCPX:-$(around_find tcpx)}

# The file of hosts: the one that is named, of this directory, of the source, installed.
around_hosts() {
	for path in "${NODE_IPS-}" scripts/node_ips/tcpx.txt "$here/../scripts/node_ips/tcpx.txt" \
		"$here/../../scripts/node_ips/tcpx.txt" "$here/../share/tcpx-p2p/node_ips/tcpx.txt"; do
		if [ -r "$path" ]; then
			echo "$path"
			return
		fi
	done
}

# around_addresses FILE: its addresses, a line each
around_addresses() {
	sed 's/#.*//; s/[[:space:]]//g; /^$/d' "$1"
}

around_is_on() {
	case $1 in
	'' | 0 | no | off | false) return 1 ;;
	esac
}

around_is_verbose() {
	around_is_on "${VERBOSE-}" || around_is_on "${UCCL_TCPX_VERBOSE-}"
}

# What is set stays. Addresses instead of names of NICs mean something to our programs alone, and
# bindings of a direction may have our own name.
around_env() {
	case ${TCPX_NICS-} in
	*[0-9].[0-9]* | *:*) unnamed=yes ;;
	*) unnamed='' ;;
	esac
	lines=$("$around_tcpx" env --format docker) || return 0
	while IFS= read -r line; do
		name=${line%%=*}
		case $name in
		"# left out: "*)
			[ -n "$unnamed" ] || echo "$line" >&2
			continue
			;;
		*[!A-Z0-9_]* | '') continue ;;
		*IFNAME | *_DEV | TCPX_NICS) [ -z "$unnamed" ] || continue ;;
		*_BINDINGS)
			around_is_on "${BINDINGS-1}" || continue
			eval "[ -z \"\${TCPX_${name#NCCL_GPUDIRECTTCPX_}-}\" ]" || continue
			;;
		esac
		eval "is_set=\${$name+x}"
		[ -n "$is_set" ] || export "$name=${line#*=}"
	done <<END
$lines
END
}

# Before the programs; ends the script where interrupts cannot be moved.
around_prepare() {
	export UCCL_TCPX_PERF_SIZE="${UCCL_TCPX_PERF_SIZE:-67108864}"
	export UCCL_TCPX_PERF_ITERS="${UCCL_TCPX_PERF_ITERS:-20}"
	around_env
	if around_is_on "${SETUP_IRQ_AFFINITY-}"; then
		TCPX=$around_tcpx "$(around_find setup_irq_affinity.sh)" || exit
	fi
	around_is_verbose || return 0
	export UCCL_TCPX_VERBOSE=1
	env | grep -E '^(NCCL|UCCL|TCPX)_[A-Z0-9_]*=' | sort
	for way in TX RX; do
		eval "echo \"$way bindings: \${TCPX_${way}_BINDINGS:-\${NCCL_GPUDIRECTTCPX_${way}_BINDINGS:-none}}\""
	done
}

around_is_wanted() {
	around_is_on "${DIAG-}" || around_is_verbose
}

# around_record DIR COMMAND...: tcpx diag run; its exit code.
around_record() {
	around_dir=$1
	shift
	"$around_tcpx" diag run -o "$around_dir" -- "$@"
}

# around_run DIR COMMAND...: its exit code.
around_run() {
	if ! around_is_wanted; then
		shift
		"$@"
		return
	fi
	around_record "$@"
	around_code=$?
	if around_is_verbose; then
		echo "irq_affinity:"
		cat "$around_dir/irq_affinity.txt"
	fi
	return $around_code
}

# around_show LOG COMMAND...: what it says goes to LOG, too, while it runs. Its exit code.
around_show() {
	around_log=$1
	shift
	around_end=$(mktemp) || return 2
	{
		"$@" 2>&1
		echo $? >"$around_end"
	} | tee "$around_log"
	read -r around_code <"$around_end"
	rm -f "$around_end"
	return "${around_code:-2}"
}
