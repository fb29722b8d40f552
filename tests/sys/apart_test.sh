#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A session over each NIC that has a network in common with the peer, whatever the names and their order.
here=$(dirname "$0")
. "$here/tap.sh"
. "$here/apart.sh"

# The tool and a server on each host but the first; then a client for each, all at once.
export TCPX_CHANNELS=8
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

ok "without the first NIC of the peer" reached 1 6 eth2 eth3 eth4
ok "without the second" reached 2 6 eth1 eth3 eth4
ok "without the third" reached 3 6 eth1 eth2 eth4
ok "without the fourth" reached 4 6 eth1 eth2 eth3
ok "with names that mislead" reached 5 8 eth1 eth2 eth3 eth4
ok "with names in another order" reached 6 8 eth1 eth2 eth3 eth4
ok "what is missing is named with all that was tried" \
	grep -qE "on NIC eth2 could not connect \(to eth[134] 10[.0-9:]+: no answer" "$scratch/perf2"
done_testing
