#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Five NICs a host, as on A3-high: control by eth0, data by eth1 to eth4 alone, and a session that
# outlives its control NIC.
here=$(dirname "$0")
. "$here/tap.sh"
unset TCPX_CTRL TCPX_NICS NCCL_GPUDIRECTTCPX_CTRL_DEV NCCL_GPUDIRECTTCPX_SOCKET_IFNAME

lab_up --nics 5 --rate 250M
data=eth1,eth2,eth3,eth4
json=$scratch/result.json

# serves OPTION...: a server on h1; SETTING=VALUE before it in $with
with= started=
serves() {
	[ -z "$started" ] || { kill "$started"; wait "$started"; } # the port is free again
	start "$scratch/serve" env $with "$tool" lab exec --name "$lab" h1 "$tool" serve "$@"
	server=$started
	within 60 listens h1 || { cat "$scratch/serve"; return 1; }
}
# client ADDRESS OPTION...
client() {
	timeout 60 env TCPX_DEBUG=INFO $with "$tool" lab exec --name "$lab" h0 "$tool" perf "$@" \
		--json "$json" >"$scratch/perf" 2>&1
	code=$?
	cat "$scratch/perf"
	return $code
}
# sent NIC...: bytes that these of h0 have sent and received
sent() {
	on h0 awk -v nics=" $* " 'sub(":", "", $1) && index(nics, " " $1 " ") { n += $2 + $10 }
		END { printf "%.0f\n", n }' /proc/net/dev
}
# Less than one chunk of data crossed eth0 since $before, and the four others had all of it.
by_four() {
	after=$(sent eth0)
	[ $((after - before)) -gt 0 ] && [ $((after - before)) -lt 65536 ] ||
		{ echo "$((after - before)) bytes on eth0"; return 1; }
	right "$json" "{n['nic'] for n in rows[0]['per_nic'] if n['bytes'] > 0} == {'eth1', 'eth2', 'eth3', 'eth4'}"
}
by_eth0() {
	before=$(sent eth0)
	client 10.77.0.2 -b 4M -e 4M -n 8 "$@" && by_four
}

serves --nics "$data" --ctrl eth0
ok "a client comes by the address of eth0, data goes by the others" by_eth0 --nics "$data" --ctrl eth0
ok "one that has eth0 for data, too" by_eth0 --ctrl eth0
ok "by a data NIC's address" client 10.77.2.2 -b 4M -e 4M -n 8 --nics "$data"
with="NCCL_GPUDIRECTTCPX_SOCKET_IFNAME=$data NCCL_GPUDIRECTTCPX_CTRL_DEV=eth0"
ok "a server by the variables of NCCL's plugin" serves
ok "and its client" by_eth0
with="TCPX_CTRL=10.77.0.2 TCPX_NICS=$data"
ok "a server by an address for control" serves
with="TCPX_CTRL=eth0 TCPX_NICS=$data"
ok "and its client" by_eth0

at_work() {
	[ "$(sent eth1 eth2 eth3 eth4)" -gt $mark ]
}
# cut HOST OPTION...: eth0 of HOST goes down while data move, which takes 3 s at the rate of the NICs
cut() {
	host=$1
	shift
	mark=$(($(sent eth1 eth2 eth3 eth4) + 25000000))
	client 10.77.0.2 -b 4M -e 4M -n 100 "$@" >"$scratch/cut" 2>&1 &
	run=$!
	within 60 at_work || { cat "$scratch/perf"; return 1; }
	on "$host" python3 "$here/link.py" eth0 down
	wait $run
	code=$?
	on "$host" python3 "$here/link.py" eth0 up
	within 60 link_runs eth0 || return 1 # else the next client finds no eth0
	cat "$scratch/cut"
	[ $code = 0 ] && grep -q "control stream with .* resumed" "$scratch/perf" &&
		right "$json" "not rows[0]['degraded']"
}
ok "the server's control NIC dies: the session goes on by a data NIC" cut h1
ok "the client's dies" cut h0
ok "and with reads" cut h1 --op read --dir bi

one() {
	[ "$(grep -c "eth0 is the control NIC (TCPX_CTRL): no data goes over it" "$scratch/perf")" = 1 ]
}
ok "a control NIC that is named for data, too" by_eth0 --nics "eth0,$data"
ok "is told once" one
with=
ok "a control NIC that is not there" says 'TCPX_CTRL "eth9": no interface, and no address of one, is called so' \
	client 10.77.0.2 --ctrl eth9
ok "is an error" exits 2 client 10.77.0.2 --ctrl eth9
ok "the only NIC" says 'TCPX_CTRL "eth0": a control NIC carries no data, and there is no other' \
	client 10.77.0.2 --ctrl eth0 --nics eth0
with="NCCL_GPUDIRECTTCPX_CTRL_DEV=eth9 TCPX_NICS=$data"
ok "one that NCCL's variable names is a warning" says \
	'NCCL_GPUDIRECTTCPX_CTRL_DEV "eth9" is not used: no interface' \
	client 10.77.1.2 -b 1M -e 1M -n 1
with=TCPX_CTRL=eth0
only="offers only loopback addresses, those of another host (or network namespace): name a NIC"
ok "a server whose data NIC is its own loopback" serves --nics lo
ok "is refused by name" says "the peer $only there" client 10.77.0.2
ok "also by a client that has lo" says "both sides offer only loopback addresses" \
	client 10.77.0.2 --nics lo
ok "and the server is told what to do" within 60 grep -q "this side $only here" "$scratch/serve"
ok "info shows it" says "control arrives at eth0, too (environment)" \
	env TCPX_CTRL=eth0 "$tool" lab exec --name "$lab" h0 "$tool" info
done_testing
