#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# TCPX_CHECKSUM with memory of GPUs, which the GPUs sum: a byte that the plugin gets wrong is found,
# and its chunk is sent again. Two NICs, each of a GPU of its own, so that one channel is a relay's.
here=$(dirname "$0")
. "$here/../sys/tap.sh"
. "$here/emu.sh"

flip="flip-byte:comm=0,req=3,role=recv,byte=1000"
# with FAULT OPTIONS...: between GPUs, or as the options say
with() {
	TCPX_EMU_FAULT=$1
	export TCPX_EMU_FAULT
	shift
	gpus --json "$scratch/result.json" --channels 4 -n 6 -w 0 "$@"
}
unseen() {
	exits 1 with "$flip" "$@" && lacks "arrived changed" &&
		result "$scratch/result.json" "rows[0]['wrong'] == 1 and rows[0]['checked']"
}
mended() {
	with "$flip" "$@" && has "arrived changed on channel [0-9]+, .*CRC32C [0-9a-f]{8}" "is lost" \
		"Verified: all" && right "$scratch/result.json"
}
quiet() {
	with "" "$@" && has "Verified: all" && lacks "arrived changed|is lost"
}

export TCPX_CHECKSUM=0
ok "not summed, a wrong byte is not noticed before it is compared" unseen
export TCPX_CHECKSUM=1
ok "a byte is wrong, and is sent again" mended
ok "read" mended --op read
ok "sent and received" mended --op sendrecv
ok "both ways" mended --dir bi
ok "scattered pieces" mended --descs 64
ok "from host memory" mended --mem host
ok "to host memory" mended --peer-mem host
ok "two GPUs on each side" mended --mem cuda:0-1 --peer-mem cuda:0-1
for options in "" "-b 1 -e 1" "-b 777 -e 777 --op read" "--descs 64 --dir bi" "--mem host" "-b 1K -e 8M -n 2" \
	"--mem cuda:0-1 --peer-mem cuda:0-1"; do
	# shellcheck disable=SC2086
	ok "without a fault: $options" quiet $options
done
events() {
	FAKECUDA_MEMOPS=0 quiet
}
ok "a driver without stream memory operations" events
refused() {
	TCPX_UNPACK_IMPL=d2d with "" && return 1
	has "TCPX_CHECKSUM is set, and .* GPU 0, which only TCPX_UNPACK_IMPL=kernel sums"
}
ok "other ways to copy are refused, and named" refused
done_testing
