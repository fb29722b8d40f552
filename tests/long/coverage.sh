#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How much of each room of src/ is executed by the tests that link it: unit tests, 300 seeds of the
# simulator, engines in one process, attacks, failing calls, deaths, the NCCL plugin's player. Lines
# that ran, lines there are, and their share. No threshold.
# Usage: coverage.sh [BUILD]     (build-cov, made here with -Db_coverage=true)
cd "$(dirname "$0")/../.." || exit
build=${1:-build-cov}
command -v gcov >/dev/null || { echo "1..0 # SKIP needs gcov"; exit 77; }
[ -e "$build/build.ninja" ] ||
	meson setup "$build" -Db_coverage=true -Doptimization=0 >/dev/null || exit 1
find "$build" -name '*.gcda' -delete
meson test -C "$build" --suite unit --suite sim -t 4 --quiet || exit 1
# shellcheck disable=SC2046 # a list of names
meson test -C "$build" -t 4 --quiet $(meson test -C "$build" --list 2>/dev/null |
	sed -n -E 's#.* / ((core|nth|attack|emu)\.[a-z_]+|tool\.[a-z]+_stats_test|deaths|threads|nccl-(any|ours|ends|readers|threads|tuner))$#\1#p') || exit 1

# An object of each file is in its room's library; files of no test count as not run.
objects=$(find "$build/src" -name '*.gcno')
[ "$objects" ] || { echo "no object of src/ has coverage in $build" >&2; exit 1; }
# shellcheck disable=SC2086 # a list of names
(cd "$build" && printf '%s\n' $objects | sed "s|^$build/||" | xargs gcov -n) 2>/dev/null | awk '
	/^File / {
		split($2, part, "/src/")
		room = part[2]
		sub(/\/[^\/]*$/, "", room)
		if (room !~ /^core\//)
			sub(/\/.*/, "", room)
		if ($2 !~ /\.c.$/)
			room = ""
	}
	/^Lines executed:/ && room != "" {
		split($2, share, ":")
		ran[room] += $4 * share[2] / 100
		all[room] += $4
		room = ""
	}
	END {
		for (room in all)
			printf "%-13s %6.0f of %6d lines, %5.1f %%\n", room, ran[room], all[room], 100 * ran[room] / all[room]
	}' | sort
