#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The connection of the control stream alone is swallowed, in either direction: the session resumes
# by another NIC, and what is under way is whole.
. "$(dirname "$0")/tap.sh"

lab_up --rate 250M
on h1 nft list ruleset >/dev/null 2>&1 || skip_all "no nft here"
serve_on h1
json=$scratch/result.json

# swallows HOOK RULE...: h1 drops what the rule names
swallows() {
	hook=$1
	shift
	on h1 nft add table inet t &&
		on h1 nft "add chain inet t c { type filter hook $hook priority 0; policy accept; }" &&
		on h1 nft add rule inet t c "$@" drop
}
at_work() {
	moved $mark
}
sent() {
	on h0 awk '/eth/ { n += $10 } END { printf "%.0f\n", n }' /proc/net/dev
}
# hole HOOK RULE...: data move for 3 s at the rate of the NICs
hole() {
	mark=$(($(sent) + 25000000))
	start "$scratch/perf" env TCPX_DEBUG=INFO timeout 60 "$tool" lab exec --name "$lab" h0 \
		"$tool" perf 10.77.0.2 -b 4M -e 4M -n 100 --json "$json"
	within 60 at_work && swallows "$@"
	wait "$started"
	code=$?
	on h1 nft delete table inet t
	cat "$scratch/perf"
	[ $code = 0 ] && grep -q "control stream with .* resumed" "$scratch/perf" &&
		right "$json" || return 1
	# an idle channel of that NIC may be given up with it: the NIC may be dead
	! grep "is lost" "$scratch/perf" | grep -v "on eth0 "
}
ok "what the client says is swallowed" hole input iifname eth0 tcp dport 28515
ok "what the server says is" hole output oifname eth0 tcp sport 28515
done_testing
