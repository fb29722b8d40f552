#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The long acceptance of the library over the software plugin: sizes, channels, roles and modes, each
# fault by its name, every GPU. A table on stdout; exit code 1 if anything is not as it must be: the
# result, a fault that did not happen, a process that a signal ended.
set -u

usage() {
	cat <<'END'
usage: acceptance.sh [OPTIONS] [BUILD]

Runs `tcpx perf --self` of the folder BUILD (build) over the TCPX emulator, strict and faithful, with
memory of GPUs in software and of the host, compares every byte, and prints a table. Takes some minutes.

options
  -n, --iters N     timed transfers of a run of the first part (20)
  -s, --size SIZE   of a transfer there (64M)
  -o, --only PART   matrix, harmless, fatal or gpus
  -h, --help        this text

exit code: 0 all as it must be, 1 something is not, 2 usage
END
}

bad_use() {
	echo "acceptance.sh: $1; see --help" >&2
	exit 2
}

iters=20 size=64M only=all build=build
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help)
		usage
		exit 0
		;;
	-n | --iters | -s | --size | -o | --only)
		[ $# -ge 2 ] || bad_use "$1: a value is missing"
		case $1 in
		-n | --iters) iters=$2 ;;
		-s | --size) size=$2 ;;
		*) only=$2 ;;
		esac
		shift
		;;
	-*) bad_use "'$1' is no option" ;;
	*) build=$1 ;;
	esac
	shift
done
case $only in
all | matrix | harmless | fatal | gpus) ;;
*) bad_use "--only $only: matrix, harmless, fatal or gpus" ;;
esac
for file in tcpx emu/libnccl-net-tcpx-emu.so tests/fake/libcuda_fake.so; do
	[ -e "$build/$file" ] || bad_use "$build/$file is not there"
done
build=$(cd "$build" && pwd)
out=$(mktemp)
trap 'rm -f "$out"' EXIT

export TCPX_PROVIDER=tcpx TCPX_DEBUG=WARN TCPX_PLUGIN_PATH="$build/emu/libnccl-net-tcpx-emu.so"
export NCCL_DYNAMIC_CHUNK_SIZE=524288 NCCL_NSOCKS_PERTHREAD=4
unset TCPX_EMU_MODE TCPX_RELAY
nics=127.0.1.1,127.0.2.1
failures=0 runs=0

# use MODE MEMORY: the emulator's mode; GPUs in software (gpu), a NIC each, or memory of the host
use() {
	mode=$1 memory=$2
	export TCPX_EMU_MODE="$mode" TCPX_CUDA_LIBRARY=none
	export TCPX_EMU_NICS="127.0.1.1=127.0.1.1;127.0.2.1=127.0.2.1"
	unset TCPX_MAP
	pair="--mem host --peer-mem host"
	[ "$memory" = gpu ] || return 0
	export TCPX_CUDA_LIBRARY="$build/tests/fake/libcuda_fake.so"
	export TCPX_EMU_NICS="127.0.1.1=127.0.1.1,gpus=0;127.0.2.1=127.0.2.1,gpus=1"
	export TCPX_MAP="gpu0=127.0.1.1;gpu1=127.0.2.1"
	pair="--mem cuda:0 --peer-mem cuda:0"
}

# A fault that cannot happen: a process that ends by itself says so, one that a signal ends does not.
witness="setup-nulls:comm=4242"
export TCPX_EMU_FAULT="$witness"

# unfired FAULT: how many processes say that it never happened
unfired() {
	grep -cF "\"$1\" never happened" "$out"
}

# fair FAULTS ENDS: each has happened in one of the two processes, and so many have ended by themselves
fair() {
	[ "$(unfired "$witness")" = "$2" ] || { echo "a signal has ended a process" >>"$out"; return 1; }
	(
		IFS=';'
		for one in $1; do
			[ "$(unfired "$one")" -lt 2 ] || { echo "$one has not happened" >>"$out"; exit 1; }
		done
	)
}

# row NAME CODE TEXT OPTIONS...: a measurement ends with CODE and says TEXT (extended expressions)
faults='' ends=2
row() {
	name=$1 want=$2 text=$3
	shift 3
	runs=$((runs + 1))
	begun=$(date +%s)
	timeout 300 "$build/tcpx" perf --self --nics "$nics" --peer-nics "$nics" "$@" >"$out" 2>&1
	code=$?
	took=$(($(date +%s) - begun))
	if printf '%s' "$code" | grep -qxE "$want" && grep -qE -- "$text" "$out" && fair "$faults" "$ends"; then
		verdict=ok
	else
		verdict=FAILED
		failures=$((failures + 1))
	fi
	ended=$(grep -E "^# Verified|^# .* wrong|^tcpx perf: [A-Za-z]* at|^tcpx perf: no session" "$out" | tail -1)
	printf '| %-52s | %-6s | %4s | %3s s | %s |\n' "$name" "$verdict" "$code" "$took" \
		"$(printf '%.60s' "${ended#\# }")"
	[ $verdict = ok ] || sed 's/^/    /' "$out" | tail -n 20
}

head_row() {
	printf '\n%s\n\n| %-52s | %-6s | code | time  | how it ended |\n|---|---|---:|---:|---|\n' "$1" run result
}

part() {
	[ "$only" = all ] || [ "$only" = "$1" ]
}
well="Verified: all"

if part matrix; then
	head_row "$iters transfers of $size, over both NICs"
	for how in "strict gpu" "faithful gpu" "strict host" "faithful host"; do
		# shellcheck disable=SC2086 # two words
		use $how
		for op in write read; do
			for channels in 1 2 4 8; do
				# shellcheck disable=SC2086 # options
				row "$how, $op, $channels channels" 0 "$well" $pair --op $op \
					--channels $channels -b "$size" -e "$size" -n "$iters"
			done
		done
	done
fi

# fault FAULT CODE TEXT [OPTION...]
fault() {
	faults=$1 want=$2 text=$3
	TCPX_EMU_FAULT="$faults;$witness"
	case $faults in
	kill*) ends=1 ;;
	esac
	shift 3
	# shellcheck disable=SC2086 # options
	row "$how, $faults${*:+, $*}" "$want" "$text" $pair --channels 4 -b 4M -e 4M -n 4 "$@"
	TCPX_EMU_FAULT=$witness faults='' ends=2
}

