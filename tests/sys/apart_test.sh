#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# NICs whose subnets do not say which belong together, as each has a /32 of its own behind a gateway, like those of
# Google's A3 machines: four networks that do not meet, and a fifth for control. One host has all; of the others
# four have lost one each, one has names that mislead, one gives them in another order.
here=$(dirname "$0")
. "$here/tap.sh"
need_root
command -v ip >/dev/null || skip_all "needs ip, of iproute2"
ip netns add "$lab-h0" 2>"$scratch/out" || skip_all "no network namespaces here: $(cat "$scratch/out")"

away() {
	for pid in $jobs_started; do
		kill -9 "$pid" 2>/dev/null
	done
	ip netns list | awk -v lab="$lab-" 'index($1, lab) == 1 { print $1 }' | while read -r name; do
		ip netns del "$name"
	done
	rm -rf "$scratch"
}
trap away EXIT

inside() {
	at=$lab-$1
	shift
	ip netns exec "$at" "$@"
}

# cable NUMBER NIC NET: a NIC of host NUMBER, 10.NET.NUMBER.2/32, and its gateway, 10.NET.NUMBER.1. No host has a
# route from one network to another.
cable() {
	echo "link add $2 netns $lab-h$1 type veth peer name h$1r$3 netns $lab-r" >>"$scratch/links"
	cat >>"$scratch/h$1" <<-END
		addr add 10.$3.$1.2/32 dev $2
		link set $2 up
		route add 10.$3.$1.1 dev $2
		route add 10.$3.0.0/16 via 10.$3.$1.1 dev $2
	END
	cat >>"$scratch/r" <<-END
		addr add 10.$3.$1.1/32 dev h$1r$3
		link set h$1r$3 up
		route add 10.$3.$1.2 dev h$1r$3
	END
}

# host NUMBER NET...: eth1 to eth4 lead to these.
host() {
	number=$1
	shift
	echo "link set lo up" >"$scratch/h$number"
	cable "$number" eth0 0
	k=0
	for net; do
		k=$((k + 1))
		cable "$number" "eth$k" "$net"
	done
}

for n in 1 2 3 4 5 6; do
	ip netns add "$lab-h$n"
done
ip netns add "$lab-r"
inside r sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
for n in 0 1 2 3 4 6; do
	host "$n" 1 2 3 4
done
host 5 2 3 4 1
ip -b "$scratch/links"
for n in r h0 h1 h2 h3 h4 h5 h6; do
	ip -n "$lab-$n" -b "$scratch/$n" || exit 1
done
for n in 1 2 3 4; do
	ip -n "$lab-h$n" link set "eth$n" down
done

# The tool and a server on each host but the first; then a client for each, all at once.
export TCPX_CTRL=eth0 TCPX_CHANNELS=8
listens_at() {
	inside "$1" grep -q ':6F63 .* 0A ' /proc/net/tcp /proc/net/tcp6
}
for n in 1 2 3 4 5 6; do
	order=eth1,eth2,eth3,eth4
	[ "$n" != 6 ] || order=eth3,eth1,eth4,eth2
	[ "$n" -ge 5 ] || order=$(echo $order | sed "s/eth$n//; s/,,/,/; s/^,//; s/,\$//")
	start "$scratch/serve$n" env TCPX_NICS="$order" ip netns exec "$lab-h$n" "$tool" serve
done
for n in 1 2 3 4 5 6; do
	within 60 listens_at "h$n" || { cat "$scratch/serve$n"; exit 1; }
done
clients=
for n in 1 2 3 4 5 6; do
	start "$scratch/perf$n" env TCPX_NICS=eth1,eth2,eth3,eth4 ip netns exec "$lab-h0" "$tool" perf \
		"10.0.$n.2" -b 4M -e 4M -n 8 -w 1 --json "$scratch/json$n"
	clients="$clients $started"
done
for client in $clients; do
	wait "$client"
done

# carried NUMBER CHANNELS NIC...: the run to that host went by these NICs, with so many channels.
carried() {
	cat "$scratch/perf$1"
	grep -q "^# $2 channels: " "$scratch/perf$1" || return 1
	json=$scratch/json$1
	shift 2
	right "$json" "{n['nic'] for n in rows[0]['per_nic'] if n['bytes'] > 0} == set('$*'.split())"
}
ok "without the first NIC of the peer" carried 1 6 eth2 eth3 eth4
ok "without the second" carried 2 6 eth1 eth3 eth4
ok "without the third" carried 3 6 eth1 eth2 eth4
ok "without the fourth" carried 4 6 eth1 eth2 eth3
ok "with names that mislead" carried 5 8 eth1 eth2 eth3 eth4
ok "with names in another order" carried 6 8 eth1 eth2 eth3 eth4
ok "what is missing is named with all that was tried" \
	grep -qE "on NIC eth2 could not connect \(to eth[134] 10[.0-9:]+: no answer" "$scratch/perf2"
done_testing
