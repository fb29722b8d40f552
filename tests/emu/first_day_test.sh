#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The first day on two A3-high machines, with the older benchmark's notes at hand: each command as
# it is typed there, in the notes' order. Hosts with eth0 for control and eth1 to eth4 for data, 8
# GPUs in software, and the plugin in software where the real one is installed. What is smaller
# than in the notes is so by documented variables: sizes, iterations, blocks.
#
# It fails when a command measures something else than it says: plain sockets for the plugin, host
# memory for GPUs, half of the GPUs, data over eth0, interrupts that an earlier call has placed, a
# window shared by channels, NICs that carry more than their part.
if [ -z "${FIRST_DAY-}" ] && [ "$(id -u)" = 0 ] && unshare --mount true 2>/dev/null; then
	FIRST_DAY=1 exec unshare --mount --propagation private "$0" "$@"
fi
here=$(dirname "$0")
. "$here/../sys/tap.sh"
need_root
[ -n "${FIRST_DAY-}" ] || skip_all "no mount namespaces here, for the plugin in its usual place"
for name in $(env | sed -n 's/^\(\(NCCL\|UCCL\|TCPX\)_[A-Z0-9_]*\)=.*/\1/p'); do
	[ "$name" = TCPX_STATS ] || unset "$name"
done
unset LOG_DIR GPU_LIST BINDINGS VERBOSE DIAG SETUP_IRQ_AFFINITY FIRST_DAY LD_LIBRARY_PATH

# ---- the machines ----
# The plugin lies where Google's images have it, in a mount of this test alone.
over=$scratch/over
mkdir "$over"
mount -t tmpfs none "$over" && mkdir "$over/upper" "$over/work" &&
	mount -t overlay none -o "lowerdir=/usr/local,upperdir=$over/upper,workdir=$over/work" /usr/local ||
	skip_all "no overlay over /usr/local here, for the plugin in its usual place"
finish_day() {
	umount -l /usr/local
	umount -l "$over"
	finish
}
trap finish_day EXIT
mkdir -p /usr/local/tcpx/lib64 && cp "$EMU_LIBRARY" /usr/local/tcpx/lib64/libnccl-net-tcpx.so || exit 1
# files of a study on the other host have a fixed place, where another test may have its own
mount -t tmpfs none /run || skip_all "no /run of its own here"
lab_up --hosts 2 --nics 5
export TCPX_EMU_MODE=strict TCPX_CUDA_LIBRARY="$FAKECUDA_LIBRARY" FAKECUDA_DEVICES=8
export TCPX_EMU_NICS="eth1,gpus=0+1;eth2,gpus=2+3;eth3,gpus=4+5;eth4,gpus=6+7"
export TCPX_MAP="gpu0=eth1;gpu1=eth1;gpu2=eth2;gpu3=eth2;gpu4=eth3;gpu5=eth3;gpu6=eth4;gpu7=eth4"
# GPUs in software are on no PCI bus: the tool finds NICs, CPUs and interrupts in a tree
a3_high "$scratch/a3.spec"
for host in h0 h1; do
	"$MACHINE_TREE" "$scratch/a3.spec" "$scratch/$host" || exit 1
done
day=$scratch/day
mkdir "$day" "$scratch/bin"
cat >"$scratch/bin/a3-tcpx" <<END
#!/bin/sh
case \$1 in
env | irq) exec "$tool" "\$@" --root "$scratch/\$HOST" ;;
esac
exec "$tool" "\$@"
END
# stand-ins for mpirun and a test of nccl-tests
cat >"$scratch/bin/mpirun" <<'END'
#!/bin/sh
echo "mpirun: $*"
while [ "${1##*_perf}" != '' ]; do
	shift
