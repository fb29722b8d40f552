#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# GPUs, NICs and relays over the emulator and GPUs in software: which NIC carries which channels,
# and the terms that both sides must share.
here=$(dirname "$0")
. "$here/../sys/tap.sh"
. "$here/emu.sh"
export TCPX_EMU_MODE=strict

verified="Verified: all"
both_carry() {
	gpus "$@" && has "$verified" && carried 127.0.1.1 127.0.2.1
}
ok "a pair of GPUs over both NICs, one by a relay" both_carry --channels 4
ok "and reads" both_carry --channels 2 --op read
alone() {
	TCPX_RELAY=off UCCL_TCPX_NUM_CHANNELS=4 gpus && has "$verified" "^# 4 channels: 0 to 4 per NIC" \
		"127.0.2.1 is left out: it belongs to gpu1, and TCPX_RELAY is off" && carried 127.0.1.1
}
ok "without relays all channels are on the GPU's own NIC" alone
ok "host memory to a GPU" perf --mem host --peer-mem cuda:0
ok "a GPU to host memory" perf --mem cuda:0 --peer-mem host --op read
ok "two GPUs of one process" perf --mem cuda:0-1 --peer-mem cuda:0-1
ok "another pair of GPUs" perf --mem cuda:1 --peer-mem cuda:1
# As where the driver is installed: found by its name, by both sides before their engines start.
by_name() {
	mkdir "$scratch/driver" && ln -s "$FAKECUDA_LIBRARY" "$scratch/driver/libcuda.so.1" && (
		unset TCPX_CUDA_LIBRARY
		export LD_LIBRARY_PATH="$scratch/driver"
		perf --mem cuda:0 --peer-mem cuda:0 && has "$verified" && carried 127.0.1.1 127.0.2.1
	)
}
ok "a driver that nobody named" by_name

unknown() {
	TCPX_RELAY=off TCPX_MAP="gpu0=127.0.1.1" perf --mem cuda:1 --peer-mem cuda:0
	[ $? = 2 ] && has "not known which is gpu1's own; say it by TCPX_MAP=gpu1=NIC"
}
ok "a GPU whose NIC is not known is refused before anything is sent" unknown
not_there() {
	! TCPX_GPU=9 perf --mem host --peer-mem host && has "TCPX_GPU=9: this process has 2 GPUs, counted from 0"
}
ok "a GPU that the process does not have, too" not_there

# As on a machine of 8 GPUs and 4 NICs, and one of 4 GPUs.
map8="gpu0=127.0.1.1;gpu1=127.0.1.1;gpu2=127.0.2.1;gpu3=127.0.2.1;gpu4=127.0.3.1;gpu5=127.0.3.1"
map8="$map8;gpu6=127.0.4.1;gpu7=127.0.4.1"
four_nics() {
	emu_nics "127.0.1.1=127.0.1.1,gpus=$1;127.0.2.1=127.0.2.1,gpus=$2;127.0.3.1=127.0.3.1,gpus=$3;127.0.4.1=127.0.4.1,gpus=$4"
}
of_eight() {
	export FAKECUDA_DEVICES=8 TCPX_MAP="$map8"
	four_nics 0+1 2+3 4+5 6+7
	perf --channels 8 --mem "cuda:$1" --peer-mem "cuda:$1" && has "$verified" &&
		carried 127.0.1.1 127.0.2.1 127.0.3.1 127.0.4.1
}
ok "8 GPUs, 4 NICs: the first" of_eight 0
ok "8 GPUs, 4 NICs: the sixth" of_eight 5
# Each decides in a process of its own; together they put as many channels on each NIC.
all_eight() {
	for gpu in 0 1 2 3 4 5 6 7; do
		perf --channels 2 -n 1 --mem "cuda:$gpu" --peer-mem "cuda:$gpu" >/dev/null &&
			has "$verified" >&2 || return 1
		grep -oE "^#   127[0-9.]* -> 127[0-9.]* +[0-9.]+ [kMG]B" "$scratch/perf"
	done | grep -oE "^#   127[0-9.]*" | sort | uniq -c | tee "$scratch/shares"
	[ "$(grep -c '^ *4 #' "$scratch/shares")" = 4 ]
}
ok "8 GPUs of two channels: 4 on each of 4 NICs" all_eight
of_four() {
	export FAKECUDA_DEVICES=4 TCPX_MAP="gpu0=127.0.1.1;gpu1=127.0.2.1;gpu2=127.0.3.1;gpu3=127.0.4.1"
	four_nics 0 1 2 3
	TCPX_RELAY=off perf --channels 4 --mem "cuda:2" --peer-mem "cuda:2" && has "$verified" &&
		carried 127.0.3.1
}
ok "4 GPUs, no relays: the third" of_four
emu_nics "127.0.1.1=127.0.1.1,gpus=0;127.0.2.1=127.0.2.1,gpus=1"
export TCPX_MAP="gpu0=127.0.1.1;gpu1=127.0.2.1"
unset FAKECUDA_DEVICES

# Two sides with settings of their own.
serve --mem cuda:0 --channels 6 --window 4
fewer() {
	client --channels 3 --mem cuda:0 && has "$verified" "^# 3 channels"
}
ok "the smaller number of channels is made" fewer
more() {
	client --channels 8 --mem cuda:0 && has "$verified" "^# 6 channels"
}
ok "whoever wants the smaller" more
# differs SETTING TEXT...: this side has SETTING; no session, and both sides' values
differs() {
	setting=$1
	shift
	env "$setting" timeout 60 "$tool" perf "127.0.0.1:$port" --nics "$nics" --mem cuda:0 -b 4M -e 4M \
		-n 1 >"$scratch/perf" 2>&1
	code=$?
	cat "$scratch/perf"
	[ $code != 0 ] && has "must be alike" "$@"
}
ok "another chunk is refused, with both values" differs NCCL_DYNAMIC_CHUNK_SIZE=262144 \
	"chunk 524288" "chunk 262144"
ok "another number of sockets is refused, with both values" differs NCCL_NSOCKS_PERTHREAD=2 \
	"sockets 4" "sockets 2"
kill "$server"

once() {
	[ "$(grep -cE "$1" "$scratch/perf")" = 2 ] || { echo "not once a process: $1"; return 1; }
}
wide() {
	UCCL_TCPX_WINDOW_SIZE=64 gpus --channels 2 && has "$verified" "window 16," &&
		once "window 64 is cut to 16"
}
ok "a window above 16 is cut, and that is said once" wide
long() {
	UCCL_TCPX_CHUNK_BYTES=1048576 gpus --channels 2 && has "$verified" "chunk at most 512K" &&
		once "chunk 1048576 is cut to 524288: NCCL_DYNAMIC_CHUNK_SIZE"
}
ok "a chunk above the plugin's is cut, and that is said once" long
no_chunk() {
	NCCL_DYNAMIC_CHUNK_SIZE=0 gpus --channels 2
	[ $? != 0 ] && has 'NCCL_DYNAMIC_CHUNK_SIZE is "0"; this plugin hangs without one, 524288 is usual'
}
ok "no chunk size at all is an error that says what is usual" no_chunk

done_testing
