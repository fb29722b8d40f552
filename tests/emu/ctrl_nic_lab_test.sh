#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Between two emulated hosts the software plugin moves data by one NIC while the session's control
# stream, which carries the headers of its messages, is cut with the control NIC: no channel is lost.
here=$(dirname "$0")
. "$here/../sys/tap.sh"
lab_up --nics 2 --rate 200M
. "$here/emu.sh"
unset NCCL_GPUDIRECTTCPX_CTRL_DEV
export TCPX_MAP="gpu0=eth1" TCPX_NICS=eth1 TCPX_CTRL=eth0 TCPX_EMU_NICS="eth1,gpus=0"
export TCPX_CHANNELS=4 TCPX_DEBUG=INFO

# bytes that eth1 of h0 has received and sent
sent() {
	on h0 awk '$1 == "eth1:" { printf "%.0f\n", $2 + $10 }' /proc/net/dev
}
at_work() {
	[ "$(sent)" -gt "$mark" ]
}
a_server() {
	start "$scratch/serve" "$tool" lab exec --name "$lab" h1 "$tool" serve --mem cuda:0
	within 60 listens h1 || { cat "$scratch/serve"; return 1; }
}
# cut OP: eth0 of the server goes down while data move, which takes 6 s at the rate of the NIC
cut() {
	mark=$(($(sent) + 10000000))
	on h0 timeout 100 "$tool" perf 10.77.0.2 --op "$1" -b 4M -e 4M -w 1 -n 36 --mem cuda:0 \
		--peer-mem cuda:0 >"$scratch/perf" 2>&1 &
	run=$!
	within 60 at_work || { cat "$scratch/perf"; return 1; }
	on h1 python3 "$here/../sys/link.py" eth0 down
	wait $run
	code=$?
	on h1 python3 "$here/../sys/link.py" eth0 up
	within 60 link_runs eth0 || return 1 # else the next client finds no eth0
	cat "$scratch/perf"
	[ $code = 0 ] && has "Verified: all" "control stream with .* resumed" && lacks "is lost"
}
ok "a server that clients come to by eth0" a_server
ok "its control NIC dies while data come to it" cut write
ok "and while it sends them" cut read
done_testing
