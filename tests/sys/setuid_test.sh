#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program with more rights than who has started it: that one's environment, and files below its HOME, set
# nothing, load nothing and make no file. Each is shown to have its effect where the rights are the same.
TMPDIR=/var/tmp # /dev/shm and /tmp may ignore the bit
export TMPDIR
. "$(dirname "$0")/tap.sh"
need_root

chmod 755 "$scratch"
cp "$(command -v id)" "$scratch/id"
cp "$tool" "$scratch/tcpx"
chmod 4755 "$scratch/id" "$scratch/tcpx"
other="setpriv --reuid=65534 --regid=65534 --clear-groups"
[ "$($other "$scratch/id" -u)" = 0 ] || skip_all "set-user-ID has no effect in $scratch"

mkdir "$scratch/home"
echo "TCPX_KEEPALIVE_MS=77" >"$scratch/home/.tcpx.conf"
echo "NCCL_SOCKET_NTHREADS=9" >"$scratch/home/nccl.conf"
# with COMMAND...: all that is asked for at once
with() {
	env HOME="$scratch/home" NCCL_CONF_FILE="$scratch/home/nccl.conf" TCPX_LINGER_MS=88 TCPX_DEBUG=INFO TCPX_DEBUG_FILE="$scratch/made" \
		TCPX_PLUGIN_PATH="$NET_FAKE_DIR/libnet_fake_v9.so" ASAN_OPTIONS=detect_leaks=0 "$@"
}
plugin_of() {
	"$@" perf --provider tcpx --nics lo --peer-blob /dev/null -b 64K -n 1
}
logs_of() {
	rm -f "$scratch/made"
	"$@" perf --nics lo --peer-blob /dev/null -b 64K -n 1
	test -e "$scratch/made"
}
no() {
	! "$@"
}

for mode in "the same rights" "more rights"; do
	case $mode in
	the*) as="with $tool" yes= ;;
	*) as="with $other $scratch/tcpx" yes=no ;;
	esac
	# shellcheck disable=SC2086 # words
	{
		ok "$mode: the environment is ${yes:+not }read" $yes says "(environment" $as info --config
		ok "$mode: a file of HOME is ${yes:+not }read" $yes says ".tcpx.conf line 1)" $as info --config
		ok "$mode: a file of NCCL's is ${yes:+not }read" $yes says "nthreads" $as env --lint
		ok "$mode: a plugin is ${yes:+not }loaded" $yes says "the plugin Fake_v9" plugin_of $as
		ok "$mode: a log is ${yes:+not }made" $yes logs_of $as
	}
done
# shellcheck disable=SC2086
ok "a plugin is looked for in the usual places" says "by the usual places" plugin_of $as
done_testing
