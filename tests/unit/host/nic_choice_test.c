/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The default choice over trees of /sys, as kernels with these drivers write them: which interfaces
 * carry data, in which order, and why the others do not.
 */
#include "../fixture.h"

#include "host/host.h"

#define DEVICE " at=pci0000:00/0000:00:01.0"
#define ETH "nic name=eth0" DEVICE " addr=10.0.0.1/24\n"
#define LO "nic name=lo loopback=1 addr=127.0.0.1/8\n"

static const struct {
	const char *name, *machine, *chosen;
	const char *out, *why; /* of one that is left out: a part of the reason */
} rows[] = {
	{ "a device", ETH LO, "eth0", "lo", "loopback" },
	{ "a bond of devices", "nic name=bond0 kind=bond addr=10.0.0.1/24\n"
	  "nic name=eth0" DEVICE " master=bond0\nnic name=eth1" DEVICE " master=bond0\n", "bond0", "eth0", "part of a bond" },
	{ "a VLAN over a bond", "nic name=bond0 kind=bond\nnic name=eth0" DEVICE " master=bond0\n"
	  "nic name=bond0.7 kind=vlan lower=bond0 addr=10.0.0.1/24\n" LO, "bond0.7", "bond0", "" },
	{ "a VLAN beside its device", ETH "nic name=eth0.7 kind=vlan lower=eth0 addr=10.7.0.1/24\n",
	  "eth0 eth0.7", NULL, NULL },
	{ "a VLAN over a bridge of containers", ETH "nic name=br0 kind=bridge\n"
	  "nic name=br0.7 kind=vlan lower=br0 addr=10.7.0.1/24\n", "eth0", "br0.7", "bridge without a NIC" },
	{ "macvlan of a host", ETH "nic name=mv0 kind=macvlan lower=eth0 addr=10.7.0.1/24\n",
	  "eth0 mv0", NULL, NULL },
	{ "macvlan in a container", "nic name=net1 kind=macvlan addr=10.7.0.1/24\n"
	  "nic name=eth0 kind=veth addr=10.0.0.1/24\n", "net1", "eth0", "container's end" },
	{ "a virtual function in a container", "nic name=net1" DEVICE " driver=mlx5_core addr=10.7.0.1/24\n"
	  "nic name=eth0 kind=veth addr=10.0.0.1/32\n", "net1", "eth0", "container's end" },
	{ "virtio", "nic name=ens3" DEVICE " below=virtio0 driver=virtio_net addr=10.0.0.1/24\n" LO, "ens3", NULL, NULL },
	{ "the veth of a container", "nic name=eth0 kind=veth addr=10.0.0.1/24\n" LO, "eth0", NULL, NULL },
	{ "two of them", "nic name=eth0 kind=veth addr=10.0.0.1/24\nnic name=net1 kind=veth addr=10.1.0.1/24\n",
	  "eth0 net1", NULL, NULL },
	{ "a container that has containers", "nic name=eth0 kind=veth addr=10.0.0.1/24\n"
	  "nic name=veth3a kind=veth addr=10.9.0.1/32\n", "eth0", "veth3a", "container's end" },
	{ "only such a name", "nic name=veth0 kind=veth addr=10.0.0.1/24\n" LO, "veth0", NULL, NULL },
	{ "veth of a host", ETH "nic name=pod7 kind=veth addr=10.9.0.1/32\n", "eth0", "pod7", "container's end" },
	{ "a bridge of containers", ETH "nic name=nerdctl0 kind=bridge addr=10.4.0.1/24\n"
	  "nic name=nb kind=veth master=nerdctl0\n", "eth0", "nerdctl0", "bridge without a NIC" },
	{ "its ports", ETH "nic name=b0 kind=bridge\nnic name=nb kind=veth master=b0 addr=10.4.0.2/24\n",
	  "eth0", "nb", "port of a bridge" },
	{ "a bridge over a device", "nic name=br-ex kind=bridge addr=10.0.0.1/24\n"
	  "nic name=eth0" DEVICE " master=br-ex\n", "br-ex", "eth0", "port of a bridge" },
	{ "Open vSwitch over a device", "nic name=br-ex kind=openvswitch addr=10.0.0.1/24\n"
	  "nic name=ovs-system kind=openvswitch\nnic name=eth0" DEVICE " master=ovs-system\n", "br-ex", "eth0", "port" },
	{ "docker's, of unknown kind", ETH "nic name=br-0123456789ab addr=172.18.0.1/16\n", "eth0",
	  "br-0123456789ab", "name of a container's" },
	{ "vxlan", ETH "nic name=vx kind=vxlan lower=eth0 addr=10.244.1.0/32\n", "eth0", "vx", "tunnel or overlay" },
	{ "geneve", ETH "nic name=gnv kind=geneve addr=10.244.1.0/32\n", "eth0", "gnv", "tunnel or overlay" },
	{ "wireguard", ETH "nic name=office kind=wireguard addr=10.8.0.1/24\n", "eth0", "office", "tunnel or overlay" },
	{ "tun", ETH "nic name=vpn addr=10.8.0.1/24\nfile path=sys/devices/virtual/net/vpn/tun_flags text=0x1001\n",
	  "eth0", "vpn", "tunnel or overlay" },
	{ "a tunnel alone", "nic name=tap0 kind=tun addr=10.0.2.100/24\n" LO, "tap0", NULL, NULL },
	{ "dummy", ETH "nic name=any kind=dummy addr=10.9.0.1/32\n", "eth0", "any", "no link of its own" },
	{ "dummy with the only address", "nic name=any kind=dummy addr=10.9.0.1/32\n"
	  "nic name=eth0" DEVICE " addr=fe80::1/64\n" LO, "any", "eth0", "only a link-local address; TCPX_NICS" },
	{ "the loopback with the only address", "nic name=lo loopback=1 addr=127.0.0.1/8 addr=10.9.0.1/32\n"
	  "nic name=eth0" DEVICE " addr=fe80::1/64\n", "lo", "eth0", "only a link-local" },
	{ "the loopback with one more", ETH "nic name=lo loopback=1 addr=127.0.0.1/8 addr=10.9.0.1/32\n",
	  "eth0", "lo", "loopback" },
	{ "it has a link-local one, too", "nic name=lo loopback=1 addr=169.254.20.10/32 addr=127.0.0.1/8\n",
	  "lo", NULL, NULL },
	{ "the loopback before a tunnel", "nic name=lo loopback=1 addr=127.0.0.1/8 addr=10.9.0.1/32\n"
	  "nic name=t kind=wireguard addr=10.8.0.1/24\n", "lo", "t", "tunnel" },
	{ "Wi-Fi beside a cable", ETH "nic name=wlp2s0 wlan=1" DEVICE " addr=10.5.0.1/24\n", "eth0", "wlp2s0", "Wi-Fi" },
	{ "Wi-Fi, and a cable that is out", "nic name=eth0 state=down" DEVICE " addr=10.0.0.1/24\n"
	  "nic name=wlp2s0 wlan=1" DEVICE " addr=10.5.0.1/24\n", "wlp2s0", "eth0", "down" },
	{ "names alone", "nic name=eth0 kind=veth addr=10.0.0.1/24\nnic name=cilium_host kind=veth addr=10.1.0.1/32\n"
	  "nic name=tailscale0 addr=100.72.0.1/32\nnic name=ovn-k8s-mp0 addr=10.2.0.1/24\n"
	  "nic name=kube-ipvs0 addr=10.3.0.1/32\nnic name=incusbr0 addr=10.4.0.1/24\n", "eth0", "kube-ipvs0", "name of" },
	{ "a device with such a name", "nic name=vnet0" DEVICE " addr=10.0.0.1/24\n" LO, "vnet0", NULL, NULL },
	{ "slow beside fast", "nic name=eno1 speed=1000" DEVICE " addr=10.0.0.1/24\n"
	  "nic name=ens1 speed=100000" DEVICE " addr=10.1.0.1/24\nnic name=ens2 speed=100000" DEVICE " addr=10.2.0.1/24\n",
	  "ens1 ens2", "eno1", "control only" },
	{ "a tenth", "nic name=eno1 speed=10000" DEVICE " addr=10.0.0.1/24\n"
	  "nic name=ens1 speed=100000" DEVICE " addr=10.1.0.1/24\n", "ens1 eno1", NULL, NULL },
	{ "of unknown speed", "nic name=eno1 speed=-1" DEVICE " addr=10.0.0.1/24\n"
	  "nic name=ens1 speed=100000" DEVICE " addr=10.1.0.1/24\n", "ens1 eno1", NULL, NULL },
	{ "the default route's first", ETH "nic name=eth1" DEVICE " addr=10.1.0.1/24\nnic name=eth2 speed=25000" DEVICE
	  " addr=10.2.0.1/24\nfile path=proc/net/route text=eth1 00000000 010000A 0003 0 0 100 00000000\n",
	  "eth1 eth2 eth0", NULL, NULL },
	{ "of IPv6", ETH "nic name=eth1" DEVICE " addr=10.1.0.1/24\nfile path=proc/net/ipv6_route text="
	  "00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 "
	  "00000400 00000001 00000000 00000003 eth1\n", "eth1 eth0", NULL, NULL },
	{ "an address that is to go", "nic name=eth0" DEVICE " addr=10.0.0.9/24,deprecated addr=fd00::1/64\n", "eth0", NULL, NULL },
};

