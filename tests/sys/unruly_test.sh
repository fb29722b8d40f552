#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A peer that knows the secret keeps none of a sender's rules: lists, sends and notes that are kept,
# and frames without end that cost more than they say. Others beside it are served, and what is kept has
# its limit. Counts alone: what it costs others in time is in docs/results/hostile.md.
here=$(dirname "$0")
. "$here/tap.sh"
unruly=$(realpath "$2")

lab_up --hosts 3 --nics 1 --rate 1G
region=$scratch/region
export TCPX_PEER_MEMORY=8M
head -c 48 /dev/urandom | base64 >"$scratch/secret"
chmod 600 "$scratch/secret"
if ldconfig -p | grep -q 'libssl\.so'; then
	export TCPX_SECRET_FILE="$scratch/secret"
fi

# guest HOST WHAT SECONDS
guest() {
	on "$1" "$unruly" "$2" 10.77.0.2 "$region" "$3"
}
last() {
	tail -n 2 "$scratch/serve" | head -n 1 # the last may be half a line
}
# nobody_is_left: and of what was kept, 1 MiB at most.
nobody_is_left() {
	last | awk '{ exit !($2 == 0 && $4 < 1024) }'
}
within_limits() {
	awk '$4 > most { most = $4 }
	END { print "at most " most " KiB were kept"; exit !(most > 0 && most < 3 * 9 * 1024) }' \
		"$scratch/serve"
}
refused_some() {
	last | awk '{ exit !($10 > 0) }'
}
# beside WHAT: somebody takes, two others work.
beside() {
	start "$scratch/taker" guest h2 "$1" 2.5
	taker=$started
	start "$scratch/bulk" guest h0 bulk 1.5
	guest h0 read 1.5 && wait "$started" && cat "$scratch/bulk" &&
		wait "$taker" && cat "$scratch/taker"
}

start "$scratch/serve" "$tool" lab exec --name "$lab" h1 "$unruly" serve "$region"
server=$started
within 60 test -e "$region" || { cat "$scratch/serve"; exit 1; }
ok "others are served beside lists, sends and frames without end" beside all
ok "much was refused" within 60 refused_some
ok "what it left is given back" within 60 nobody_is_left
ok "others are served beside notes that nobody takes" beside notes
ok "what was kept has its limit" within_limits
kill "$server"
ok "the server ends well" wait "$server"
done_testing
