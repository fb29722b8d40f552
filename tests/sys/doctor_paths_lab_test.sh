#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tcpx doctor --peer tries what the engine uses: sockets bound to NICs, whatever the first route is,
# ports of TCPX_PORTS, packets of full size, both ways; and only the way back may be missing.
here=$(dirname "$0")
. "$here/tap.sh"
unset TCPX_NICS TCPX_CTRL TCPX_PROVIDER TCPX_PORT TCPX_PORTS

lab_up --nics 2
on h0 nft list ruleset >/dev/null 2>&1 || skip_all "no nft here"
on h0 ip route show >/dev/null 2>&1 || skip_all "no ip here"
export TCPX_PORTS=40000-40019
serve_on h1

doctor() {
	only=$1
	shift
	on h0 "$tool" doctor --only "$only" --peer 10.77.1.2 "$@"
}
# matches PATTERN COMMAND...: its output as one line does.
matches() {
	pattern=$1
	shift
	joined "$@" >"$scratch/said"
	cat "$scratch/said"
	grep -qE -- "$pattern" "$scratch/said"
}
# rule HOST TYPE HOOK WORD...: the only one of this test there
rule() {
	host=$1 type=$2 hook=$3
	shift 3
	on "$host" nft "add table ip t; delete table ip t; add table ip t;
		add chain ip t c { type $type hook $hook priority 0; }; add rule ip t c $*"
}
unrule() {
	for host; do
		on "$host" nft delete table ip t
	done
}

rule h1 filter input tcp flags syn / syn,ack tcp dport != 28515 tcp dport != 40000-40019 drop
rule h0 filter input tcp flags syn / syn,ack tcp dport != 40000-40019 drop
ok "ports of TCPX_PORTS are tried and no others" says "2 pairs of NICs" doctor peer-ports
ok "on the way back, too" says "2 pairs of NICs" doctor peer-back
unrule h0

# The first route from one eth1 to the other leads by eth0, where a socket goes that is not bound.
on h0 ip route add 10.77.1.2/32 dev eth0
on h1 ip route add 10.77.1.1/32 dev eth0
ok "a NIC reaches what another has the first route to" exits 0 doctor peer-address --nics eth1
ok "there" says "2 pairs of NICs" doctor peer-ports
ok "and back" says "2 pairs of NICs" doctor peer-back
on h1 ip route del 10.77.1.1/32 dev eth0
rule h1 filter input iifname eth1 tcp dport 40000-40019 reject with tcp reset
ok "nothing arrives by the NIC: another's way does not count" \
	matches 'eth1 -> 10\.77\.1\.2:400[0-9]+ is refused' doctor peer-ports
on h0 ip route del 10.77.1.2/32 dev eth0

# Packets above 1400 bytes are lost by eth1 alone, and no message says so.
lost="10\\.77\\.1\\.2:400[0-9]+: packets of 1500 bytes are lost, those of 1400 pass, MTU 1500 here, 1500 there"
rule h1 filter input iifname eth1 meta length '>' 1400 drop
ok "large packets are lost on the way there" matches "^error .*eth1 -> $lost" doctor peer-paths
ok "the other NIC is well" exits 1 grep -q eth0 "$scratch/said"
unrule h1
rule h0 filter input iifname eth1 meta length '>' 1400 drop
ok "on the way back" matches "^warning .*eth1 <- $lost" doctor mtu
unrule h0
ok "all sizes pass" says "2 pairs of NICs" doctor peer-paths

# A translation between: h1 sees another address of h0.
on h0 ip addr add 10.77.0.9/24 dev eth0
rule h0 nat postrouting oifname eth0 snat to 10.77.0.9
ok "behind a translation the address is named that was tried" \
	matches '10\.77\.0\.2 -> 10\.77\.0\.9:400[0-9]+ \(eth0, as the peer sees 10\.77\.0\.1:' \
	doctor peer-back --nics eth0
ok "a way back that is missing is a note" grep -q '^note' "$scratch/said"
ok "the way there is well" says "1 pair of NICs" doctor peer-ports --nics eth0
done_testing