static struct tcpx_host_nic *all;
static unsigned all_count;

static const struct tcpx_host_nic *
find(const char *name)
{
	for (unsigned i = 0; i < all_count; i++)
		if (!strcmp(all[i].ifname, name))
			return &all[i];
	fail_msg("%s is missing", name);
	return NULL;
}

static void
chosen_of(const char *machine, const char *selection, char *text, size_t cap)
{
	static struct tcpx_host_nic out[TCPX_HOST_NICS];
	struct fixture f;
	unsigned count = 0;
	size_t len = 0;

	fixture_init(&f);
	fixture_add(&f, machine);
	assert_int_equal(tcpx_host_nics_read(f.root, &all, &all_count), 0);
	fixture_fini(&f);
	*text = '\0';
	if (tcpx_host_nics_select(all, all_count, selection, out, TCPX_HOST_NICS, &count) < 0)
		count = 0;
	for (unsigned i = 0; i < count; i++)
		len += (size_t)snprintf(text + len, cap - len, "%s%s", i ? " " : "", out[i].name);
}

TEST(what_an_interface_is_decides)
{
	char text[256];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		chosen_of(rows[i].machine, "", text, sizeof(text));
		check_text(rows[i].name, text, rows[i].chosen);
		if (rows[i].out) {
			const char *why = find(rows[i].out)->left_out;

			if (!why || !strstr(why, rows[i].why))
				fail_msg("%s: %s: \"%s\", want \"%s\"", rows[i].name, rows[i].out,
					 why ? why : "chosen", rows[i].why);
		}
		free(all);
	}
}

