#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a user reads after a usual mistake: each said once, with what to do.
. "$(dirname "$0")/tap.sh"
unset TCPX_PROVIDER TCPX_PLUGIN_PATH UCCL_TCPX_PLUGIN_PATH NCCL_NET_PLUGIN

self() {
	timeout 60 "$tool" perf --self -b 64K -n 1 "$@"
}

# ---- a plugin that is named and cannot be used is no reason to measure something else ----
named() {
	TCPX_PLUGIN_PATH=$scratch/none.so exits 3 "$@"
}
ok "a plugin that is not there" named self
ok "is named, and what to do" says "none.so: no such library (ENOENT); --any would take plain sockets" named self
ok "so it is for serve" named timeout 60 "$tool" serve --port 0
ok "--any goes without, and says so" says "plain sockets, by --any" \
	env TCPX_PLUGIN_PATH="$scratch/none.so" timeout 60 "$tool" perf --self -b 64K -n 1 --any
ok "so does a path of none, in silence" env TCPX_PLUGIN_PATH=none timeout 60 "$tool" perf --self -b 64K -n 1

# ---- waiting, and names ----
nobody() {
	TCPX_CONNECT_MS=5000 exits 1 timeout 60 "$tool" perf 127.0.0.1:9
}
ok "nobody listens: it says what it waits for, and where" \
	says "waiting for 127.0.0.1:9 (127.0.0.1:9: connection refused;" nobody
ok "once" test "$(grep -c waiting "$scratch/said")" = 1
ok "and asks for serve" grep -qF ': is `tcpx serve` running there?' "$scratch/said"
unbracketed() {
	exits 2 timeout 60 "$tool" perf "$1"
}
ok "IPv6 with a port and no brackets: how it is written" says "write an IPv6 address as [2001:db8::2]:28515" \
	unbracketed 2001:db8::2:28515
ok "so is one that lacks a bracket" says "write an IPv6 address as [::1]:28515" unbracketed "[::1:28515"
ok "a link-local address without its NIC, too" says "write [fe80::1%NIC]:28515" unbracketed fe80::1
ok "perf self is a hint at --self" says "did you mean --self?" timeout 60 "$tool" perf self
typed() {
	TCPX_CHANELS=4 self >"$scratch/typed" 2>&1 || return
	[ "$(grep -c "did you mean TCPX_CHANNELS?" "$scratch/typed")" = 1 ]
}
ok "a mistyped setting is told once, by one of both processes" typed
done_testing
