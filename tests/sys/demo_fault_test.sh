#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The fault of the demonstration without root: it passes where connections were reset and data moved
# on, and nowhere else.
. "$(dirname "$0")/tap.sh"

fault=$(dirname "$0")/../../scripts/demo_fault.py
python3 -c "
import ctypes, os
raise SystemExit(ctypes.CDLL(None).syscall(438, os.pidfd_open(os.getpid()), 0, 0) < 0)" 2>/dev/null ||
	skip_all "no pidfd_getfd() here"

# reset ADDRESS: what becomes of a run over two NICs in whose middle the connections of ADDRESS are reset
reset() {
	timeout 100 python3 "$fault" reset "$1" "$tool" perf --self --nics 127.0.0.1,127.0.1.1 -b 4M \
		-n 64 -w 0 --json "$scratch/result.json" >"$scratch/fault" 2>&1
	code=$?
	cat "$scratch/fault"
	return $code
}
nothing_shown() {
	exits 1 reset 127.0.9.1 && grep "nothing was shown" "$scratch/fault"
}

ok "connections of a NIC's address are reset, and data moves on" reset 127.0.1.1
ok "it is said" grep "connections of 127.0.1.1 were reset in mid-transfer" "$scratch/fault"
ok "every byte is right" right "$scratch/result.json"
ok "no connection to reset is no demonstration" nothing_shown
ok "nor is a command that moves nothing" exits 1 python3 "$fault" reset 127.0.0.1 true
done_testing
