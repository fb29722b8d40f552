#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lab_perf.sh OPTIONS... - tcpx perf from host h0 of lab $LAB to tcpx serve on h1, with the
# prefixes $CLIENT_ON and $SERVER_ON (as "taskset -c 0"), at priority $NICE. The result goes to
# $MATRIX_OUT.
said=$MATRIX_DIR/raw/serve.out
: >"$said"
# shellcheck disable=SC2086 # prefixes are several words, or none
"$TCPX" lab exec --name "$LAB" h1 nice -n "${NICE:-0}" $SERVER_ON "$TCPX" serve --once >"$said" 2>&1 &
server=$!
tries=0
until grep -q ' port ' "$said"; do
	tries=$((tries + 1))
	if [ "$tries" -gt 500 ] || ! kill -0 "$server" 2>/dev/null; then
		cat "$said" >&2
		exit 1
	fi
	sleep 0.02
done
# shellcheck disable=SC2086
"$TCPX" lab exec --name "$LAB" h0 nice -n "${NICE:-0}" $CLIENT_ON "$TCPX" perf "$@" --json "$MATRIX_OUT" 10.77.0.2
code=$?
[ "$code" = 0 ] || kill "$server" 2>/dev/null
wait "$server"
exit "$code"
