#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tcpx doctor: what it tells of this machine and of others, and what it explains.
. "$(dirname "$0")/tap.sh"

doc=$(dirname "$0")/../../docs/errors.md

page_is_what_is_printed() {
	"$tool" doctor --explain all >"$scratch/errors.md" && diff "$doc" "$scratch/errors.md"
}

ok "docs/errors.md is --explain all (make it anew by that)" page_is_what_is_printed
ok "a class is explained" says "irecvConsumed()" "$tool" doctor --explain corrupt-data
ok "a line of a log is" says "## rx-no-cmsg" "$tool" doctor --explain "flow 3 rx no cmsg"
ok "a code is" says "TCPX_STALL_MS" "$tool" doctor --explain TCPX_ESTALLED
ok "its number is" says "TCPX_ESTALLED" "$tool" doctor --explain=-1302
ok "what is not known is refused" exits 2 "$tool" doctor --explain nothing
ok "and what was meant is guessed" says "did you mean 'stuck'" "$tool" doctor --explain stuk
done_testing
