#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# NICs with addresses of both families: IPv4 carries all, or IPv6 where TCPX_FAMILY asks for it; and
# NICs with IPv6 addresses alone.
here=$(dirname "$0")
. "$here/tap.sh"
unset TCPX_CTRL NCCL_GPUDIRECTTCPX_CTRL_DEV NCCL_GPUDIRECTTCPX_SOCKET_IFNAME
command -v ip >/dev/null || skip_all "needs ip"

lab_up --nics 2
for n in 0 1; do
	for nic in 0 1; do
		on "h$n" ip address add "fd77:$nic::$((n + 1))/64" dev eth$nic nodad ||
			skip_all "needs IPv6"
	done
done
export TCPX_DEBUG=INFO TCPX_NICS=eth0,eth1

# moves ADDRESS: a transfer to that address of h1 verifies; $scratch/perf has the client's log.
moves() {
	serve_on h1
	on h0 "$tool" perf "$1" -b 64M -e 64M -n 4 -w 1 --json "$scratch/json" >"$scratch/perf" 2>&1
	code=$?
	kill "$server"
	wait "$server"
	[ $code = 0 ] && result "$scratch/json" "all(row['wrong'] == 0 for row in rows)" || { cat "$scratch/perf"; false; }
}
ipv6_bytes() {
	on h0 awk '$1 == "Ip6OutOctets" { print $2 }' /proc/net/snmp6
}
by_ipv6() {
	[ $(($(ipv6_bytes) - before)) -gt 256000000 ]
}
by_ipv4() {
	[ $(($(ipv6_bytes) - before)) -lt 1000000 ]
}
before=$(ipv6_bytes)
ok "over NICs with both bytes arrive" moves 10.77.0.2
ok "by IPv4" by_ipv4
before=$(ipv6_bytes)
TCPX_FAMILY=ipv6
export TCPX_FAMILY
ok "with TCPX_FAMILY=ipv6 bytes arrive" moves fd77::2
ok "by IPv6" by_ipv6
unset TCPX_FAMILY
for n in 0 1; do
	for nic in 0 1; do
		on "h$n" ip -4 address flush dev eth$nic
	done
done
before=$(ipv6_bytes)
ok "over NICs with IPv6 alone bytes arrive" moves fd77::2
ok "by IPv6, too" by_ipv6
done_testing
