#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tcpx info names the NCCL net plugin that would be used, or the reason for none. A plugin that
# harms the process that loads it does not harm tcpx.
. "$(dirname "$0")/tap.sh"

[ -e "$NET_FAKE_DIR/libnet_fake_v7.so" ] || skip_all "no plugins were built for tests"
unset NCCL_NET_PLUGIN TCPX_PLUGIN_PATH UCCL_TCPX_PLUGIN_PATH NCCL_DYNAMIC_CHUNK_SIZE
fake=$NET_FAKE_DIR/libnet_fake

info() {
	timeout 60 "$tool" info "$@"
}
ends() {
	want=$1
	shift
	"$@"
	got=$?
	echo "exit code $got"
	[ "$got" = "$want" ]
}
with() {
	var=$1 value=$2
	shift 2
	( export "$var=$value"; "$@" )
}
field() {
	info --plugin "$1" --json - |
		python3 -c "import json, sys; print('got', json.load(sys.stdin)['plugin']$2)"
}

for version in 6 7 8 9 10 11 12; do
	ok "v$version is named" says "Fake_v$version in $fake" info --plugin "${fake}_v$version.so"
	ok "v$version is told" says "interface v$version, 2 devices" \
		info --plugin "${fake}_v$version.so"
done
ok "devices are shown" says "200 Gb/s  0000:06:00.0  host, GPU no" info --plugin "${fake}_v7.so"
ok "JSON has its version" says "got 9" field "${fake}_v9.so" "['abi']"
ok "JSON has its devices" says "got eth2" field "${fake}_v9.so" "['devices'][1]['name']"
ok "JSON has what is missing" says "got no NCCL net plugin" field /nowhere.so "['missing']"
ok "the setting names it" says "Fake_v8" with TCPX_PLUGIN_PATH "${fake}_v8.so" info
ok "UCCL's name does" says "Fake_v8" with UCCL_TCPX_PLUGIN_PATH "${fake}_v8.so" info
ok "NCCL's list does" says "Fake_v8" with NCCL_NET_PLUGIN "/nowhere.so,${fake}_v8.so" info
ok "none is none" says 'NCCL_NET_PLUGIN is "none"' with NCCL_NET_PLUGIN none info
ok "what is no plugin is told" says "exports none of ncclNetPlugin_v6 to _v12" \
	joined info --plugin "${fake}_none.so"
ok "and what is used instead" says "by provider sock" info --plugin "${fake}_none.so"
ok "and is a finding" ends 1 info --plugin "${fake}_none.so"
ok "a chunk size is given to Google's" ends 0 \
	sh -c "cp ${fake}_v7.so $scratch/libnccl-net-tcpx.so &&
	'$tool' info --plugin $scratch/libnccl-net-tcpx.so"
ok "the end of the process is told" says "with exit code 41" \
	with NET_FAKE_EXIT 41 info --plugin "${fake}_v7.so"
ok "the signal is told" says "by signal 9" \
	with NET_FAKE_EXIT killed info --plugin "${fake}_v7.so"
ok "another machine's is not loaded" says "is not this machine" info --root "$scratch"
done_testing