done
exec "$@"
END
cat >"$scratch/bin/all_reduce_perf" <<'END'
#!/bin/sh
echo "$(basename "$0"): $*; $NCCL_ALGO $NCCL_PROTO $NCCL_SOCKET_IFNAME"
[ -z "${NET-}" ] || echo "h0:77:79 [0] NCCL INFO Using network $NET"
END
cp "$scratch/bin/all_reduce_perf" "$scratch/bin/sendrecv_perf"
chmod +x "$scratch"/bin/*
ln -s "$(dirname "$tool")"/compat/* "$day"
cd "$day" || exit 1
printf '10.77.0.1\n10.77.0.2\n' >"$scratch/hosts"
export TCPX="$scratch/bin/a3-tcpx" PATH="$scratch/bin:$PATH" NODE_IPS="$scratch/hosts"
export TCPX_IRQ_LOG="$scratch/irq.log" TCPX_IRQ_PLAN="$scratch/h0/plan.json" HOST=h0
NODE0_ETH0_IP=10.77.0.1
export UCCL_TCPX_PERF_SIZE=1048576 UCCL_TCPX_PERF_ITERS=2

# ---- how two sides are looked at ----
# pair SERVER CLIENT: a line typed on each machine; what they say in server and client.
pair() {
	rm -rf logs
	start "$scratch/server" "$tool" lab exec --name "$lab" h0 sh -c "$1"
	server=$started
	HOST=h1 TCPX_IRQ_PLAN="$scratch/h1/plan.json" "$tool" lab exec --name "$lab" h1 timeout 100 \
		sh -c "$2" >"$scratch/client" 2>&1
	code=$?
	[ $code = 0 ] || kill "$server" 2>/dev/null
	wait "$server"
	server_code=$?
	tail -n 40 "$scratch/server" "$scratch/client"
	[ $code = 0 ] && [ $server_code = 0 ]
}
carried="\(provider tcpx, GPU [0-7] to GPU [0-7]\)"
# figures N: so many of each side, all by the plugin between GPUs
figures() {
	for side in server client; do
		[ "$(grep -cE "\] Avg \(.* GB/s $carried" "$scratch/$side")" = "$1" ] &&
			[ "$(grep -c "\] Avg (" "$scratch/$side")" = "$1" ] || {
			echo "not $1 figures of the plugin and GPUs of the $side"
			return 1
		}
	done
}
# eth0's bytes so far, of both hosts
control_bytes() {
	"$tool" lab status --name "$lab" --json - | python3 -c "
import json, sys
hosts = json.load(sys.stdin)['labs'][0]['hosts']
print(sum(n['tx_bytes'] for h in hosts for n in h['nics'] if n['name'] == 'eth0'))"
}
# shares N: so many channels on each data NIC, of all GPUs together
shares() {
	for nic in eth1 eth2 eth3 eth4; do
		n=$(cat logs/fullmesh_client_gpu*_*.log | grep -c "Channel [0-9]* -> netDev [0-3] ($nic,")
		[ "$n" = "$1" ] || {
			echo "$n channels on $nic"
			grep -h "Channel " logs/fullmesh_client_*.log
			return 1
		}
	done
}

# ---- note 000: interrupts and CPUs ----
ok "cat /proc/interrupts > irq_before" sh -c "cat /proc/interrupts >irq_before"
NET=GPUDirectTCPX_v7
export NET
ok "./run_nccl_test_tcpx.sh nccl 2 1 2 2" says "sendrecv_perf: -b 1M -e 1G -f 2 -g 1 -n 20" \
	./run_nccl_test_tcpx.sh nccl 2 1 2 2
ok "is two processes on each of two machines" says "-np 4 --host 10.77.0.1:2,10.77.0.2:2" \
	./run_nccl_test_tcpx.sh nccl 2 1 2 2
ok "cat /proc/interrupts > irq_after" sh -c "cat /proc/interrupts >irq_after"
ok "tcpx irq diff irq_before irq_after" "$tool" irq diff irq_before irq_after

# The first interrupt of eth0 to eth4.
firsts() {
	for irq in 34 67 100 133 166; do
		echo "$(cat "$scratch/h0/proc/irq/$irq/smp_affinity_list")"
	done | paste -sd' '
}
nic_by_nic() {
	./setup_irq_affinity.sh eth1 8-21,112-125 && ./setup_irq_affinity.sh eth2 22-35,126-139 &&
		./setup_irq_affinity.sh eth3 60-73,164-177 && ./setup_irq_affinity.sh eth4 74-87,178-191
}
ok "./setup_irq_affinity.sh eth1 8-21,112-125, and eth2 to eth4" nic_by_nic
ok "all of them stay, and eth0 too" says "0-207 8 22 60 74" firsts
published() {
	export NCCL_GPUDIRECTTCPX_TX_BINDINGS='eth1:8-21,112-125;eth2:8-21,112-125;eth3:60-73,164-177;eth4:60-73,164-177'
	export NCCL_GPUDIRECTTCPX_RX_BINDINGS='eth1:22-35,126-139;eth2:22-35,126-139;eth3:74-87,178-191;eth4:74-87,178-191'
	./verify_bindings.sh >verified
	unset NCCL_GPUDIRECTTCPX_TX_BINDINGS NCCL_GPUDIRECTTCPX_RX_BINDINGS
	cat verified
	! grep '^finding' verified | grep -v "this process may use" # which are not that machine's
}
ok "./verify_bindings.sh with the published bindings" published
ok "./setup_irq_affinity.sh" ./setup_irq_affinity.sh
ok "leaves eth0 where it is" says "0-207 36 140 88 192" firsts
ok "./verify_bindings.sh with the published bindings" published
verbose_mesh() {
	pair "SETUP_IRQ_AFFINITY=1 VERBOSE=1 ./run_p2p_fullmesh.sh server" \
		"SETUP_IRQ_AFFINITY=1 VERBOSE=1 ./run_p2p_fullmesh.sh client $NODE0_ETH0_IP"
}
ok "SETUP_IRQ_AFFINITY=1 VERBOSE=1 ./run_p2p_fullmesh.sh server, client <NODE0_ETH0_IP>" verbose_mesh
ok "eight figures of the plugin between GPUs" figures 8
ok "variables, bindings, interrupts, threads" both "^NCCL_GPUDIRECTTCPX_CTRL_DEV=eth0" \
	"^TX bindings: eth1:8-21,112-125" "^irq_affinity:" "on CPUs"
# T1 to T5, one run of each: threads bound or not, interrupts moved where that can be
study() {
	on h1 sh -c 'eval "$(a3-tcpx env)"
		export TCPX_PLUGIN_PATH=/usr/local/tcpx/lib64/libnccl-net-tcpx.so
		exec "$@"' study "$tool" matrix run t1-t5 --blocks 1 -o "$scratch/study" --load 100% \
		--set PEER=$NODE0_ETH0_IP --set RSH="$tool lab exec --name $lab h0 sh -c" --set THERE="$tool" \
		--set SIZE=1M --set SECONDS=1
}
ok "tcpx matrix run t1-t5" study
evidence() {
	cat "$scratch/study/REPORT.md"
	grep -F "| T1 | provider, memory here and there | tcpx cuda:0-7 cuda:0-7" "$scratch/study/REPORT.md"
}
ok "by the plugin between GPUs" evidence
ok "./setup_irq_affinity.sh --restore" ./setup_irq_affinity.sh --restore

# ---- note 001: the hand-off ----
# what it says the script has, in a clean shell
has_defaults() {
	for line in NCCL_GPUDIRECTTCPX_SOCKET_IFNAME=eth1,eth2,eth3,eth4 NCCL_GPUDIRECTTCPX_CTRL_DEV=eth0 \
		NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX=/run/tcpx NCCL_MIN_ZCOPY_SIZE=4096 \
		NCCL_GPUDIRECTTCPX_PROGRAM_FLOW_STEERING_WAIT_MICROS=50000 NCCL_NSOCKS_PERTHREAD=4 \
		NCCL_SOCKET_NTHREADS=1; do
		both "^$line\$" || return
	done
}
ok "the script has set what the notes say" has_defaults
before=$(control_bytes)
ok "./run_p2p_fullmesh.sh server, client <NODE0_ETH0_IP>" pair "./run_p2p_fullmesh.sh server" \
	"./run_p2p_fullmesh.sh client $NODE0_ETH0_IP"
ok "eight figures of the plugin between GPUs" figures 8
ok "four channels on each data NIC" shares 4
control_only() {
	after=$(control_bytes)
	echo "eth0 sent $((after - before)) bytes"
	[ $((after - before)) -gt 0 ] && [ $((after - before)) -lt 2000000 ]
}
ok "control over eth0, and no data" control_only
ok "./print_latest_bw.py" says "client total: " ./print_latest_bw.py
ok "names what carried it" says "(provider tcpx, GPU to GPU)" ./print_latest_bw.py
ok "./run_p2p_fullmesh.sh --single-process" pair "./run_p2p_fullmesh.sh --single-process server" \
	"./run_p2p_fullmesh.sh --single-process client $NODE0_ETH0_IP"
ok "eight figures of the plugin between GPUs" figures 8
ok "./run_p2p_fullmesh.sh client, by node_ips/tcpx.txt" pair "./run_p2p_fullmesh.sh server 0" \
	"GPU_LIST=0 ./run_p2p_fullmesh.sh client"

# the variables that it exports by hand
export NCCL_GPUDIRECTTCPX_SOCKET_IFNAME=eth1,eth2,eth3,eth4 NCCL_GPUDIRECTTCPX_CTRL_DEV=eth0
export NCCL_SOCKET_IFNAME=eth0 NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX=/run/tcpx
export NCCL_GPUDIRECTTCPX_PROGRAM_FLOW_STEERING_WAIT_MICROS=50000 NCCL_MIN_ZCOPY_SIZE=4096
export NCCL_NSOCKS_PERTHREAD=4 NCCL_SOCKET_NTHREADS=1 NCCL_DYNAMIC_CHUNK_SIZE=524288
export NCCL_P2P_NET_CHUNKSIZE=524288 NCCL_BUFFSIZE=8388608

for window in 16 32 64; do
	ok "UCCL_TCPX_WINDOW_SIZE=$window ./test_tcpx_perf_multi" pair \
		"UCCL_TCPX_WINDOW_SIZE=$window ./test_tcpx_perf_multi server 0" \
		"UCCL_TCPX_WINDOW_SIZE=$window UCCL_TCPX_CHUNK_BYTES=65536 UCCL_TCPX_PERF_SIZE=8388608 ./test_tcpx_perf_multi client $NODE0_ETH0_IP 0"
done
# with four channels; a window for all of them would leave three or four each
filled() {
	grep -E "In flight: .* at most 16 of 16" "$scratch/client" && both "Window: 16 messages a channel"
}
ok "is 16 for each channel, as many as the plugin takes, and is filled" filled
ok "UCCL_TCPX_BOOTSTRAP_PORT=20100 ./test_tcpx_perf" pair \
	"UCCL_TCPX_BOOTSTRAP_PORT=20100 ./test_tcpx_perf server 0" \
	"UCCL_TCPX_BOOTSTRAP_PORT=20100 ./test_tcpx_perf client $NODE0_ETH0_IP 0"
ok "listens there" both "20100"
ok "./run_nccl_test_tcpx.sh nccl 2 8 0 1 1" says "all_reduce_perf: -b 1M -e 1G -f 2 -g 8 -n 20" \
	./run_nccl_test_tcpx.sh nccl 2 8 0 1 1
ok "is one process of 8 GPUs on each of two machines" says "2 processes, 16 GPUs" \
	./run_nccl_test_tcpx.sh nccl 2 8 0 1 0
ok "over eth0" says "Ring Simple eth0" ./run_nccl_test_tcpx.sh nccl 2 8 0 1 0
ok "by the plugin's net" exits 0 ./run_nccl_test_tcpx.sh nccl 2 8 0 1 0
ok "by none but that" exits 3 env NET=Socket ./run_nccl_test_tcpx.sh nccl 2 8 0 1 0
ok "diagnostics/nccl_<ts>/SUMMARY.txt" sh -c "ls diagnostics/nccl_*/SUMMARY.txt"

