#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the tests for this machine: suites under ASan and UBSan, the threaded ones under
# TSan, the fuzz harnesses, a long simulation, and the suites `unit` and `shipped` of the build that
# is shipped; `shipped` has no part in the first. With --long also what takes longer: `shipped` with
# ASan, twenty-five times the seeds, a minute of each harness, the acceptance run over the emulator,
# planted bugs, and tests/long. Ends with one line of counts; exits 1 if anything failed. A build
# directory is made once and kept.
set -u
cd "$(dirname "$0")/.." || exit

long=
but="--no-suite shipped"
fuzz_seconds=3
sim_seeds=4000
sim_seconds=240
case ${1-} in
'') ;;
--long)
	long=1
	but=
	fuzz_seconds=60
	sim_seeds=100000
	sim_seconds=4500
	;;
*)
	echo "usage: check.sh [--long]" >&2
	exit 2
	;;
esac

sh scripts/setup.sh check || exit

steps=$(mktemp)
trap 'rm -f "$steps"' EXIT
began=$(date +%s)

# What is not a meson test is told in TAP, a failure followed by the file that tells more.
pass() {
	echo "ok - $1" >>"$steps"
}
fail() {
	printf 'not ok - %s\n# see %s\n' "$1" "$2" >>"$steps"
}
skip() {
	echo "ok - $1 # SKIP $2" >>"$steps"
}

say() {
	printf '\n== %s (%d s)\n' "$1" $(($(date +%s) - began))
}

# A shim in front of python3 starts dozens of processes each time, and many tests start it often.
python3=$(python3 -c 'import sys; print(sys.executable)')
[ "$python3" = "$(command -v python3)" ] || PATH="${python3%/*}:$PATH"

# The sanitizers' shadows collide with what a kernel with very random addresses maps.
fixed=
setarch -R true 2>/dev/null && fixed="setarch -R"
export TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1 ${TSAN_OPTIONS-}"

# configured NAME DIR ARGS...: DIR has been set up, now or before.
configured() {
	name=$1
	dir=$2
	shift 2
	[ ! -e "$dir/build.ninja" ] || return 0
	rm -rf "$dir"
	mkdir -p "$dir"
	if ! meson setup "$@" "$dir" >"$dir.log" 2>&1; then
		tail -20 "$dir.log"
		fail "set up $name" "$dir.log"
		return 1
	fi
	mv "$dir.log" "$dir/setup.log"
}

# compiled NAME DIR TARGETS...: they are up to date.
compiled() {
	name=$1
	dir=$2
	shift 2
	say "build $name"
	if ! ninja -C "$dir" "$@" >"$dir/check.log" 2>&1; then
		grep -A20 -m1 '^FAILED' "$dir/check.log" || tail -20 "$dir/check.log"
		fail "build $name" "$dir/check.log"
		return 1
	fi
}

# suites NAME DIR ARGS...: meson's own tests; what they did is in DIR/meson-logs/NAME.json.
suites() {
	name=$1
	dir=$2
	shift 2
	say "test $name"
	rm -f "$dir/meson-logs/$name.json"
	# Many tests wait for hosts of a lab: two for each CPU. That a machine is slow, or busy, is no
	# fault of the code.
	$fixed meson test -C "$dir" --logbase "$name" --no-stdsplit -t 4 \
		--num-processes $((2 * $(nproc))) "$@"
	[ -s "$dir/meson-logs/$name.json" ] ||
		fail "test $name ran nothing" "$dir/meson-logs/$name.txt"
}

# A share of the seeds for each CPU. A slow machine may leave out up to nine of ten.
simulate() {
	say "simulate $sim_seeds seeds"
	share=$(((sim_seeds + $(nproc) - 1) / $(nproc)))
	running=
	for first in $(seq 1 "$share" "$sim_seeds"); do
		build/tests/sim/sim --seconds "$sim_seconds" --seeds "$first..$((first + share - 1))" \
			>"build/sim-$first.log" 2>&1 &
		running="$running $!:$first"
	done
	for one in $running; do
		first=${one#*:}
		last=$((first + share - 1))
		if ! wait "${one%:*}"; then
			fail "sim, seeds $first to $last" "build/sim-$first.log"
			continue
		fi
		tail -2 "build/sim-$first.log"
		ran=$(sed -n 's/ worlds, .*//p' "build/sim-$first.log")
		if [ "$ran" -lt $((share / 10)) ]; then
			fail "sim, $ran of $share seeds within $sim_seconds s" "build/sim-$first.log"
			continue
		fi
		pass "sim, seeds $first to $((first + ran - 1))"
		[ "$ran" -eq "$share" ] ||
			skip "sim, seeds $((first + ran)) to $last" "no time within $sim_seconds s"
	done
}

# -g1: reports need line numbers and no more, which compiles in four fifths of the time. Undefined
# behaviour traps, and ASan shows where: the texts of UBSan make a program three times larger.
trap="-g1 -fsanitize-undefined-trap-on-error"
export ASAN_OPTIONS="handle_sigill=1:${ASAN_OPTIONS-}"
if configured asan build-asan -Db_sanitize=address,undefined -Db_lundef=false \
	-Doptimization=1 "-Dc_args=$trap" "-Dcpp_args=$trap" && compiled asan build-asan; then
	# shellcheck disable=SC2086 # two words or none
	suites asan build-asan $but
fi

# meson builds what these tests need, and nothing else
if configured tsan build-tsan -Db_sanitize=thread -Db_lundef=false -Doptimization=1 \
	-Dc_args=-g1; then
	suites tsan build-tsan --suite tsan
fi

has_fuzzer() {
	echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return d && n < 0; }' |
		clang -fsanitize=fuzzer -x c -o /dev/null - 2>/dev/null
}

