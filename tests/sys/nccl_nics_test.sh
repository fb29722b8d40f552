#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# NICs that fail under the plugin for NCCL: one is silent from the start, a link goes down, packets are
# dropped in silence, an address vanishes, one has a tenth of its rate. NCCL sees nothing of it: no error, every byte right. $2: the plugin, $3: a process.
here=$(dirname "$0")
. "$here/tap.sh"
plugin=$(realpath "$2")
rank=$(realpath "$3")

command -v nft >/dev/null || skip_all "no nft"
command -v tc >/dev/null || skip_all "no tc"
lab_up --rate 250M
stop=$scratch/stop

iterations() {
	grep -s -c '^iteration' "$scratch/rank0"
}
more_than() {
	[ "$(iterations)" -gt "$1" ]
}
# goes_on: three more iterations end
goes_on() {
	within 60 more_than $(($(iterations) + 2))
}
# carries NIC: it has traffic again
carries() {
	within 60 at_work "$1" "$(sent "$1")"
}
link_down() { on h1 python3 "$here/link.py" "$1" down; }
link_up() { on h1 python3 "$here/link.py" "$1" up; }
hole_down() {
	on h1 nft -f - <<END
table inet hole {
	chain in { type filter hook input priority 0; iifname "$1" drop; }
	chain out { type filter hook output priority 0; oifname "$1" drop; }
}
END
}
hole_up() { on h1 nft delete table inet hole; }
address_down() { on h1 ip address flush dev "$1" scope global; }
address_up() { on h1 ip address add "$2/24" dev "$1"; }

# rate NIC MBIT: of both hosts
rate() {
	for host in h0 h1; do
		on $host tc qdisc change dev "$1" root tbf rate "$2mbit" burst 128k limit 512k || return
	done
}
# shares NIC: what it ($own) and the least of the others ($least) send in three iterations
shares() {
	for nic in eth0 eth1 eth2 eth3; do
		sent $nic >"$scratch/before-$nic"
	done
	goes_on || return
	own=$(($(sent "$1") - $(cat "$scratch/before-$1")))
	least=
	for nic in eth0 eth1 eth2 eth3; do
		bytes=$(($(sent $nic) - $(cat "$scratch/before-$nic")))
		if [ $nic != "$1" ] && [ "${least:-$bytes}" -ge $bytes ]; then
			least=$bytes
		fi
	done
	echo "$1 has sent $own bytes, each other one $least and more"
}
# a_share NIC: at least half of what another has; little: less than half, but some
a_share() { shares "$1" && [ $((own * 2)) -ge "$least" ]; }
little() { shares "$1" && [ "$own" -gt 0 ] && [ $((own * 2)) -lt "$least" ]; }
# soon COMMAND...: it is true at one of six looks
soon() {
	for _ in 1 2 3 4 5 6; do
		"$@" && return
	done
	return 1
}
# crawls NIC: with a tenth of its rate it carries little, and its share when the rate is back
crawls() {
	soon a_share "$1" && rate "$1" 25 && soon little "$1" && rate "$1" 250 && soon a_share "$1"
}

# survives KIND NIC [ADDRESS]: without it, and with it again
survives() {
	carries "$2" && "$1_down" "$2" && goes_on && "$1_up" "$2" "$3" && carries "$2" && return
	tail -n 5 "$scratch/rank0" "$scratch/rank1"
	return 1
}
ends_well() {
	: >"$stop"
	wait "$first" && wait "$second" && grep -x "all [0-9]* iterations right, the longest took [0-9]* ms" "$scratch/rank0"
	code=$?
	tail -n 3 "$scratch/rank0" "$scratch/rank1"
	return $code
}

hole_down eth0
start "$scratch/rank0" "$tool" lab exec --name "$lab" h0 "$rank" "$plugin" 0 "$scratch/meet" "$stop"
first=$started
start "$scratch/rank1" "$tool" lab exec --name "$lab" h1 "$rank" "$plugin" 1 "$scratch/meet" "$stop"
second=$started
ok "peers meet while the first NIC is silent" within 60 more_than 0
hole_up
ok "all four NICs carry messages" eval 'carries eth0 && carries eth1 && carries eth2 && carries eth3'
ok "a link goes down, and comes back" survives link eth2
ok "so does the one with the control stream" survives link eth0
ok "packets are dropped in silence, and pass again" survives hole eth1
ok "an address vanishes, and comes back" survives address eth3 10.77.3.2
ok "one has a tenth of its rate for a while" crawls eth1
ok "no error, every byte right" ends_well
sed -n '$s/^/# /p' "$scratch/rank0"
done_testing
