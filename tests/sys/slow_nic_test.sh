#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A NIC with less than a tenth of the others' rate, and the address that peers know a host by: control
# arrives there, and no payload goes over it, unless it is named.
here=$(dirname "$0")
. "$here/tap.sh"
unset TCPX_NICS TCPX_CTRL NCCL_SOCKET_IFNAME NCCL_GPUDIRECTTCPX_CTRL_DEV NCCL_GPUDIRECTTCPX_SOCKET_IFNAME
command -v tc >/dev/null || skip_all "needs tc, of iproute2"

lab_up --rate 250M
json=$scratch/result.json
for host in h0 h1; do
	on $host tc qdisc replace dev eth0 root tbf rate 20mbit burst 64k latency 100ms || exit 1
done
carries() {
	on h0 env "$2" "$tool" perf 10.77.0.2 -b 4M -e 4M -n 4 -w 1 --json "$json" || return
	right "$json" "$1('eth0' == n['nic'] for n in rows[0]['per_nic'] if n['bytes'] > 0)"
}
reason() {
	joined on h1 "$tool" info | grep -q "eth0 .*control only: it has less than a tenth of the fastest one's speed"
}
serve_on h1
ok "info says why" reason
ok "the server has the others" grep -q "on 3 NICs: eth1 (10.77.1.2) eth2 (10.77.2.2) eth3 (10.77.3.2)" "$scratch/serve"
ok "control arrives there, payload goes by the others" carries "not any" TCPX_DEBUG=WARN
kill "$server"
wait "$server"
export TCPX_NICS=eth0,eth1
serve_on h1
ok "it carries payload where it is named" carries any TCPX_NICS=eth0,eth1
done_testing
