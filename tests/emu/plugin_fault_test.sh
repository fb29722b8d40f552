#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Whole commands over the emulator: every byte arrives, and a break in the plugin costs a
# channel, not the transfer.
here=$(dirname "$0")
. "$here/../sys/tap.sh"

nics=127.0.1.1,127.0.2.1
export NCCL_DYNAMIC_CHUNK_SIZE=524288 NCCL_NSOCKS_PERTHREAD=2
export TCPX_PROVIDER=tcpx TCPX_PLUGIN_PATH="$EMU_LIBRARY" TCPX_DEBUG=WARN
export TCPX_EMU_MEMORY=host TCPX_EMU_NICS="127.0.1.1=127.0.1.1;127.0.2.1=127.0.2.1"
# no driver: what is registered is the host's
export TCPX_CUDA_LIBRARY=none

perf() {
	timeout 100 "$tool" perf --self --channels 4 -b 4M -e 4M -n 4 --nics $nics \
		--peer-nics $nics "$@" 2>&1
}
# with FAULT TEXT...: the command's output has each of the texts
with() {
	TCPX_EMU_FAULT=$1
	export TCPX_EMU_FAULT
	shift
	perf >"$scratch/perf" || { cat "$scratch/perf"; return 1; }
	for text; do
		grep -q "$text" "$scratch/perf" || { echo "no: $text"; cat "$scratch/perf"; return 1; }
	done
	[ "$(grep -c "never happened" "$scratch/perf")" -lt 2 ] || { echo "no fault"; return 1; }
}

ok "strict: a write" env TCPX_EMU_MODE=strict "$tool" perf --self -b 64K -e 4M -n 4 \
	--nics $nics --peer-nics $nics
ok "strict: a read" env TCPX_EMU_MODE=strict "$tool" perf --self --op read -b 64K -e 4M -n 4 \
	--nics $nics --peer-nics $nics
export TCPX_EMU_MODE=faithful
ok "the control connection of a comm closes" \
	with "ctrl-close:comm=0,req=3,role=send" "is lost" "Verified: all"
ok "a message is shorter than its header says" \
	with "size-smaller:comm=0,req=3,role=send" "its header says" "is lost" "Verified: all"
export TCPX_CHECKSUM=1
ok "a byte is wrong, and is sent again" \
	with "flip-byte:comm=0,req=3,role=recv,byte=1000" "arrived changed" "is lost" "Verified: all"
ok "summed, without a fault" with "" "Verified: all"
unset TCPX_CHECKSUM
ok "fragments over several pages" with "frag-large:n=65536" "Verified: all"
TCPX_STALL_MS=9000
export TCPX_STALL_MS
# the plugin's own thread sends into it, and raises SIGPIPE: without this library's guard that is its end
ok "a data connection breaks, and nobody says so" \
	with "data-close:comm=0,req=3,role=send" "within 3000 ms" "is lost" "Verified: all"
done_testing
