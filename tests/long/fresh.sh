#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What README and CONTRIBUTING promise, in a Debian 12 that has nothing yet but `make` and `sudo`:
# the lines of the quick start as printed, `make demo`, and the unit tests pass.
# Usage: fresh.sh [MIRROR]
# shellcheck disable=SC2154 # $root comes from there
. "$(dirname "$0")/chroot.sh"

fresh_debian "${1-}" ca-certificates,make,sudo
mkdir "$root/tree" "$root/blocks"
git ls-files -z | tar --null -T - -cf - | tar -C "$root/tree" -xf - || exit
python3 tests/sys/blocks.py README.md "$root/blocks" >/dev/null || exit
mv "$(grep -lx "sudo make install" "$root"/blocks/*.sh)" "$root/blocks/start.sh" || exit

within '
	cd /tree
	. /blocks/start.sh
	make demo
	tcpx --version
	sh scripts/setup.sh check
	meson setup --reconfigure build # which knew no tests before
	meson test -C build --suite unit -t 4 --quiet --print-errorlogs
	grep -q OK build/meson-logs/testlog.json'
