#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tcpx doctor --peer between two hosts: data connections there and back, open, refused and silent,
# each named with its direction, address and port.
here=$(dirname "$0")
. "$here/tap.sh"
unset TCPX_NICS TCPX_CTRL TCPX_PROVIDER TCPX_PORT

lab_up --nics 2
serve_on h1

doctor() {
	on h0 "$tool" doctor --only peer-ports "$@"
}
back() {
	on h0 "$tool" doctor --only peer-back "$@"
}
# matches PATTERN COMMAND...: a line of its output does.
matches() {
	pattern=$1
	shift
	"$@" >"$scratch/said" 2>&1
	cat "$scratch/said"
	grep -qE -- "$pattern" "$scratch/said"
}
# shut HOST VERDICT...: new connections that come in to local ports of HOST.
shut() {
	host=$1
	shift
	on "$host" nft add table inet t &&
		on "$host" nft 'add chain inet t c { type filter hook input priority 0; policy accept; }' &&
		on "$host" nft add rule inet t c tcp flags syn / syn,ack tcp dport 30000-65535 "$@"
}
unshut() {
	on "$1" nft delete table inet t
}

ok "all is open" says "2 pairs of NICs" doctor --peer 10.77.0.2,10.77.1.2
ok "and back" says "2 pairs of NICs" back --peer 10.77.0.2,10.77.1.2
ok "and that ends with 0" doctor --peer 10.77.0.2
ok "one NIC is asked about alone" says "1 pair of NICs" \
	doctor --nics eth1 --peer 10.77.1.2
ok "nobody listens at the control port" says "no control port of the peer is open" \
	doctor --peer 10.77.0.2:99
ok "which peer-paths names" says "10.77.0.2 port 99 is refused" \
	on h0 "$tool" doctor --only peer-paths --peer 10.77.0.2:99

# a listener that is no tcpx serve
start "$scratch/other" on h1 python3 -c "
import socket, sys
s = socket.create_server(('10.77.0.2', 7777))
print('ready', flush=True)
while True:
    c, _ = s.accept()
    c.sendall(b'220 hello\r\n')
    c.close()"
within 10 grep -q ready "$scratch/other"
ok "data ports are not tried with another program" \
	matches '^unknown +peer-ports' doctor --peer 10.77.0.2:7777
ok "nor is the way back" says "not tried: no session with" back --peer 10.77.0.2:7777

if on h0 nft list ruleset >/dev/null 2>&1; then
	shut h1 reject with tcp reset
	ok "there, refused" matches 'here -> 10\.77\.0\.2:[0-9]+ is refused' doctor --peer 10.77.0.2
	ok "the way back was not tried" says "not tried: no session with" back --peer 10.77.0.2
	ok "is an error" exits 1 doctor --peer 10.77.0.2
	unshut h1
	shut h1 drop
	ok "there, silent" matches 'here -> 10\.77\.0\.2:[0-9]+ is silent' doctor --peer 10.77.0.2
	unshut h1
	shut h1 iifname eth1 drop
	ok "there, one NIC of two is silent" \
		matches 'eth1 -> 10\.77\.1\.2:[0-9]+ is silent' doctor --peer 10.77.0.2,10.77.1.2
	unshut h1
	shut h0 reject with tcp reset
	ok "back, refused" matches '10\.77\.0\.2 -> 10\.77\.0\.1:[0-9]+ \(eth0\) is refused' \
		back --nics eth0 --peer 10.77.0.2
	ok "is a note" exits 0 back --nics eth0 --peer 10.77.0.2
	unshut h0
	shut h0 drop
	ok "back, silent" matches '10\.77\.1\.2 -> 10\.77\.1\.1:[0-9]+ \(eth1\) is silent' \
		back --nics eth1 --peer 10.77.1.2
	unshut h0
	shut h1 drop
	on h1 nft add rule inet t c tcp dport 28515 drop
	ok "a silent control port" says "10.77.0.2 port 28515 is silent" \
		on h0 "$tool" doctor --only peer-paths --peer 10.77.0.2
	unshut h1
else
	count=$((count + 1))
	echo "ok $count - refused and silent data ports # SKIP no nft here"
fi
ok "after all that it is open" says "1 pair of NICs" \
	doctor --nics eth0 --peer 10.77.0.2
done_testing
