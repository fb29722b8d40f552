#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles the embedded PTX for the GPUs that we know, where the vendor's compiler is there:
# the driver then has nothing to compile at start. Used by meson.
# Usage: fatbin.sh NVCC PTX OUTPUT.c
set -eu
nvcc=$1
ptx=$2
output=$3

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

"$nvcc" -fatbin -gencode arch=compute_80,code=sm_80 -gencode arch=compute_80,code=sm_90 \
	-o "$dir/unpack.fatbin" "$ptx"
{
	cat <<-END
		/* SPDX-License-Identifier: Apache-2.0 */
		/* The copy kernels compiled, and as text for every other GPU. Made by fatbin.sh. */
		#include "device/launch.h"

		static const _Alignas(16) unsigned char fatbin[] = {
	END
	od -An -v -tu1 -w16 "$dir/unpack.fatbin" | sed 's/  */,/g; s/^,/	/; s/$/,/'
	cat <<-END
		};

		const void *const tcpx_unpack_images[] = { fatbin, tcpx_unpack_ptx, NULL };
	END
} >"$output"