# harmless: each of them changes nothing. The order of a message's chunks is none of them: one of this
# library's has one.
harmless() {
	for f in setup-nulls:n=20 setup-delay:ms=500 connect-refused:n=3 early-comm rule-late frag-size:n=256 \
		frag-odd-even frag-large frag-align frag-count:n=2047 socket-delay:socket=0,ms=50 \
		socket-delay:socket=3,ms=50 test-late:n=50 ack-delay:ms=80; do
		for op in write read; do
			fault $f 0 "$well" --op $op
		done
	done
}

if part harmless; then
	head_row "Faults that may change nothing"
	for how in "strict gpu" "faithful gpu" "strict host" "faithful host"; do
		# shellcheck disable=SC2086 # two words
		use $how
		harmless
	done
fi

# fatal: each of them costs something
fatal() {
	none="none of 4 channels could connect"
	for f in connect-error accept-error rules-exhausted; do
		fault $f 1 "$none"
		fault $f:comm=0 0 "3 of 4 channels"
	done
	for f in ctrl-close data-close half-open; do
		for role in send recv; do
			fault "$f:comm=0,req=3,role=$role" 0 "is lost"
		done
		# every channel's, and every one's that is opened after it: all arrives, or an error says why not
		fault "$f:req=3" "0|1" "is lost|no progress within the stall deadline" -n 1
	done
	fault "false-done:comm=0,req=3" 0 "is lost"
	for f in size-larger size-smaller size-zero; do
		# strict mode ends a receiver to which more comes than it has posted
		[ "$mode.$f" != strict.size-larger ] || continue
		fault $f:comm=0,req=3 0 "is lost"
		fault $f:req=3 0 "is lost" -n 1
	done
	fault flip-byte 1 "were wrong"
	fault "frag-size:n=512;swap-fragments" 1 "were wrong"
	for f in no-cmsg:req=3 wrong-nic frag-count:n=2048 frag-count:n=2049 kill:req=3,role=recv; do
		fault $f 1 "peer has gone"
	done
}

if part fatal; then
	head_row "Faults that cost something, TCPX_STALL_MS=6000"
	export TCPX_STALL_MS=6000
	for how in "strict gpu" "faithful gpu" "faithful host"; do
		# shellcheck disable=SC2086 # two words
		use $how
		fatal
	done
	unset TCPX_STALL_MS
fi

if part gpus; then
	head_row "8 GPUs and 4 NICs; relays on and off, strict"
	use strict gpu
	export FAKECUDA_DEVICES=8
	nics=127.0.1.1,127.0.2.1,127.0.3.1,127.0.4.1
	TCPX_EMU_NICS='' TCPX_MAP=''
	for k in 1 2 3 4; do
		a=$((2 * k - 2)) b=$((2 * k - 1))
		TCPX_EMU_NICS="$TCPX_EMU_NICS${TCPX_EMU_NICS:+;}127.0.$k.1=127.0.$k.1,gpus=$a+$b"
		TCPX_MAP="$TCPX_MAP${TCPX_MAP:+;}gpu$a=127.0.$k.1;gpu$b=127.0.$k.1"
	done
	for gpu in 0 1 2 3 4 5 6 7; do
		for relay in auto off; do
			export TCPX_RELAY=$relay
			row "GPU $gpu, relays $relay" 0 "$well" --mem cuda:$gpu --peer-mem cuda:$gpu \
				--channels 8 -b 4M -e 4M -n 4
		done
	done
	export TCPX_RELAY=auto
	row "host to GPU 3" 0 "$well" --mem host --peer-mem cuda:3 --channels 8 -b 4M -e 4M -n 4
	row "GPU 3 to host, read" 0 "$well" --mem cuda:3 --peer-mem host --op read --channels 8 -b 4M -e 4M -n 4
	row "GPUs 0 to 7 of one process" 0 "$well" --mem cuda:0-7 --peer-mem cuda:0-7 --channels 8 -b 8M -e 8M -n 4
fi

echo
if [ $failures = 0 ]; then
	echo "All $runs as it must be."
else
	echo "$failures of $runs not as they must be."
	exit 1
fi
