#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# NICs of GPUs, each with a /32 of its own: the same networks as apart_test, over the emulator, to memory of a GPU.
# One GPU's own NIC is down on the peer, or its NICs are given in another order.
here=$(dirname "$0")
. "$here/../sys/tap.sh"
. "$here/../sys/apart.sh"
. "$here/emu.sh"

# only NIC...: each belongs to a GPU, eth1 to the first
only() {
	TCPX_NICS=$(echo "$*" | tr ' ' ,)
	TCPX_MAP=$(for nic; do printf 'gpu%d=%s;' $((${nic#eth} - 1)) "$nic"; done)
	TCPX_EMU_NICS=$(for nic; do printf '%s,gpus=%d;' "$nic" $((${nic#eth} - 1)); done)
}
export TCPX_NICS TCPX_MAP TCPX_EMU_NICS FAKECUDA_DEVICES=4

# meets NUMBER NIC...: h0 with all its NICs, and that host with these; what it said is in perfNUMBER
meets() {
	number=$1
	shift
	only "$@"
	start "$scratch/serve$number" ip netns exec "$lab-h$number" "$tool" serve --mem cuda:0
	within 60 listens_at "h$number" || { cat "$scratch/serve$number"; return 1; }
	only eth1 eth2 eth3 eth4
	inside h0 timeout 100 "$tool" perf "10.0.$number.2" -b 4M -e 4M -n 2 -w 1 --channels 4 --mem cuda:0 \
		--peer-mem cuda:0 --json "$scratch/json$number" >"$scratch/perf$number" 2>&1
}

meets 2 eth1 eth3 eth4
ok "without the second NIC of the peer" reached 2 4 eth1 eth3 eth4
meets 6 eth3 eth1 eth4 eth2
ok "with names in another order" reached 6 4 eth1 eth2 eth3 eth4
done_testing
