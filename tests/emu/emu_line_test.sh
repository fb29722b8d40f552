#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The line of docs/emulator.md with which our tools run over the emulator: it is taken from the page,
# and every command there, and the programs under older names, must end well with it.
here=$(dirname "$0")
. "$here/../sys/tap.sh"
page=$here/../../docs/emulator.md
B=$(dirname "$tool")
unset TCPX_PROVIDER TCPX_PLUGIN_PATH NCCL_DYNAMIC_CHUNK_SIZE TCPX_DEBUG
export B

line() {
	sed -n 's/^    \(export TCPX_PLUGIN_PATH=.*\)/\1/p' "$page"
}
ok "the page has one line" test "$(line | wc -l)" = 1
eval "$(line)"
ok "the files that it names are there" test -e "$TCPX_PLUGIN_PATH" -a -e "$TCPX_CUDA_LIBRARY"

# the page's commands of the tool, as they stand there
sed -n 's/^    \(\$B\/tcpx .*\)/\1/p' "$page" >"$scratch/commands"
ok "it has commands of the tool" test -s "$scratch/commands"
while read -r command; do
	sizes=
	case $command in *perf*) sizes="-b 256K -e 256K -n 2" ;; esac
	ok "$command" sh -c "timeout 100 $command $sizes >'$scratch/said' 2>&1 || { cat '$scratch/said'; exit 1; }"
done <"$scratch/commands"
ok "the provider is the plugin's" says "provider tcpx" "$tool" perf --self --mem cuda:0 -b 64K -e 64K -n 1
ok "and with memory of the host alone" says "provider tcpx" env -u TCPX_CUDA_LIBRARY -u TCPX_MAP -u TCPX_NICS \
	"$tool" perf --self -b 64K -e 64K -n 1
# docs/errors.md: the plugin's own words
ok "TCPX_DEBUG=INFO shows what the plugin says" says "INFO NET plugin: " env TCPX_DEBUG=INFO "$tool" perf --self \
	--mem cuda:0 --peer-mem cuda:1 -b 64K -e 64K -n 1

# a plugin that is named and drives none of our NICs is one that cannot be used
drives_none() {
	(export TCPX_EMU_NICS=notlo=127.0.7.1,pci=none && "$@")
}
ok "a plugin that drives no NIC here" drives_none exits 3 "$tool" perf --self -b 64K -n 1
ok "is told with the NICs" says "drives none of the NICs in use (lo); it drives: notlo" drives_none \
	"$tool" perf --self -b 64K -n 1
ok "so it is for serve" drives_none exits 3 timeout 60 "$tool" serve --port 0
ok "--any goes without, and says so" says "plain sockets, by --any" drives_none "$tool" perf --self --any -b 64K -n 1
ok "and does its work" grep -q "provider sock" "$scratch/said"

pair() { # PROGRAM: both sides; somebody may take the port first
	for _ in 1 2 3; do
		port=$(free_port)
		start "$scratch/server" "$B/compat/$1" --port "$port" server 0
		server=$started
		timeout 100 "$B/compat/$1" --port "$port" client 127.0.0.1 0 >"$scratch/client" 2>&1
		code=$?
		[ $code = 0 ] || kill "$server" 2>/dev/null
		wait "$server"
		server_code=$?
		grep -q EADDRINUSE "$scratch/server" || break
	done
	tail -n 25 "$scratch/server" "$scratch/client"
	[ $code = 0 ] && [ $server_code = 0 ]
}
export UCCL_TCPX_PERF_SIZE=262144 UCCL_TCPX_PERF_ITERS=2
for program in test_tcpx_transfer test_tcpx_transfer_multi test_tcpx_perf test_tcpx_perf_multi test_multi_channel; do
	ok "$program" pair "$program"
done
done_testing