if ! has_fuzzer; then
	skip fuzz "no clang here, or none with libFuzzer"
elif CC=clang CXX=clang++ configured fuzz build-fuzz -Dfuzz=true -Dtool=disabled \
	-Doptimization=1 -Db_lundef=false && compiled fuzz build-fuzz harnesses; then
	say fuzz
	$fixed sh tests/fuzz/run.sh build-fuzz "$fuzz_seconds" >build-fuzz/fuzz.tap 2>&1 ||
		grep -q '^not ok' build-fuzz/fuzz.tap || fail fuzz build-fuzz/fuzz.tap
	cat build-fuzz/fuzz.tap
	sed -n '/^ok/p; s/^not ok.*/&\n# see build-fuzz\/fuzz.tap/p' build-fuzz/fuzz.tap >>"$steps"
fi

# a build that is older than the test packages knows no tests yet
if [ -e build/build.ninja ] && [ ! -e build/tests ]; then
	meson setup --reconfigure build >build/setup.log 2>&1
fi
if configured plain build --libdir lib && compiled plain build product tests/sim/sim; then
	simulate
	# without a sanitizer, and optimised; what its files need and show is of no other build
	suites plain build --suite unit --suite shipped
fi

# meson warns of what a release that meson.build allows does not have.
newer=build/newer.log
grep -hs "uses feature" build-asan/meson-logs/meson-log.txt build-fuzz/meson-logs/meson-log.txt \
	build/meson-logs/meson-log.txt >"$newer"
if [ -s "$newer" ]; then
	fail "the oldest meson allowed has all that is used" "$newer"
else
	pass "the oldest meson allowed has all that is used"
fi

# longer NAME COMMAND...: exit code 77 is a skip, whose reason it prints; figures are shown.
longer() {
	name=$1
	shift
	say "$name"
	"$@" >"build/$name.log" 2>&1
	case $? in
	0)
		pass "$name"
		grep -E '^#|lines, ' "build/$name.log"
		;;
	77) skip "$name" "$(sed -n 's/.*# SKIP //p' "build/$name.log")" ;;
	*) fail "$name" "build/$name.log" ;;
	esac
}

# All of the product and what the acceptance run needs beside it.
if [ "$long" ] && [ -e build/build.ninja ] && compiled product build product \
	tests/fake/libcuda_fake.so tests/unit/seal/exit_test tests/deaths/deaths_test \
	tests/stranger/stranger_test; then
	longer acceptance sh scripts/acceptance.sh build
	longer stranger build/tests/stranger/stranger_test build/emu/libnccl-net-tcpx-emu.so 67108864 48
	longer exits build/tests/unit/seal/exit_test 1000
	nth() {
		name=$1 test=$2
		shift 2
		longer "nth-$name" env EMU_LIBRARY="$PWD/build-asan/emu/libnccl-net-tcpx-emu.so" \
			FAKECUDA_LIBRARY="$PWD/build-asan/tests/fake/libcuda_fake.so" \
			build-asan/tests/nth/nth_test "$test" all "$@"
	}
	nth over_tcp over_tcp
	nth with_a_secret with_a_secret
	for part in 0 1 2 3 4 5 6 7; do # what a plugin leaves over would add up
		nth "over_a_plugin-$part" over_a_plugin "$part/8"
	done
	longer deaths build/tests/deaths/deaths_test 1000
	longer deaths-asan build-asan/tests/deaths/deaths_test 1000
	# shellcheck disable=SC2086 # two words or none
	longer babble-asan $fixed build-asan/tests/sim/sim --babble \
		--seeds 1000..1000000000 --seconds 3600
	# shellcheck disable=SC2086
	longer live-asan $fixed build-asan/tests/sim/live \
		1000 1000000000 --seconds 1800
	longer soak sh tests/long/soak.sh build/tcpx
	longer networks python3 tests/long/networks.py build/tcpx
	longer chaos-asan sh tests/long/chaos.sh build-asan/tests/chaos/chaos 1800
	if compiled chaos-tsan build-tsan tests/chaos/chaos; then
		longer chaos-tsan setarch -R sh tests/long/chaos.sh build-tsan/tests/chaos/chaos 600
	fi
	if compiled crowd build tests/attack/crowd_test; then
		longer crowd env CROWD_LOAD="1000 10000 4000" build/tests/attack/crowd_test
	fi
	# with a C++ compiler
	if [ -e build/src/nixl/libplugin_TCPX.so ] && compiled nixl build tests/nixl/nixl_ends; then
		longer nixl-restarts build/tests/nixl/nixl_ends build/src/nixl/libplugin_TCPX.so restart 100
	fi
	longer nccl-aborts-asan build-asan/tests/nccl/nccl_player \
		build-asan/src/nccl/libnccl-net-tcpx-p2p.so ours 2 1000
	longer nccl-storm-asan build-asan/tests/nccl/nccl_storm \
		build-asan/src/nccl/libnccl-net-tcpx-p2p.so 2 200
	longer coverage sh tests/long/coverage.sh
	longer pages python3 tests/long/pages.py build/tcpx
	longer fresh sh tests/long/fresh.sh
	longer packages sh tests/long/packages.sh
	longer mutants python3 tests/mutants/mutants.py -j 2
fi

say result
python3 scripts/tally.py "$steps" build-asan/meson-logs/asan.json build-tsan/meson-logs/tsan.json \
	build/meson-logs/plain.json