# ---- note 002: the first measurements ----
ok "./test_tcpx_transfer server, client <ip>" pair "./test_tcpx_transfer server" \
	"./test_tcpx_transfer client $NODE0_ETH0_IP"
ok "a text arrives" grep -q "Received: 'Hello from TCPX client!'" "$scratch/server"
ok "over the plugin, between GPUs" both "PASSED.*$carried"
ok "./test_tcpx_perf server 0, client <ip> 0" pair "./test_tcpx_perf server 0" \
	"./test_tcpx_perf client $NODE0_ETH0_IP 0"
ok "a figure of the plugin between GPUs" figures 1
ok "its lines" both "\[PERF\] Mode: (SERVER|CLIENT)" "\[PERF\] Size: 1 MB" "\[PERF\] Iterations: 2" \
	"\[PERF\] Chunk size: 524288" "\[PERF\] Iteration 1: total bytes=1048576, chunk_bytes=524288" \
	"\[STEADY-STATE\] Avg time: [0-9.]+ ms, BW: [0-9.]+ GB/s $carried"
ok "with memory of the host it is no measurement of that" exits 3 on h1 env TCPX_CUDA_LIBRARY=/none \
	./test_tcpx_perf client "$NODE0_ETH0_IP" 0
without_plugin() {
	exits 3 on h1 env UCCL_TCPX_PLUGIN_PATH=/none ./test_tcpx_perf client "$NODE0_ETH0_IP" 0
}
ok "nor without the plugin" without_plugin

