#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Another process has the listener's port: an error that names it, at once.
. "$(dirname "$0")/tap.sh"

start "$scratch/port" python3 -u -c '
import socket, time
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1])
time.sleep(60)'
ok "a port is taken" within 60 test -s "$scratch/port"
port=$(cat "$scratch/port")

serve() {
	timeout 10 "$tool" serve --nics 127.0.0.1 -p "127.0.0.1:$port"
}
fails() {
	serve
	got=$?
	echo "exit code $got"
	[ "$got" != 0 ] && [ "$got" -lt 124 ]
}
ok "serve ends with an error" fails
ok "that names the port" says "$port" serve
ok "and says why" says "in use" serve
ok "and who has it, in one line" says "127.0.0.1:$port: address in use (EADDRINUSE); it is held by process $started (" serve
ok "with its command" grep -q "python3 -u -c *import socket" "$scratch/said"
ok "which is all" test "$(grep -c . "$scratch/said")" = 1
done_testing
