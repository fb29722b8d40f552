#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The copy kernels alone (bench/unpack), over a driver in software. Needs the program as $2.
. "$(dirname "$0")/tap.sh"

ok "every case is copied, also by the kernel for mixed fragments" says "tcpx_unpack_mixed" \
	env TCPX_CUDA_LIBRARY="$FAKECUDA_LIBRARY" "$2" --pairs 1 --json "$scratch/unpack.json"
ok "and what it does meanwhile" grep -q "6 of 6" "$scratch/said"
ok "no byte is wrong" result "$scratch/unpack.json" "len(rows) == 6 and not any(x['wrong'] for x in rows)"
done_testing