# ---- note 003: several channels ----
for self in test_bootstrap test_channel_manager test_sliding_window test_device_discovery; do
	ok "./$self" says PASSED on h0 "./$self"
done
ok "./test_multi_channel" pair "./test_multi_channel server 0" "./test_multi_channel client $NODE0_ETH0_IP 0"
ok "on four NICs" both "netDev 0 \(eth1" "netDev 1 \(eth2" "netDev 2 \(eth3" "netDev 3 \(eth4"
for channels in 1 2 4 8; do
	ok "UCCL_TCPX_NUM_CHANNELS=$channels ./bench_p2p.sh server 0, client <ip> 0" pair \
		"UCCL_TCPX_NUM_CHANNELS=$channels ./bench_p2p.sh server 0" \
		"UCCL_TCPX_NUM_CHANNELS=$channels ./bench_p2p.sh client $NODE0_ETH0_IP 0"
	ok "so many channels" both "Channels: $channels\$"
done
ok "a figure of the plugin between GPUs" figures 1
ok "4 channels there, 2 here" pair "UCCL_TCPX_NUM_CHANNELS=4 ./bench_p2p.sh server 0" \
	"UCCL_TCPX_NUM_CHANNELS=2 ./bench_p2p.sh client $NODE0_ETH0_IP 0"
