#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Chaos with 8 processes; the seed is recorded.
# Usage: chaos.sh PROGRAM SECONDS [SEED]
export TSAN_OPTIONS="${TSAN_OPTIONS:-halt_on_error=1 second_deadlock_stack=1}" # a report ends its process
seed=${3:-$(date +%s)}
scratch=$(mktemp -d) || exit
trap 'rm -rf "$scratch"' EXIT
"$1" --processes 8 --duration "$2" --seed "$seed" --name "chaos$$" >"$scratch/log" 2>&1
code=$?
sed 's/^/# /' "$scratch/log"
if [ $code = 3 ]; then
	echo "1..0 # SKIP needs root and network namespaces"
	exit 77
fi
exit $code
