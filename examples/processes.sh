#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each PROGRAM while nobody takes its connections: it ends with the cause, and gives back all the same.
# For hello_write first its two sides as two processes. Usage: processes.sh PROGRAM...
dir=$(mktemp -d) || exit
trap 'rm -rf "$dir"' EXIT
export TCPX_STATS="$dir/stats" # an engine has a socket here until it is closed
count=0

# ok NAME COMMAND...: one test point; what the command printed shows when it fails.
ok() {
	name=$1
	shift
	count=$((count + 1))
	if "$@" >"$dir/out" 2>&1; then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		sed 's/^/# /' "$dir/out"
	fi
}
all_closed() {
	[ -z "$(find "$TCPX_STATS" -type s)" ] || { echo "an engine has not been closed"; return 1; }
}
received() {
	wait "$receiver"
	code=$?
	cat "$dir/said"
	all_closed && return $code
}
# fails_for CAUSE COMMAND...: the last line has the cause; a sanitizer's report would be behind it.
fails_for() {
	cause=$1
	shift
	"$@" >"$dir/said" 2>&1
	code=$?
	cat "$dir/said"
	[ "$code" = 1 ] && tail -n 1 "$dir/said" | grep -qF "$cause" && all_closed
}
two_sides() {
	"$1" receive "$dir/invitation" >"$dir/said" 2>&1 &
	receiver=$!
	while [ ! -e "$dir/invitation" ] && kill -0 "$receiver" 2>/dev/null; do
		sleep 0.02
	done
	ok "sent" "$1" send "$dir/invitation"
	ok "received" received
	ok "nobody listens any more" fails_for "connection refused" \
		env TCPX_CONNECT_MS=300 "$1" send "$dir/invitation"
}

for program; do
	[ "${program##*/}" != hello_write ] || two_sides "$program"
	ok "${program##*/}: the peer closes its connections" fails_for "closed before HELLO" \
		env TCPX_CONNECT_MS=300 TCPX_ALLOW=192.0.2.0/24 "$program"
done
echo "1..$count"
