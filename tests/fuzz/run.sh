#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh DIR SECONDS - run every harness of build folder DIR for so long; prints TAP.
# Findings (crash-*, leak-*, timeout-*, oom-*) and logs are left in the folder it names.
dir=$1
seconds=$2
case $seconds in
'' | *[!0-9]*)
	echo "usage: $0 DIR SECONDS" >&2
	exit 2
	;;
esac
set -- "$dir"/fuzz_*
[ -x "$1" ] || set -- "$dir"/tests/fuzz/fuzz_*
if [ ! -x "$1" ]; then
	echo "no harness in $dir or $dir/tests/fuzz: configure with -Dfuzz=true and clang" >&2
	exit 2
fi

out=$(mktemp -d "${TMPDIR:-/tmp}/tcpx-fuzz.XXXXXX") || exit 2
echo "# findings and logs: $out"

# What it found, in OUT/NAME/result.
fuzz() {
	name=$(basename "$1")
	mkdir -p "$out/$name/corpus"
	if "$1" -max_total_time="$seconds" -max_len=20000 -timeout=10 -rss_limit_mb=1024 \
		-artifact_prefix="$out/$name/" -print_final_stats=1 "$out/$name/corpus" \
		>"$out/$name/log" 2>&1; then
		runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$out/$name/log")
		echo "ok - $name: $runs inputs" >"$out/$name/result"
	else
		{
			echo "not ok - $name"
			grep -E 'ERROR|SUMMARY|runtime error|Test unit written' "$out/$name/log" |
				sed 's/^/# /'
		} >"$out/$name/result"
	fi
}

# One for each CPU at a time.
cpus=$(nproc)
n=0
for harness in "$@"; do
	[ -f "$harness" ] && [ -x "$harness" ] || continue
	fuzz "$harness" &
	n=$((n + 1))
	[ $((n % cpus)) != 0 ] || wait
done
wait
cat "$out"/*/result
echo "1..$n"
! grep -q '^not ok' "$out"/*/result
