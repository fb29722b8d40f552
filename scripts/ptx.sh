#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles the GPU kernels to the PTX text that lies beside them. Needs clang with its nvptx
# target and nothing of the GPU vendor's; building needs neither.
# Usage: ptx.sh [DIRECTORY]     (default: the source tree; exit 77: no such clang here)
set -eu
cd "$(dirname "$0")/.."
out=${1:-.}

# Old enough for drivers since CUDA 11.4, and for every GPU since A100: newer ones compile
# it for themselves.
arch=sm_80
ptx=74

clang=${CLANG:-clang}
if ! "$clang" --print-targets 2>/dev/null | grep -q nvptx64; then
	echo "$clang has no nvptx target here" >&2
	exit 77
fi
version=$("$clang" -dumpversion)

# carry KERNELS: KERNELS_kernels.cu to KERNELS.ptx, without comments and empty lines.
carry() {
	source=src/$1_kernels.cu
	text=$("$clang" -x cuda -S --cuda-device-only --cuda-gpu-arch=$arch -nocudainc -nocudalib \
		-O3 -Xclang -target-feature -Xclang +ptx$ptx -Wno-unknown-cuda-version \
		-Wall -Wextra -Werror "$source" -o -)
	mkdir -p "$out/src/$(dirname "$1")"
	{
		cat <<-END
			// SPDX-License-Identifier: Apache-2.0
			// $(basename "$source") as PTX text. Made by scripts/ptx.sh; do not edit.
			// Compiler: clang ${version%%.*}. Checksum of the source: $(cksum <"$source").
		END
		printf '%s\n' "$text" | sed -e 's,[[:space:]]*//.*,,' -e '/^[[:space:]]*$/d'
	} >"$out/src/$1.ptx.new"
	mv "$out/src/$1.ptx.new" "$out/src/$1.ptx"
}

carry device/unpack
carry tool/gpu/pattern
