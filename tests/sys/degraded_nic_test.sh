#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One NIC of four is unreachable: the session opens over the others with a warning, and every
# byte is right.
here=$(dirname "$0")
. "$here/tap.sh"

lab_up
serve_on h1
json=$scratch/result.json

client() {
	timeout 60 "$tool" lab exec --name "$lab" h0 "$tool" perf 10.77.0.2 -b 16M -n 4 --json "$json"
}

ok "with all four" client
ok "it is whole" result "$json" "not rows[0]['degraded']"
# The client cannot see that, unlike a link that goes down.
ok "a NIC of the server loses its address" on h1 python3 "$here/link.py" eth2 10.99.0.1
ok "with three" says "eth2" client
ok "every byte is right" right "$json"
ok "the result says that it was degraded" result "$json" "rows[0]['degraded']"
ok "three NICs carried it" result "$json" \
	"{n['nic'] for n in rows[0]['per_nic'] if n['bytes'] > 0} == {'eth0', 'eth1', 'eth3'}"
done_testing
