#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# For the tests beside it, which source it: a fresh Debian 12 in $root, removed at the end.
cd "$(dirname "$0")/../.." || exit

skip() {
	echo "1..0 # SKIP $1"
	exit 77
}

# fresh_debian MIRROR PACKAGE,...
fresh_debian() {
	[ "$(id -u)" = 0 ] || skip "needs root, for a chroot"
	command -v debootstrap >/dev/null || skip "needs debootstrap"
	unshare --mount --pid --net --fork true 2>/dev/null || skip "no namespaces here"
	scratch=$(mktemp -d /var/tmp/tcpx-fresh-XXXXXX) || exit
	root=$scratch/root
	trap 'rm -rf --one-file-system "$scratch"' EXIT
	trap 'exit 1' INT TERM HUP
	debootstrap --variant=minbase --include="$2" bookworm "$root" \
		"${1:-http://deb.debian.org/debian}" >"$scratch/log" 2>&1 ||
		skip "debootstrap: $(tail -1 "$scratch/log")"
	cp /etc/resolv.conf "$root/etc/resolv.conf"
	echo "127.0.0.1 localhost" >"$root/etc/hosts" # which Debian's installer writes
}

# within COMMANDS [--net]: a shell of the chroot runs them until one fails; with --net it has a
# network of its own. Mounts end with the process: nothing of this machine goes with the tree.
within() {
	# shellcheck disable=SC2086 # an option or none
	unshare --mount --pid --fork ${2-} sh -c '
		mount -t proc none "$0/proc" && mount --rbind /sys "$0/sys" &&
		mount --rbind /dev "$0/dev" && { [ -z "$2" ] || ip link set lo up; } &&
		exec chroot "$0" sh -e -c "$1"' "$root" "$1" "${2-}"
}
