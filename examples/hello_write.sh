#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The two sides of hello_write as two processes. Usage: hello_write.sh PROGRAM
dir=$(mktemp -d) || exit
trap 'rm -rf "$dir"' EXIT

"$1" receive "$dir/invitation" >"$dir/said" 2>&1 &
receiver=$!
while [ ! -e "$dir/invitation" ] && kill -0 "$receiver" 2>/dev/null; do
	sleep 0.02
done

echo "1..2"
if "$1" send "$dir/invitation"; then echo "ok 1 - sent"; else echo "not ok 1 - sent"; fi
if wait "$receiver"; then echo "ok 2 - received"; else echo "not ok 2 - received"; fi
sed 's/^/# /' "$dir/said"
