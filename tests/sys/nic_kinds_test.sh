#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The default choice of NICs over interfaces that a kernel makes: a cable's end beside a bridge of
# containers, an overlay and a tunnel; other names; the only address on the loopback. A kernel without
# a driver leaves its interface out.
. "$(dirname "$0")/tap.sh"
unset TCPX_NICS TCPX_CTRL NCCL_SOCKET_IFNAME NCCL_GPUDIRECTTCPX_CTRL_DEV NCCL_GPUDIRECTTCPX_SOCKET_IFNAME
need_root
command -v ip >/dev/null || skip_all "needs ip, of iproute2"
unshare -n true 2>/dev/null || skip_all "no network namespaces here"

# alone SCRIPT: in a new namespace, its loopback up; $tool is the tool.
alone() {
	tool=$tool unshare -n sh -ec "ip link set lo up; $1" </dev/null
}
cable='ip link add eth0 type veth peer name other; ip link set eth0 up; ip link set other up
ip addr add 10.78.0.1/24 dev eth0'
others='ip link add cni9 type bridge; ip link set cni9 up; ip addr add 10.88.0.1/16 dev cni9
ip link add pod type veth peer name podp; ip link set pod master cni9 up; ip link set podp up
ip link add over type vxlan id 9 dev eth0 dstport 4789 2>/dev/null && ip link set over up && ip addr add 10.89.0.1/32 dev over || :
ip tuntap add mode tun name vpn 2>/dev/null && ip link set vpn up && ip addr add 10.90.0.1/24 dev vpn || :'

# used SCRIPT WANT [NAME=VALUE]: the NICs that info says are used, and a reason for each other one.
used() {
	alone "$1
${3-:}
\"\$tool\" info --json -" >"$scratch/json" || return
	python3 - "$scratch/json" "$2" <<'END'
import json, sys
nics = json.load(open(sys.argv[1]))["nics"]
names = " ".join(f'{n["name"]}/{n["address"]}' for n in nics["used"])
for nic in nics["all"]:
    print(nic["name"], nic["used"], nic["why"])
sys.exit(None if names == sys.argv[2] and all(n["why"] for n in nics["all"]) else f"used: {names}")
END
}
ok "the cable's end alone" used "$cable; $others" "eth0/10.78.0.1/24"
ok "another name" used "$cable; ip link property add dev eth0 altname port-1" "eth0/10.78.0.1/24" \
	"export TCPX_NICS==port-1"
ok "that of the control NIC" alone "$cable; ip link property add dev eth0 altname port-1
\"\$tool\" env --control port-1"
ok "the host's own address" used "$cable; ip addr flush dev eth0; ip addr add 10.78.0.100/32 dev eth0
ip addr add 10.78.0.7/24 dev eth0" "eth0/10.78.0.7/24"
ok "the only address on the loopback" used "ip addr add 10.9.0.1/32 dev lo" "lo/10.9.0.1/32"
ok "nothing but the loopback" used ":" "lo/127.0.0.1/8"
done_testing
