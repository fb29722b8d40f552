#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each PROGRAM while nobody takes its connections: it ends with the cause, and gives back all the same.
# For hello_write first its two sides as two processes. $1...: the programs.
here=$(dirname "$0")
. "$here/tap.sh"

all_closed() {
	[ -z "$(find "$TCPX_STATS" -type s)" ] || { echo "an engine has not been closed"; return 1; }
}
received() {
	wait "$receiver"
	code=$?
	cat "$scratch/said"
	all_closed && return $code
}
# fails_for CAUSE COMMAND...: the last line has the cause; a sanitizer's report would be behind it.
fails_for() {
	cause=$1
	shift
	"$@" >"$scratch/said" 2>&1
	code=$?
	cat "$scratch/said"
	[ "$code" = 1 ] && tail -n 1 "$scratch/said" | grep -qF "$cause" && all_closed
}
two_sides() {
	"$1" receive "$scratch/invitation" >"$scratch/said" 2>&1 &
	receiver=$!
	while [ ! -e "$scratch/invitation" ] && kill -0 "$receiver" 2>/dev/null; do
		sleep 0.02
	done
	ok "sent" "$1" send "$scratch/invitation"
	ok "received" received
	ok "nobody listens any more" fails_for "connection refused" \
		env TCPX_CONNECT_MS=300 "$1" send "$scratch/invitation"
}

for program; do
	[ "${program##*/}" != hello_write ] || two_sides "$program"
	ok "${program##*/}: the peer closes its connections" fails_for "closed before HELLO" \
		env TCPX_CONNECT_MS=300 TCPX_ALLOW=192.0.2.0/24 "$program"
done
done_testing
