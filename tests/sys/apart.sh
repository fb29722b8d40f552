# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Hosts whose subnets do not say which NICs belong together, as each has a /32 of its own behind a gateway, like
# those of Google's A3 machines: four networks that do not meet, and a fifth for control. h0 has all; h1 to h4 have
# lost one each, h5 has names that mislead, h6 has all. Sourced after tap.sh.
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
export TCPX_CTRL=eth0
listens_at() {
	inside "$1" grep -q ':6F63 .* 0A ' /proc/net/tcp /proc/net/tcp6
}

# reached NUMBER CHANNELS NIC...: the run to that host went by these NICs, with so many channels.
reached() {
	cat "$scratch/perf$1"
	grep -q "^# $2 channels: " "$scratch/perf$1" || return 1
	json=$scratch/json$1
	shift 2
	right "$json" "{n['nic'] for n in rows[0]['per_nic'] if n['bytes'] > 0} == set('$*'.split())"
}
