#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 200 clients that are not meant, at the servers of the older benchmark's programs: none ends a
# server, and the right client that comes then is measured. And what `tcpx serve --once` does
# with a second client, and without any.
. "$(dirname "$0")/tap.sh"

here=$(dirname "$0")
bin=$(dirname "$tool")/compat
export TCPX_NICS=127.0.0.1 TCPX_PROVIDER=sock UCCL_TCPX_HOST_RECV_DEBUG=1 TCPX_DEBUG=NONE
unset UCCL_TCPX_PERF_SIZE UCCL_TCPX_PERF_ITERS

python3 "$here/strays.py" hello "$scratch/hello" "$tool" perf -b 1M -n 1 || exit 1

# serving LOG COMMAND...: in the background; its port, once it listens, in $port
serving() {
	log=$1
	shift
	start "$log" "$@"
	server=$started
	within 60 grep -qE 'Listening on port [0-9]|"ready","port":[0-9]+[,}]' "$log" || { cat "$log"; return 1; }
	port=$(sed -n 's/.*Listening on port \([0-9]*\).*/\1/p; s/.*"ready","port":\([0-9]*\).*/\1/p' "$log")
}
program_serves() {
	for _ in 1 2 3; do # somebody may be faster
		serving "$scratch/server" "$bin/$1" --port="$(free_port)" server 0 && return
	done
	return 1
}
running() {
	kill -0 "$server" 2>/dev/null && ! grep -qE "FAILED|PASSED" "$scratch/server"
}
# turned_away COMMAND...: it ends with an error, and the server says why
turned_away() {
	exits 1 timeout 60 "$@" || return
	running
}

# has_refused TIMES LABEL: a client may end before the server's line is in its file
has_refused() {
	[ "$(grep -c "^\[Bootstrap\] Refused .*this server is for clients with --label '$2'" \
		"$scratch/server")" = "$1" ]
}

seed=1
# survives PROGRAM OTHER: 197 that are no clients, 3 that are others'
survives() {
	program_serves "$1" || return
	python3 "$here/strays.py" throw "127.0.0.1:$port" "$scratch/hello" 197 $seed || return
	seed=$((seed + 1))
	running || { cat "$scratch/server"; return 1; }
	turned_away "$bin/$2" --port="$port" client 127.0.0.1 0 &&
		turned_away "$tool" perf "127.0.0.1:$port" -b 64K -n 1 &&
		turned_away "$tool" perf "127.0.0.1:$port" -b 64K --lat --label another ||
		{ cat "$scratch/server"; return 1; }
	within 60 has_refused 3 "$1" || { cat "$scratch/server"; return 1; }
	timeout 60 "$bin/$1" --port="$port" client 127.0.0.1 0 || return
	wait "$server" || { cat "$scratch/server"; return 1; }
	grep -q "PASSED: every byte compared" "$scratch/server"
}
ok "200 at test_tcpx_perf" survives test_tcpx_perf test_tcpx_transfer
ok "200 at test_tcpx_perf_multi" survives test_tcpx_perf_multi test_multi_channel
ok "200 at test_multi_channel" survives test_multi_channel test_tcpx_perf_multi
ok "200 at test_tcpx_transfer" survives test_tcpx_transfer test_tcpx_transfer_multi
ok "200 at test_tcpx_transfer_multi" survives test_tcpx_transfer_multi test_tcpx_transfer

# A client that waits before its timed run until tell() says "go" or "kill".
waiting() {
	rm -f "$scratch/gate"
	mkfifo "$scratch/gate"
	start "$scratch/first" sh -c 'exec python3 "$@" <"$0"' "$scratch/gate" "$here/strays.py" gate \
		"$tool" perf "127.0.0.1:$port" -b 64K -n 1
	first=$started
	exec 7>"$scratch/gate"
	within 60 grep -q "at the gate" "$scratch/first" || { cat "$scratch/first"; return 1; }
}
tell() {
	echo "$1" >&7
	exec 7>&-
}
second() {
	serving "$scratch/server" "$tool" serve --once --port 0 --events - && waiting || return
	says "measures one client, and another has come before" timeout 60 "$tool" perf \
		"127.0.0.1:$port" -b 64K -n 1 || return
	tell go
	wait "$first" && wait "$server"
}
ok "a second client at a server that is busy is turned away" second
lost() {
	serving "$scratch/server" "$tool" serve --once --port 0 --events - && waiting || return
	tell kill
	wait "$server"
	[ $? = 1 ]
}
ok "a client that is lost ends it with 1" lost
ok "and so does none at all" exits 1 "$tool" serve --once --wait 1 --port 0
ok "which it says" says "no client to measure within 1 s" "$tool" serve --once --wait 1 --port 0
done_testing
