#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Between two hosts of MTU 9000 a router has 1500. Its reports of that (ICMP) are dropped, so large packets vanish:
# it is noticed and named, and all goes on with smaller ones. With the reports the kernels mend it.
# $2: the plugin for NCCL, $3: a process that uses it.
. "$(dirname "$0")/tap.sh"
plugin=$(realpath "$2")
rank=$(realpath "$3")
unset TCPX_NICS TCPX_CTRL

lab_up --hosts 3 --nics 2 --mtu 9000
on h2 nft list ruleset >/dev/null 2>&1 || skip_all "no nft here"
json=$scratch/result.json
lost="packets of 9000 bytes do not pass from"
goes="small ones do: its channels go on with 1500 at most; set the MTU of both ends"

# reaches HOST UNUSED NIC NETWORK: by the router, and by its one NIC
reaches() {
	on "$1" ip link set "$2" down
	on "$1" ip route add "$4" via "$3"
}
on h2 sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
on h2 ip route replace 10.77.0.0/24 dev eth0 mtu lock 1500
on h2 ip route replace 10.77.1.0/24 dev eth1 mtu lock 1500
reaches h0 eth1 10.77.0.3 10.77.1.0/24
reaches h1 eth0 10.77.1.3 10.77.0.0/24
for host in h0 h1; do # large packets as a wire has them, one at a time
	on $host ip link set dev eth0 gso_max_segs 1 gso_ipv4_max_size 1500 2>/dev/null
	on $host ip link set dev eth1 gso_max_segs 1 gso_ipv4_max_size 1500 2>/dev/null
done

# runs OPTION...: every byte arrives, and is right
runs() {
	timeout 60 "$tool" lab exec --name "$lab" h0 "$tool" perf 10.77.1.2 -n 4 -w 0 ${size--b 4M -e 4M} "$@" \
		--json "$json" >"$scratch/perf" 2>&1
	code=$?
	cat "$scratch/perf" "$scratch/serve"
	[ $code = 0 ] && right "$json"
}
silent() {
	! grep "do not pass" "$scratch/perf" "$scratch/serve"
}
# named FILE: there, for channels
named() {
	grep "$lost" "$1" | grep -q "$goes"
}

serve() {
	[ -z "${server-}" ] || { kill "$server"; wait "$server"; }
	serve_on h1
}

on h2 nft add table inet t
on h2 nft "add chain inet t c { type filter hook output priority 0; policy accept; }"
on h2 nft add rule inet t c icmp type destination-unreachable drop
export TCPX_STALL_MS=4s TCPX_FREEZE_MS=600s # the second is the plugin's
has_begun() {
	grep -q '^iteration' "$scratch/rank0"
}
# by_plugin: two processes exchange messages, and every byte is right
by_plugin() {
	for end in 0 1; do
		start "$scratch/rank$end" "$tool" lab exec --name "$lab" h$end "$rank" "$plugin" $end "$scratch/meet" "$scratch/stop"
		eval "end$end=$started"
	done
	within 60 has_begun
	: >"$scratch/stop"
	wait "$end0" && wait "$end1" && grep 'iterations right' "$scratch/rank0"
	code=$?
	tail -n 3 "$scratch/rank0" "$scratch/rank1"
	return $code
}
ok "messages of NCCL's plugin arrive without reports of the router" by_plugin
serve
ok "transfers do, both ways" runs --dir bi
ok "the client names both sizes" named "$scratch/perf"
ok "the server does" named "$scratch/serve"
ok "it mends its control stream, too" grep -q "control stream with .* do not pass, small ones do" "$scratch/serve"
size="-b 64K -e 64K"
ok "lanes" runs --op lane
unset size
on h2 nft delete table inet t
serve
ok "with reports all arrives" runs
ok "and nothing is said" silent
done_testing
