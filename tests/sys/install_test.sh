#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is installed below DESTDIR works from there, and uninstalling takes all of it away.
. "$(dirname "$0")/tap.sh"

build=$(dirname "$tool")
scripts=$(cd "$(dirname "$0")/../../scripts" && pwd)
to=$scratch/to
command -v meson >/dev/null || skip_all "no meson here"
prefix=$(meson introspect --buildoptions "$build" | python3 -c "
import json, sys
print(next(o['value'] for o in json.load(sys.stdin) if o['name'] == 'prefix'))")

installed() {
	DESTDIR=$to meson install -C "$build" --no-rebuild --quiet
}
files_are_there() {
	for file in bin/tcpx lib/libtcpx-p2p.so lib/libtcpx-p2p.a lib/libnccl-net-tcpx-emu.so \
		include/tcpx/tcpx.h include/tcpx/version.h share/man/man1/tcpx.1 \
		share/doc/tcpx-p2p/examples/push.c share/doc/tcpx-p2p/examples/python/ddp.py \
		share/man/man3/tcpx_write.3 share/bash-completion/completions/tcpx; do
		# the folder of libraries is the distribution's
		find "$to$prefix" -path "*/$(basename "$file")" | grep . || return
	done
}
programs_have_pages() {
	for program in "$to$prefix"/bin/*; do
		[ -s "$to$prefix/share/man/man1/${program##*/}.1" ] || { echo "$program"; return 1; }
	done
}
no_older_names() {
	[ -z "$(find "$to" -name 'test_tcpx*' -o -name '*p2p*.sh')" ]
}
specs_are_found() {
	"$to$prefix/bin/tcpx" matrix run 2>&1 | grep irq-study
}
# a file of somebody else's stays
removed() {
	mkdir -p "$to$prefix/share/tcpx-p2p" && : >"$to$prefix/share/tcpx-p2p/mine" &&
	python3 "$scripts/uninstall.py" "$build" "$to" &&
	[ "$(find "$to" ! -type d)" = "$to$prefix/share/tcpx-p2p/mine" ] &&
	[ ! -e "$to$prefix/include/tcpx" ] && [ ! -e "$to$prefix/share/tcpx-p2p/matrix" ]
}

ok "it installs below DESTDIR" installed
ok "library, tool, emulator, header and pages are there" files_are_there
ok "every program has a manual page" programs_have_pages
ok "older names only where asked for" no_older_names
ok "the tool finds the experiments beside it" specs_are_found
ok "uninstalling removes all of it and nothing else" removed
done_testing
