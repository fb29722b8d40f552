#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gpu_node.sh near|half|far - CPUs of the first GPU's node, half of them, or those of another node.
# Exit code 1 where there are none.
gpu=$(nvidia-smi --query-gpu=pci.bus_id --format=csv,noheader 2>/dev/null | head -1 |
	tr '[:upper:]' '[:lower:]' | sed 's/^0000\(....:\)/\1/')
device=/sys/bus/pci/devices/$gpu
[ -n "$gpu" ] && [ -e "$device/local_cpulist" ] || exit 1
near=$(cat "$device/local_cpulist")
node=$(cat "$device/numa_node")
case $1 in
near) echo "$near" ;;
half)
	python3 -c '
import sys
cpus = []
for part in sys.argv[1].split(","):
    first, _, last = part.partition("-")
    cpus += range(int(first), int(last or first) + 1)
if len(cpus) < 4:
    sys.exit(1)
print(",".join(map(str, cpus[:len(cpus) // 2])))' "$near"
	;;
far)
	[ "$node" -ge 0 ] || exit 1
	for other in /sys/devices/system/node/node[0-9]*; do
		cpus=$(cat "$other/cpulist")
		if [ "$other" != "/sys/devices/system/node/node$node" ] && [ -n "$cpus" ]; then
			echo "$cpus"
			exit
		fi
	done
	exit 1
	;;
*) exit 2 ;;
esac
