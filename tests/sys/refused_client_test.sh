#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A server for one client does not wait for ever for one that was refused: by the engine, for want
# of the secret, or by the server, for its label. It ends when no other has come for a while.
. "$(dirname "$0")/tap.sh"
export TCPX_NICS=127.0.0.1 TCPX_PROVIDER=sock

printf '0123456789abcdef0123456789abcdef\n' >"$scratch/key"
chmod 600 "$scratch/key"

# serving NAME COMMAND...: in the background; its port, once it listens, in $port
serving() {
	log=$scratch/$1
	shift
	start "$log" "$@"
	server=$started
	within 60 grep -q '"ready","port":[0-9]' "$log" || { cat "$log"; return 1; }
	port=$(sed -n 's/.*"ready","port":\([0-9]*\).*/\1/p' "$log")
}
ended() {
	wait "$1"
	code=$?
	cat "$scratch/$2"
	[ $code = 1 ] && grep -q "no client to measure: one was refused, and no other came within 10 s" "$scratch/$2"
}
serve_secret() {
	serving secret env TCPX_SECRET_FILE="$scratch/key" "$tool" serve --once --port 0 --events -
}
ok "a server with a secret" serve_secret
by_engine=$server
ok "refuses a client without" exits 1 timeout 30 "$tool" perf "127.0.0.1:$port" -b 64K -n 1
ok "a server with a label" serving label "$tool" serve --once --port 0 --label ours --events -
by_label=$server
ok "refuses a client with another" exits 1 timeout 30 "$tool" perf "127.0.0.1:$port" -b 64K -n 1 \
	--label theirs
ok "the first ends" ended "$by_engine" secret
ok "and the second" ended "$by_label" label
done_testing
