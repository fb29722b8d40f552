#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# unruly.sh BUILD [SECONDS [KIND...]]: READs of 16 bytes in the lab, alone and beside a peer that puts frames of each
# kind by hand. Root. See bench/unruly.c.
set -eu
tcpx=$(realpath "$1/tcpx")
unruly=$(realpath "$1/bench/unruly")
seconds=${2-2}
if [ $# -gt 2 ]; then
	shift 2
else
	set -- tiny repeat pings notes sends lists
fi
lab=unruly$$
scratch=$(mktemp -d)
server=
finish() {
	[ -z "$server" ] || kill "$server" 2>/dev/null || :
	wait
	"$tcpx" lab down --name "$lab"
	rm -rf "$scratch"
}
on() {
	"$tcpx" lab exec --name "$lab" "$@"
}
"$tcpx" lab up --name "$lab" --hosts 3 --nics 1 --rate 1G >/dev/null
trap finish EXIT
trap 'exit 1' INT TERM
for kind in "$@"; do
	rm -f "$scratch/region"
	"$tcpx" lab exec --name "$lab" h1 "$unruly" serve "$scratch/region" >"$scratch/serve" &
	server=$!
	until [ -e "$scratch/region" ]; do
		kill -0 "$server"
		sleep 0.1
	done
	echo "$kind: alone:  $(on h0 "$unruly" read 10.77.0.2 "$scratch/region" "$seconds")"
	on h2 "$unruly" "$kind" 10.77.0.2 "$scratch/region" "$((seconds + 2))" >"$scratch/taker" &
	taker=$!
	sleep 1
	from=$(wc -l <"$scratch/serve")
	echo "$kind: beside: $(on h0 "$unruly" read 10.77.0.2 "$scratch/region" "$seconds")"
	to=$(wc -l <"$scratch/serve")
	wait "$taker" || :
	echo "$kind: $(cat "$scratch/taker")"
	sed -n "$((from + 1)),${to}p" "$scratch/serve" | awk -v kind="$kind" '
		$7 > kib { kib = $7 }
		$12 > us { us = $12 }
		{ sum += $12 }
		END { print kind ": server: longest turn " us " us, of 0.1 s " int(sum / NR) \
			" us; resident at most " kib " KiB" }'
	kill "$server"
	wait "$server" 2>/dev/null || :
	server=
done
