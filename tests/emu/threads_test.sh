#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Engines with several loops over the emulator, both ways at once. Meant for
# -Db_sanitize=thread; it passes everywhere.
here=$(dirname "$0")
. "$here/../sys/tap.sh"
. "$here/emu.sh"
export TCPX_EMU_MODE=strict
both_ways() {
	gpus --channels 4 --threads 4 --dir bi "$@" && has "Verified: all"
}
ok "large transfers" both_ways
ok "small ones, reading" both_ways --op read -b 64 -e 64K -n 20
export TCPX_EMU_MODE=faithful TCPX_STALL_MS=9000 TCPX_EMU_FAULT="ctrl-close:comm=1,req=3"
lost() {
	both_ways && has "is lost"
}
ok "channels that break" lost
done_testing
