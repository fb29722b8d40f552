#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the Debian packages in BUILD/deb from a copy of the tree, unsigned, so that the tree stays
# clean. Usage: deb.sh BUILD
set -eu
cd "$(dirname "$0")/.."
command -v dh >/dev/null && command -v dh_python3 >/dev/null || {
	echo "make deb needs debhelper and dh-python: apt install debhelper dh-python" >&2
	exit 1
}
out=$1/deb
rm -rf "$out"
mkdir -p "$out/tree"
git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read -T - -cf - |
	tar -C "$out/tree" -xf -
(cd "$out/tree" && dpkg-buildpackage --build=binary --no-sign) >"$out/build.log" 2>&1 || {
	tail -20 "$out/build.log"
	echo "the build failed: see $out/build.log"
	exit 1
}
ls "$out"/*.deb