ok "are two" both "Channels: 2\$"
ok "the older script's options" pair \
	"./bench_p2p.sh server 0 --ifaces=eth1,eth2,eth3,eth4 --unix-prefix=/run/tcpx --skip-warmup=1" \
	"./bench_p2p.sh client $NODE0_ETH0_IP 0 --ifaces=eth1,eth2,eth3,eth4 --ctrl=eth0 --size=1048576 --iters=2 --chunk=524288 --skip-warmup=1"

# ---- note 004: errors ----
tags() {
	grep "tag=" "$scratch/$1" | sed -n 's/.*tag=\([0-9]*\).*/\1/p' | paste -sd' '
}
ok "./test_tcpx_perf server 0 2>&1 | grep tag=" pair "UCCL_TCPX_SKIP_WARMUP=1 ./test_tcpx_perf server 0 2>&1" \
	"UCCL_TCPX_SKIP_WARMUP=1 ./test_tcpx_perf client $NODE0_ETH0_IP 0"
ok "begins with 99 and 100" says "99 100" tags server
for impl in kernel d2d host; do
	ok "UCCL_TCPX_UNPACK_IMPL=$impl ./test_tcpx_perf" pair \
		"UCCL_TCPX_UNPACK_IMPL=$impl ./test_tcpx_perf server 0" \
		"UCCL_TCPX_UNPACK_IMPL=$impl ./test_tcpx_perf client $NODE0_ETH0_IP 0"
done
ok "UCCL_TCPX_DEBUG=1 NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=NET ./test_tcpx_perf" pair \
	"UCCL_TCPX_DEBUG=1 UCCL_TCPX_LAUNCH_DEBUG=1 NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=NET ./test_tcpx_perf server 0" \
	"UCCL_TCPX_DEBUG=1 UCCL_TCPX_LAUNCH_DEBUG=1 NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=NET ./test_tcpx_perf client $NODE0_ETH0_IP 0"
for line in "[PERF] Kernel mode: Avg: 7040 ms" "[ncclNet:2] unable to allocate requests" \
	"[ERROR] Data verification failed" "[ERROR] Send timeout at iteration 0 chunk=6" "rx no cmsg"; do
	ok "tcpx doctor --explain '$line'" exits 0 "$tool" doctor --explain "$line"
done
done_testing
