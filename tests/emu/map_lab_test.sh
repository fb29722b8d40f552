#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two emulated hosts with two networks, and the emulator on both. GPUs whose NICs are on one
# network are connected; others are refused with the reason, before the plugin connects anything.
here=$(dirname "$0")
. "$here/../sys/tap.sh"
lab_up --hosts 2 --nics 2
. "$here/emu.sh"
export TCPX_MAP="gpu0=eth0;gpu1=eth1" TCPX_RELAY=off
TCPX_EMU_NICS="eth0,gpus=0,network=a;eth1,gpus=1,network=b"

# on_h1 GPU: a server there
on_h1() {
	start "$scratch/serve" "$tool" lab exec --name "$lab" h1 "$tool" serve --mem "$1"
	server=$started
	within 60 listens h1 || { cat "$scratch/serve"; return 1; }
}
from_h0() {
	on h0 timeout 100 "$tool" perf 10.77.0.2 -v -b 4M -e 4M -n 2 --channels 2 --mem "$1" \
		--peer-mem cuda:0 >"$scratch/perf" 2>&1
	code=$?
	cat "$scratch/perf"
	return $code
}

ok "a server with memory of GPU 0" on_h1 cuda:0
ok "GPU 0 to GPU 0, over their network" from_h0 cuda:0
same() {
	has "Verified: all" && carried eth0
}
ok "by the NIC of both" same
other() {
	from_h0 cuda:1
	[ $? != 0 ] && has "no NIC pair: no usable NIC of the opener \(eth1, ...\) and of the acceptor \(eth0, ...\) are on one network" \
		"eth0 is left out: it belongs to gpu0, and TCPX_RELAY is off" && lacks "connect on eth"
}
ok "GPU 1 to GPU 0 is refused, and why" other
relayed() {
	TCPX_RELAY=auto from_h0 cuda:1 && has "Verified: all" && carried eth0
}
ok "with a relay it goes by the network that both are on" relayed
done_testing
