#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Addresses that the plugin for NCCL uses: IPv4 where NICs have both families, those of NCCL_SOCKET_FAMILY where that
# is set, and IPv6 where there is no other. $2: the plugin, $3: a process.
. "$(dirname "$0")/tap.sh"
plugin=$(realpath "$2")
rank=$(realpath "$3")
unset TCPX_NICS TCPX_FAMILY TCPX_CTRL NCCL_SOCKET_IFNAME NCCL_SOCKET_FAMILY NCCL_GPUDIRECTTCPX_SOCKET_IFNAME \
	NCCL_GPUDIRECTTCPX_CTRL_DEV

command -v ip >/dev/null || skip_all "no ip"
lab_up --nics 2

# addresses add|delete FAMILY: of both NICs of both hosts
addresses() {
	for end in 1 2; do
		for nic in 0 1; do
			case $2 in
			4) on h$((end - 1)) ip address "$1" "10.77.$nic.$end/24" dev eth$nic ;;
			6) on h$((end - 1)) ip address "$1" "fd77:0:0:$nic::$end/64" dev eth$nic nodad ;;
			esac || return
		done
	done
}
# connections TABLE: that h0 has
connections() {
	on h0 awk '$4 == "01" { n++ } END { print n + 0 }' "/proc/net/$1"
}
has_begun() {
	grep -q '^iteration' "$scratch/rank0"
}
# by TABLE OTHER [VARIABLE...]: two processes exchange messages by connections of the one, and by none of the other
by() {
	table=$1
	other=$2
	shift 2
	rm -f "$scratch/stop" "$scratch/meet"
	start "$scratch/rank0" env "$@" "$tool" lab exec --name "$lab" h0 "$rank" "$plugin" 0 "$scratch/meet" "$scratch/stop"
	first=$started
	start "$scratch/rank1" env "$@" "$tool" lab exec --name "$lab" h1 "$rank" "$plugin" 1 "$scratch/meet" "$scratch/stop"
	second=$started
	within 60 has_begun
	wanted=$(connections "$table")
	unwanted=$(connections "$other")
	: >"$scratch/stop"
	wait "$first" && wait "$second" && grep 'iterations right' "$scratch/rank0"
	code=$?
	tail -n 3 "$scratch/rank0" "$scratch/rank1"
	echo "$wanted connections of $table, $unwanted of $other"
	[ $code = 0 ] && [ "$wanted" -gt 1 ] && [ "$unwanted" = 0 ]
}

addresses add 6 || skip_all "no IPv6 here"
ok "IPv4 where NICs have both" by tcp tcp6
ok "IPv6 by NCCL_SOCKET_FAMILY" by tcp6 tcp NCCL_SOCKET_FAMILY=AF_INET6
ok "IPv6 by TCPX_FAMILY" by tcp6 tcp TCPX_FAMILY=ipv6
ok "TCPX_FAMILY comes first" by tcp tcp6 NCCL_SOCKET_FAMILY=AF_INET6 TCPX_FAMILY=ipv4
addresses delete 4
ok "IPv6 where there is no other" by tcp6 tcp
done_testing
