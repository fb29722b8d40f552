#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The library over the emulator and GPUs in software: every kind of fault by name. Harmless
# faults change nothing; a broken connection ends in other channels or in a clean error; silent
# corruption is found by comparing.
here=$(dirname "$0")
. "$here/../sys/tap.sh"
. "$here/emu.sh"

# faulty FAULT CODE TEXT...: a measurement with it ends with CODE and says each TEXT
faulty() {
	TCPX_EMU_FAULT=$1
	export TCPX_EMU_FAULT
	want=$2
	shift 2
	exits "$want" gpus --channels 4 && has "$@" && happened "$TCPX_EMU_FAULT"
}
all_well="Verified: all 12.6 MB arrived as sent"

export TCPX_EMU_MODE=strict
ok "strict: a channel, 12 MB" gpus --channels 1 -b 12M -e 12M
ok "strict: two channels, read" gpus --channels 2 -b 12M -e 12M --op read
ok "strict: eight channels, descriptors of odd sizes" gpus --channels 8 -b 1000003 -e 12M -n 1

ok "set-up: NULLs, a refusal, all alignments, late tests" \
	faulty "setup-nulls:n=20;connect-refused;frag-align;test-late:n=9" 0 "$all_well"
ok "set-up: a comm before it stands, a delay; odd and even fragments, a socket behind the others" \
	faulty "early-comm;frag-odd-even;socket-delay:socket=1,ms=20;ack-delay" 0 "$all_well"
without_waiting() {
	NCCL_GPUDIRECTTCPX_SPINWAIT_CONNECT=0 \
		faulty "early-comm;setup-delay:ms=100;frag-size:n=300" 0 "$all_well"
}
ok "set-up: NULL requests; small fragments" without_waiting
ok "2047 fragments a message" faulty "frag-count:n=2047;rule-late" 0 "$all_well"
ok "fragments over several pages" faulty "frag-large" 0 "$all_well"

export TCPX_EMU_MODE=faithful
real_delays() { # longer than a handshake, and one direction stands long before the other
	TCPX_EMU_DELAYS=real TCPX_HANDSHAKE_MS=2000 NCCL_NSOCKS_PERTHREAD=1 \
		NCCL_GPUDIRECTTCPX_PROGRAM_FLOW_STEERING_WAIT_MICROS=3000000 \
		faulty "" 0 "$all_well" && lacks degraded
}
ok "set-up: the receiving side stands seconds after the sending one" real_delays
for fault in connect-error accept-error rules-exhausted; do
	ok "$fault: no channel, and no session" faulty "$fault" 1 "none of 4 channels could connect"
	ok "$fault of one: the others carry all" faulty "$fault:comm=0" 0 "3 of 4 channels" "$all_well"
done

export TCPX_STALL_MS=9000
for role in send recv; do
	ok "half-open, as the $role side sees it" faulty "half-open:comm=0,req=2,role=$role" 0 \
		"within 3000 ms" "is lost" "$all_well"
done
ok "a send is done and never arrives: it is sent again" faulty "false-done:comm=0,req=2" 0 "is lost" \
	"$all_well"
ok "every control connection closes, and every one after it: opened again each time" \
	faulty "ctrl-close:req=2" 0 "is lost" "$all_well"
# on a slow machine chunks are smaller than a slot, which one byte more then fits
ok "more is sent than was posted" faulty "size-larger:comm=0,req=2" 0 "do not fit|its header says" \
	"is lost" "$all_well"
ok "nothing comes for a message that has bytes" faulty "size-zero:comm=0,req=2" 0 \
	"its header says" "is lost" "$all_well"
ok "a wrong bit is found" faulty "flip-byte" 1 "bytes were wrong"
# 48 requests, all of them of timed transfers
one_bit() {
	TCPX_EMU_FAULT=$1
	shift
	exits 1 gpus --channels 1 -w 0 -n 6 "$@" && has "1 bytes were wrong" && happened "$TCPX_EMU_FAULT"
}
for req in 1 20 47; do
	ok "a wrong bit of request $req is found, written" one_bit "flip-byte:req=$req,role=recv"
	ok "a wrong bit of request $req is found, read" one_bit "flip-byte:req=$req,role=recv" --op read
done
ok "fragments in each other's place are found" faulty "frag-size:n=512;swap-fragments" 1 \
	"bytes were wrong"

# What makes the plugin end its process: this one's peer has gone, and it says so. The process calls exit()
# while its threads work, and AddressSanitizer's search for leaks then hangs now and then.
ends_it() {
	ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" faulty "$1" 1 "peer has gone" "failed"
}
for fault in no-cmsg:req=3 wrong-nic frag-count:n=2048 frag-count:n=2049 kill:req=3,role=recv; do
	ok "$fault ends the receiving process" ends_it "$fault"
done

TCPX_EMU_FAULT='' serve --mem cuda:0
sender_dies() {
	TCPX_EMU_FAULT="kill:comm=0,req=3,role=send" exits 137 client --channels 4 --mem cuda:0
}
ok "a sender is killed" sender_dies
survivor() {
	TCPX_EMU_FAULT='' client --channels 4 --mem cuda:0 && has "$all_well"
}
ok "the server is there for the next" survivor
kill "$server"

# The opener is killed; the acceptor hears nothing of it from the plugin, and does not wait. If the kernel resets
# the connection, as something was unread, a quarter of this passes until nobody listening is proof.
unset TCPX_EMU_FAULT
export TCPX_STALL_MS=40000
serve --mem cuda:0
opener_is_missed() {
	start "$scratch/opener" "$tool" perf "127.0.0.1:$port" --nics "$nics" -b 4M -e 4M --duration 60 \
		--channels 4 --mem cuda:0
	within 60 grep -q "^client .*: write" "$scratch/serve" || return 1
	kill -9 "$started"
	within 60 grep -q "^client .* has gone after" "$scratch/serve" # the log leaves lines out
}
ok "an opener that is killed is missed soon" opener_is_missed
kill "$server"

done_testing
