#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# greedy.sh BUILD [SECONDS [RATE [REST]]]: a greedy peer in the lab, beside a bystander, with the server's NIC as the
# limit. Root. A line for each kind of greed; see bench/greedy.c.
set -eu
tcpx=$(realpath "$1/tcpx")
greedy=$(realpath "$1/bench/greedy")
lab=greedy$$
scratch=$(mktemp -d /dev/shm/greedy-XXXXXX)
state=$scratch/state
pids=
finish() {
	for pid in $pids; do
		kill "$pid" 2>/dev/null || :
	done
	wait
	"$tcpx" lab down --name "$lab"
	rm -rf "$scratch"
}
"$tcpx" lab up --name "$lab" --hosts 3 --nics 1 --rate "${3-1G}" >/dev/null
trap finish EXIT
trap 'exit 1' INT TERM
run() {
	host=$1
	shift
	"$tcpx" lab exec --name "$lab" "$host" "$greedy" "$state" "$@" &
	pids="$pids $!"
}
run h0 server
run h1 bulk 10.77.0.1
run h1 reader 10.77.0.1
for kind in lists notes opens reads; do
	run h2 $kind 10.77.0.1
done
"$greedy" "$state" judge "${2-5}" "${4-10}"
