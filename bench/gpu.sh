#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The table of GPU figures, in less than ten minutes: bench/gpu.sh [OUT [OPTIONS of gpu.py]]
# writes OUT/gpu.md and OUT/gpu.json (docs/results). Needs two GPUs, their driver, NCCL,
# python3, and tcpx, nccl_p2p, unpack and kernels_test in build/ (or where --bin says).
set -u
here=$(dirname "$0")
out=${1:-$here/../docs/results}
[ $# -gt 0 ] && shift
command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=index,name,driver_version \
	--format=csv,noheader
exec timeout -k 10 580 python3 "$here/gpu.py" --out "$out" "$@"
