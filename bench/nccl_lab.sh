#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An all-reduce's messages between two hosts of a lab, by our plugin for NCCL and by the sockets
# plugin: over NICs of RATE, RATE, RATE and RATE / 4, over four of RATE, over one. Needs root.
# Usage: nccl_lab.sh [RATE [ROUNDS [BYTES...]]]   RATE in Mbit/s (250), 64 MiB
set -eu
cd "$(dirname "$0")/.."
rate=${1:-250}
rounds=${2:-5}
[ $# -lt 2 ] || shift 2
lab=nccl$$
trap 'build/tcpx lab down --name "$lab" >/dev/null 2>&1' EXIT

# measure NICS RATES SUM: a row for each size
measure() {
	nics=$1 rates=$2 sum=$3
	shift 3
	build/tcpx lab up --name "$lab" --nics "$nics" --rate "$rates" >/dev/null
	for bytes in "${@:-67108864}"; do
		build/bench/nccl_net -r "$rounds" -s 0.1 -n "tcpx-$lab-h0,tcpx-$lab-h1" \
			build/src/nccl/libnccl-net-tcpx-p2p.so build/tests/nccl/libnccl_sockets.so \
			allreduce "$bytes" | awk -F'|' -v rates="$rates" -v sum="$sum" '
			/allreduce/ { printf "| %s | %s | %.1f | %.3f | %.1f | %.3f | %s | %s |\n", rates, $3 + 0,
				$3 * 8 / $4, $3 * 8 / $4 / sum, $3 * 8 / $5, $3 * 8 / $5 / sum, $6, $9 }
			/wrong/ { print; bad = 1 }
			END { exit bad }'
	done
	build/tcpx lab down --name "$lab" >/dev/null
}

echo "| NICs | bytes | ours, Mbit/s | of the sum | sockets, Mbit/s | of the sum | sockets / ours, time | CPU, ours / sockets |"
echo "|---|---:|---:|---:|---:|---:|---:|---:|"
measure 4 "${rate}M,${rate}M,${rate}M,$((rate / 4))M" $((rate * 3 + rate / 4)) "$@"
measure 4 "${rate}M" $((rate * 4)) "$@"
measure 1 "${rate}M" "$rate" "$@"
