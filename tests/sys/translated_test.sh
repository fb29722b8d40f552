#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A server behind an address translation: h0 reaches 10.77.0.3 alone, of h2, which passes two ports on to h1.
. "$(dirname "$0")/tap.sh"
unset TCPX_NICS TCPX_CTRL TCPX_PORTS

lab_up --hosts 3 --nics 2
on h2 nft list ruleset >/dev/null 2>&1 || skip_all "no nft here"
json=$scratch/result.json

on h0 ip link set eth1 down
on h1 ip link set eth0 down
on h1 ip route add 10.77.0.0/24 via 10.77.1.3
on h2 sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
on h2 nft add table ip t
on h2 nft "add chain ip t pre { type nat hook prerouting priority -100; }"
on h2 nft "add rule ip t pre iifname eth0 tcp dport { 28515, 40001 } dnat to 10.77.1.2"

# serve SETTING...
serve() {
	[ -z "${server-}" ] || { kill "$server"; wait "$server"; }
	start "$scratch/serve" env "$@" "$tool" lab exec --name "$lab" h1 "$tool" serve
	server=$started
	within 60 listens h1 || { cat "$scratch/serve"; exit 1; }
}
client() {
	timeout 60 "$tool" lab exec --name "$lab" h0 "$tool" perf 10.77.0.3 -b 1M -e 1M -n 4 "$@" --json "$json" \
		2>&1
}
arrives() {
	client && right "$json"
}

fails() {
	! TCPX_CONNECT_MS=1s client >"$scratch/failed" && cat "$scratch/failed" &&
		grep "none of 4 channels could connect: eth0 to eth[01] 10.77.1.2:.*: .*; behind an address" "$scratch/failed"
}
serve TCPX_DEBUG=WARN
ok "its own address does not do, and is named with what to set" fails
serve TCPX_ADVERTISE=10.77.0.3:40001
ok "the one that it advertises does" arrives
echo "a secret of this test, long enough" >"$scratch/secret"
chmod 600 "$scratch/secret"
export TCPX_SECRET_FILE="$scratch/secret"
serve TCPX_ADVERTISE=10.77.0.3 TCPX_PORTS=40001-40001 TCPX_PORT=28515
ok "with a secret, and the port by TCPX_PORTS" arrives
for text in 10.77.0.3:40001,10.77.0.4:40002 gate.example; do
	ok "no server with $text" says "TCPX_ADVERTISE \"$text\"" env TCPX_ADVERTISE="$text" "$tool" serve
done
done_testing
