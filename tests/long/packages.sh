#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `make deb` makes packages that lintian has nothing to say about. In a fresh Debian 12 they
# install, the quick starts of README and of docs/python.md work as printed, the one for GPUs says
# what it lacks, the plugins load; purged, they leave no file.
# Usage: packages.sh [MIRROR]
# shellcheck disable=SC2154 # $root comes from there
. "$(dirname "$0")/chroot.sh"

command -v dh >/dev/null || skip "needs debhelper"
command -v dh_python3 >/dev/null || skip "needs dh-python"
command -v lintian >/dev/null || skip "needs lintian"
# what the packages depend on, and a user's compiler; no driver of a GPU
fresh_debian "${1-}" gcc,libc6-dev,libjansson4,libstdc++6,pkg-config,python3

make deb || exit
lintian --fail-on error,warning build/deb/*.changes || exit
mkdir "$root/debs" "$root/quick"
cp build/deb/*.deb "$root/debs" || exit
python3 tests/sys/blocks.py README.md "$root/quick" >/dev/null || exit
mkdir "$root/quick/python"
python3 tests/sys/blocks.py docs/python.md "$root/quick/python" >/dev/null || exit
mv "$(grep -l "mem cuda:" "$root"/quick/*.sh)" "$root/quick/gpu.sh" || exit
# the lines of both machines; node1 is this one
page=$(grep -l "pkg-config" "$root"/quick/*.console) || exit
sed -n 's/^node1\$ //p' "$page" >"$root/quick/node1"
sed -n 's/^node0\$ //p' "$page" >"$root/quick/node0"
echo "127.0.0.1 localhost node1" >"$root/etc/hosts"

within '
	# /run is a running machine, as /proc is; an engine has its socket there
	files() {
		find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /quick \) \
			-prune -o ! -path "/var/lib/dpkg/*-old" ! -path "/var/log/*" -print | sort
	}
	: >/var/cache/ldconfig/aux-cache
	files >/tmp/after
	files >/tmp/before
	dpkg -i /debs/*.deb
	names=$(for deb in /debs/*.deb; do dpkg-deb -f "$deb" Package; done)
	[ -z "$(dpkg-query -W -f "\${Conffiles}" $names)" ]
	libs=$(dirname "$(find /usr/lib -name libtcpx-p2p.so.0)")
	cd /quick
	ln -s /usr/share/doc/libtcpx-p2p-dev/examples
	export TCPX_NICS=lo
	. ./node1 >received &
	receiver=$!
	until grep -q :6F63 /proc/net/tcp*; do # 28515
		kill -0 "$receiver"
		sleep 0.1
	done
	. ./node0
	wait "$receiver"
	grep -x "from node0" received
	unset TCPX_NICS
	tcpx perf --self
	[ -e python/1.python ] && [ -e python/2.python ]
	for page in python/*.python; do
		python3 "$page"
	done >python/said
	grep -x "Note(sender=.sender., data=b.all there.)" python/said
	grep -x "b.that was all." python/said
	python3 -m tcpx perf --self
	status=0
	sh gpu.sh 2>lacks || status=$?
	cat lacks
	[ "$status" = 3 ]
	grep "no GPU driver here" lacks
	sed "s/\$/ --any/" gpu.sh >any.sh
	sh any.sh
	TCPX_EMU_NICS=lo TCPX_PLUGIN_PATH=$libs/tcpx-p2p/libnccl-net-tcpx-emu.so tcpx perf --self
	[ -s "$libs/libnccl-net-tcpx-p2p.so" ] && [ -s "$libs/libnccl-tuner-tcpx-p2p.so" ]
	NIXL_PLUGIN_DIR=$libs/nixl tcpx doctor --only nixl-load | grep "^ok"
	for page in man1/tcpx.1 man3/tcpx_write.3 man5/tcpx.conf.5 man7/tcpx.7; do
		[ -s /usr/share/man/$page.gz ]
	done
	for shell in bash-completion/completions/tcpx zsh/site-functions/_tcpx; do
		[ -s /usr/share/$shell ]
	done
	dpkg --purge $names
	files >/tmp/after
	diff /tmp/before /tmp/after' --net
