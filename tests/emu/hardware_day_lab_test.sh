#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# deploy/hardware-day.md as written, between two emulated hosts of five NICs: control by eth0, data by
# eth1 to eth4, the software plugin and eight GPUs in software. Each step ends as the page says, and
# what doctor and lint find is what the page lists. Sizes, channels and rounds are small.
here=$(dirname "$0")
. "$here/../sys/tap.sh"
root=$(cd "$here/../.." && pwd)
page=$root/deploy/hardware-day.md
unset TCPX_CTRL TCPX_NICS NCCL_GPUDIRECTTCPX_CTRL_DEV NCCL_GPUDIRECTTCPX_SOCKET_IFNAME
lab_up --nics 5

mkdir "$scratch/bin"
ln -s "$tool" "$scratch/bin/tcpx"
command -v ethtool >/dev/null || {
	printf '#!/bin/sh\necho no statistics\n' >"$scratch/bin/ethtool"
	chmod +x "$scratch/bin/ethtool"
}
cat >"$scratch/setup" <<END
PATH=$scratch/bin:\$PATH
eval "\$(tcpx env)"
export TCPX_PLUGIN_PATH=$EMU_LIBRARY TCPX_CUDA_LIBRARY=$FAKECUDA_LIBRARY FAKECUDA_DEVICES=8
export TCPX_EMU_NICS="eth1,gpus=0+1;eth2,gpus=2+3;eth3,gpus=4+5;eth4,gpus=6+7"
export TCPX_MAP="gpu0=eth1;gpu1=eth1;gpu2=eth2;gpu3=eth2;gpu4=eth3;gpu5=eth3;gpu6=eth4;gpu7=eth4"
export TCPX_CHANNELS=4 TCPX_WINDOW=4
END
out=$scratch/day

env_is_a3() {
	on h0 sh -c ". $scratch/setup; env" >"$scratch/env" &&
		grep -x "NCCL_GPUDIRECTTCPX_CTRL_DEV=eth0" "$scratch/env" &&
		grep -x "TCPX_NICS=eth1,eth2,eth3,eth4" "$scratch/env"
}
ok "tcpx env names eth0 for control and the others for data" env_is_a3

day() {
	on h0 sh -c ". $scratch/setup
		export RSH='$tool lab exec --name $lab h1 sh -c' PEER_SETUP='. $scratch/setup'
		SIZE=1M ITERS=1 ROUNDS=1 PEER_NICS=10.77.1.2,10.77.2.2,10.77.3.2,10.77.4.2 \\
			$root/scripts/hardware_day.sh --out $out $* 10.77.0.2"
}
ok "every step runs" day
ends_as_said() {
	grep -v " 0$" "$out/summary.txt" >"$scratch/ends"
	printf '%s\n' "machine doctor 1" "machine lint 1" "own-nic foreign 1" "after doctor 1" |
		diff - "$scratch/ends"
}
ok "and ends as the page says" ends_as_said
measured() {
	count_of=0
	for json in "$out"/pages.*.json "$out"/size.*.json "$out"/fragments.*.json "$out"/sync.*.json; do
		right "$json" "r['provider'] == 'tcpx' and
			{n['nic'] for n in rows[0]['per_nic'] if n['bytes']} <= {'eth1', 'eth2', 'eth3', 'eth4'}" ||
			{ echo "$json"; return 1; }
		count_of=$((count_of + 1))
	done
	[ $count_of = 15 ]
}
ok "each measurement went over the plugin by the data NICs, every byte right" measured
foreign() {
	grep -q "rx no cmsg" "$out/own-nic.foreign.serve.txt"
}
ok "a GPU does not receive by a NIC of others" foreign
findings_are_listed() {
	python3 -c "
import json, sys
for c in json.load(open('$out/doctor.json'))['checks']:
    if c['status'] == 'finding' and c['severity'] == 'error':
        print('doctor', c['id'])
" >"$scratch/found" && sed -n 's/^\(error\|warning\) *\([a-z-]*\).*/lint \2/p' "$out/machine.lint.txt" \
		>>"$scratch/found" && cat "$scratch/found" && grep -q rxdm "$scratch/found" || return 1
	while read -r who id; do
		grep -E "^- .(doctor|env --lint)" "$page" | grep "$who" | grep -q "\`$id\`" || return 1
	done <"$scratch/found"
}
ok "errors that are found are those of the image and RxDM, as the page lists" findings_are_listed
done_testing
