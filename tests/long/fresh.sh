#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What README and CONTRIBUTING promise, in a Debian 12 that has nothing yet: setup.sh brings the
# packages, `make`, `make demo` and `make install` work, and the unit tests pass.
# Usage: fresh.sh [MIRROR]
cd "$(dirname "$0")/../.." || exit
mirror=${1:-http://deb.debian.org/debian}
skip() {
	echo "1..0 # SKIP $1"
	exit 77
}
[ "$(id -u)" = 0 ] || skip "needs root, for a chroot"
command -v debootstrap >/dev/null || skip "needs debootstrap"
unshare --mount --pid --fork true 2>/dev/null || skip "no mount namespaces here"

root=$(mktemp -d /var/tmp/tcpx-fresh-XXXXXX) || exit
trap 'rm -rf --one-file-system "$root"' EXIT
trap 'exit 1' INT TERM HUP
debootstrap --variant=minbase --include=ca-certificates bookworm "$root" "$mirror" >"$root.log" 2>&1 || {
	reason=$(tail -1 "$root.log")
	rm -f "$root.log"
	skip "debootstrap: $reason"
}
rm -f "$root.log"
mkdir "$root/tree"
git ls-files -z | tar --null -T - -cf - | tar -C "$root/tree" -xf - || exit
cp /etc/resolv.conf "$root/etc/resolv.conf"

# mounts end with the process, so that nothing of this machine can be removed with the tree
unshare --mount --pid --fork sh -c '
	mount -t proc none "$0/proc" && mount --rbind /sys "$0/sys" && mount --rbind /dev "$0/dev" &&
	exec chroot "$0" sh -e -c "
		cd /tree
		sh scripts/setup.sh build
		make
		make demo
		make install PREFIX=/usr
		tcpx --version
		sh scripts/setup.sh check
		meson setup --reconfigure build # which knew no tests before
		meson test -C build --suite unit -t 4 --quiet
		grep -q OK build/meson-logs/testlog.json"' "$root"