/* Without what is excluded the next best are taken. */
TEST(an_exclusion_leaves_the_next_grade)
{
	static const char machine[] = ETH LO "nic name=wlp2s0 wlan=1" DEVICE " addr=10.5.0.1/24\n"
				      "nic name=office kind=wireguard addr=10.8.0.1/24\n";
	char text[256];

	chosen_of(machine, "^eth", text, sizeof(text));
	check_text("^eth", text, "wlp2s0");
	free(all);
	chosen_of(machine, "^eth,wlp", text, sizeof(text));
	check_text("^eth,wlp", text, "lo");
	free(all);
	chosen_of(machine, "office", text, sizeof(text));
	check_text("named", text, "office");
	free(all);
}

TEST(the_address_is_the_hosts_own)
{
	char text[TCPX_HOST_ADDR_TEXT];

	chosen_of("nic name=eth0" DEVICE " addr=10.1.0.100/32 addr=10.1.0.3/24,temporary addr=10.1.0.2/24\n", "", text,
		  sizeof(text));
	tcpx_host_addr_format(&find("eth0")->addr, text, sizeof(text));
	check_text("IPv4", text, "10.1.0.2/24");
	free(all);
	chosen_of("nic name=eth0" DEVICE " addr=2001:db8::100/128,deprecated addr=2001:db8::2/64\n", "", text,
		  sizeof(text));
	tcpx_host_addr_format(&find("eth0")->addr, text, sizeof(text));
	check_text("IPv6", text, "2001:db8::2/64");
	free(all);
	chosen_of("nic name=lo loopback=1 addr=127.0.0.1/8 addr=10.9.0.1/32\n", "lo", text, sizeof(text));
	tcpx_host_addr_format(&find("lo")->addr, text, sizeof(text));
	check_text("loopback", text, "10.9.0.1/32");
	free(all);
}
