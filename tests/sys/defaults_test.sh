#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All defaults on one host: engines of many processes, and `tcpx serve & tcpx perf localhost`,
# where lo is the only NIC and where there is another. $2 is the program all_to_all.
. "$(dirname "$0")/tap.sh"
all_to_all=$(realpath "$2")
unset TCPX_NICS TCPX_PORT TCPX_PORTS TCPX_CTRL
export TCPX_CONNECT_MS=60000 TCPX_HANDSHAKE_MS=60000 # a loaded machine is no finding here

need_root
unshare -n true 2>/dev/null || skip_all "no network namespaces here"

# alone NICS COMMAND...: in a namespace with lo, or with lo and eth0.
alone() {
	unshare -n sh -c '
nics=$1
shift
ip link set lo up || exit
[ "$nics" = lo ] || {
	ip link add eth0 type veth peer name other &&
		ip link set eth0 up && ip link set other up && ip addr add 10.78.0.1/24 dev eth0
} || exit
"$@"' sh "$@"
}

# Killed: an end in order is not what is tested, and the namespace ends with its processes.
at_localhost() {
	"$tool" serve >"$scratch/serve" 2>&1 &
	server=$!
	"$tool" perf "$1" -b 64K -e 64K -n 20 -w 1 2>&1
	code=$?
	kill -9 $server
	wait $server 2>/dev/null
	sed 's/^/serve: /' "$scratch/serve"
	return $code
}

if [ "${3-}" ]; then # below, in a namespace
	trap - EXIT
	rm -rf "$scratch"
	scratch=$4
	at_localhost "$3"
	exit
fi
perf_at() {
	says Verified alone "$1" sh "$0" "$tool" "$all_to_all" "$2" "$scratch"
}

for nics in lo eth0; do
	ok "two engines, $nics" says " 0 wrong" alone $nics "$all_to_all" 2
	ok "eight engines, all to all, $nics" says " 0 wrong" alone $nics "$all_to_all" 8
	ok "serve & perf localhost, $nics" perf_at $nics localhost
	! grep -qs . /proc/net/if_inet6 || ok "serve & perf [::1], $nics" perf_at $nics '[::1]'
done
done_testing
