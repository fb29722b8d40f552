/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the NICs: their number, their places, the kernel's help for them. */
#include <stdio.h>
#include <string.h>

#include "tune/doctor/checks.h"
#include "tune/doctor/peer_route.h"
#include "tool/tool.h"
#include "tune/facts/text.h"

#define MTU_MIN 1500
#define BUFFER_MIN (4ll << 20) /* bytes: about 25 Gb/s at 1 ms, 200 Gb/s at 160 us */

static bool
has_nics(const struct machine *m, struct check_result *r)
{
	if (m->nic_count)
		return true;
	check_skip(r, "no NIC is chosen");
	return false;
}

static void
probe_found(const struct machine *m, struct check_result *r)
{
	for (unsigned i = 0; i < m->nic_count; i++) {
		char addr[TCPX_HOST_ADDR_TEXT];

		tcpx_host_addr_format(&m->nics[i].addr, addr, sizeof(addr));
		if (!strcmp(m->nics[i].name, m->nics[i].ifname))
			check_add(r, "%s %s", m->nics[i].name, addr);
		else
			check_add(r, "%s on %s", addr, m->nics[i].ifname);
	}
	if (m->nic_count == 0)
		check_finding(r, "\"%s\" chooses none of %u interfaces", m->selection,
			      m->facts->nic_count);
}

static void
probe_loopback_only(const struct machine *m, struct check_result *r)
{
	unsigned real = 0;

	if (!has_nics(m, r))
		return;
	for (unsigned i = 0; i < m->nic_count; i++)
		real += !tcpx_addr_is_loopback(&m->nics[i].addr);
	if (real)
		check_ok(r, "by %u of the %u chosen", real, m->nic_count);
	else
		check_finding(r, "only the loopback is used: no other machine can be reached");
}

static void
probe_up(const struct machine *m, struct check_result *r)
{
	unsigned hardware = 0;

	for (unsigned i = 0; i < m->facts->nic_count; i++) {
		hardware += m->facts->nics[i].hardware;
		if (m->facts->nics[i].hardware && !m->facts->nics[i].up)
			check_add(r, "%s is down", m->facts->nics[i].name);
	}
	if (hardware)
		check_judge(r, "all %u", hardware);
	else
		check_skip(r, "no hardware NIC is seen");
}

/* The machine's address is on none of its NICs, which carry what is routed by others:
 * link-local ones do. */
static bool
routes_itself(const struct machine *m)
{
	const struct tcpx_host_nic *first = m->nics;

	return m->nic_count && (first->loopback || !strcmp(first->kind, "dummy")) &&
	       !tcpx_addr_is_loopback(&first->addr);
}

/* A NIC that is left out for its address. Every link has one of IPv6, so of what is no
 * hardware one of IPv4 counts, which somebody has given. */
static bool
is_link_only(const struct machine *m, const struct tcpx_host_nic *nic)
{
	return nic->up && tcpx_addr_is_link_local(&nic->addr) && nic->grade && !routes_itself(m) &&
	       !machine_chosen(m, nic->ifname) && (nic->hardware || nic->addr.family == 4);
}

static void
probe_address(const struct machine *m, struct check_result *r)
{
	char link_only[256] = "";
	unsigned up = 0;
	size_t len = 0;

	for (unsigned i = 0; i < m->facts->nic_count; i++) {
		const struct tcpx_host_nic *nic = &m->facts->nics[i];

		up += nic->hardware && nic->up;
		if (nic->hardware && nic->up && nic->addr.family == 0)
			check_add(r, "%s has none", nic->name);
		if (is_link_only(m, nic) && len < sizeof(link_only))
			len += (size_t)snprintf(link_only + len, sizeof(link_only) - len, "%s%s",
						len ? "," : "", nic->name);
	}
	if (len)
		check_add(r, "link-local ones alone, which TCPX_NICS=%s takes", link_only);
	if (up || r->evidence[0])
		check_judge(r, "all %u that are up", up);
	else
		check_skip(r, "no hardware NIC is up");
}

/* The kernel uses the greater of the value for all and that of the interface. */
static long long
read_conf(const struct machine *m, const char *ifname, const char *name)
{
	char path[128];
	long long all, own;

	snprintf(path, sizeof(path), "/proc/sys/net/ipv4/conf/all/%s", name);
	all = machine_number(m, path);
	snprintf(path, sizeof(path), "/proc/sys/net/ipv4/conf/%s/%s", ifname, name);
	own = machine_number(m, path);
	return all > own ? all : own;
}

static long long
least_conf(const struct machine *m, const struct tcpx_host_nic *a, const struct tcpx_host_nic *b,
	   const char *name)
{
	long long of_a = read_conf(m, a->ifname, name), of_b = read_conf(m, b->ifname, name);

	return of_a < of_b ? of_a : of_b;
}

/* The NIC that the route to the subnet of both names: strict filtering drops packets of the
 * other. */
static const struct tcpx_host_nic *
routed(const struct machine *m, const struct tcpx_host_nic *a, const struct tcpx_host_nic *b)
{
	char route[8192], ifname[16];

	if (tcpx_host_text_read(m->root, "/proc/net/route", route, sizeof(route)) < 0 ||
	    !peer_route_find(route, &a->addr, ifname, sizeof(ifname)))
		return a;
	return strcmp(ifname, b->ifname) ? a : b;
}

/* ARP as by default: either NIC answers for both addresses, also a NIC that is not used. */
static void
judge_pair(const struct machine *m, const struct tcpx_host_nic *a,
	   const struct tcpx_host_nic *b, struct check_result *r)
{
	const struct tcpx_host_nic *other = routed(m, a, b) == a ? b : a;
	long long filter = read_conf(m, other->ifname, "rp_filter");
	long long ignore = least_conf(m, a, b, "arp_ignore");
	long long announce = least_conf(m, a, b, "arp_announce");
	bool drops = filter == 1 && machine_chosen(m, other->ifname);

	if (drops || ignore == 0 || announce == 0)
		check_add(r, "%s and %s: rp_filter %lld, arp_ignore %lld, arp_announce %lld",
			  a->name, b->name, filter, ignore, announce);
}

/* Any two addresses of theirs. */
static bool
share_subnet(const struct tcpx_host_nic *a, const struct tcpx_host_nic *b)
{
	for (unsigned i = 0; i < a->addr_count; i++)
		for (unsigned k = 0; k < b->addr_count; k++)
			if (a->addrs[i].family == 4 &&
			    tcpx_host_addr_same_subnet(&a->addrs[i], &b->addrs[k]))
				return true;
	return false;
}

/* Neither is used, or the one that is has just met the peer all the same. */
static bool
is_harmless(const struct machine *m, const struct tcpx_host_nic *a, const struct tcpx_host_nic *b)
{
	bool used_a = machine_chosen(m, a->ifname), used_b = machine_chosen(m, b->ifname);

	return (!used_a && !used_b) ||
	       (used_a != used_b && check_meets_peer(m, used_a ? a : b));
}

static void
probe_subnets(const struct machine *m, struct check_result *r)
{
	unsigned up = 0, pairs = 0;

	for (unsigned i = 0; i < m->facts->nic_count; i++) {
		const struct tcpx_host_nic *a = &m->facts->nics[i];

		if (!a->up || a->loopback)
			continue;
		up++;
		for (unsigned k = i + 1; k < m->facts->nic_count; k++) {
			const struct tcpx_host_nic *b = &m->facts->nics[k];

			if (!b->up || b->loopback || !share_subnet(a, b) || is_harmless(m, a, b))
				continue;
			pairs++;
			judge_pair(m, a, b, r);
		}
	}
	if (up < 2)
		check_skip(r, "fewer than 2 NICs are up");
	else
		check_judge(r, pairs ? "%u pairs in one subnet, set up for it" :
				       "no two in one subnet", pairs);
}

static void
probe_mtu(const struct machine *m, struct check_result *r)
{
	const struct tcpx_host_nic *first = NULL;

	if (!has_nics(m, r))
		return;
	for (unsigned i = 0; i < m->nic_count; i++) {
		const struct tcpx_host_nic *nic = &m->nics[i];

		if (nic->loopback || nic->mtu == 0)
			continue;
		if (nic->mtu < MTU_MIN)
			check_add(r, "%s has %u, below %d", nic->name, nic->mtu, MTU_MIN);
		if (!first)
			first = nic;
		else if (nic->mtu != first->mtu)
			check_add(r, "%s has %u but %s %u", nic->name, nic->mtu, first->name,
				  first->mtu);
	}
	check_add_sizes(m, r);
	if (first || r->evidence[0])
		check_judge(r, "%u", first ? first->mtu : 0);
	else
		check_unknown(r, "no MTU is known");
}

static void
probe_node(const struct machine *m, struct check_result *r)
{
	unsigned hardware = 0;

	if (m->facts->cpus.node_count < 2) {
		if (m->facts->cpus.node_count)
			check_skip(r, "the machine has one NUMA node");
		else
			check_unknown(r, "no NUMA nodes are known");
		return;
	}
	for (unsigned i = 0; i < m->nic_count; i++) {
		hardware += m->nics[i].hardware;
		if (m->nics[i].hardware && m->nics[i].place.numa < 0)
			check_add(r, "%s", m->nics[i].name);
	}
	if (hardware)
		check_judge(r, "all %u", hardware);
	else
		check_skip(r, "no hardware NIC is chosen");
}

/* Counts the GPUs that have a NIC at their own switch. */
static unsigned
gpus_at_switch(const struct machine *m)
{
	unsigned count = 0;

	for (unsigned g = 0; g < m->facts->gpu_count; g++) {
		enum tcpx_distance distance = TCPX_DISTANCE_UNKNOWN;

		count += machine_nearest(m, &m->facts->gpus[g], &distance) && distance == TCPX_SAME_SWITCH;
	}
	return count;
}

/* A machine without a NIC at any GPU's switch was not made for GPUDirect: that is no
 * finding. */
static void
probe_gpus(const struct machine *m, struct check_result *r)
{
	unsigned at_switch;

	if (!m->facts->gpu_count) {
		check_skip(r, "no GPU on the PCI bus");
		return;
	}
	if (!has_nics(m, r))
		return;
	at_switch = gpus_at_switch(m);
	for (unsigned g = 0; g < m->facts->gpu_count; g++) {
		enum tcpx_distance distance;
		const struct tcpx_host_nic *nic = machine_nearest(m, &m->facts->gpus[g], &distance);
		const char *pci = m->facts->gpus[g].place.pci;

		if (distance == TCPX_CROSS_NODE)
			check_add(r, "GPU %s: the nearest, %s, is on another node", pci, nic->name);
		else if (distance == TCPX_DISTANCE_UNKNOWN && m->facts->cpus.node_count > 1)
			check_add(r, "GPU %s: no distance is known", pci);
		else if (distance != TCPX_SAME_SWITCH && at_switch)
			check_add(r, "GPU %s: no NIC is at its own PCIe switch, as GPUDirect-TCPX needs it; the "
				  "nearest is %s", pci, nic->name);
	}
	check_judge(r, "all %u%s", m->facts->gpu_count, at_switch ? "" :
		    "; none has a NIC at its own PCIe switch, as GPUDirect-TCPX needs it");
}

/* tcp_rmem and tcp_wmem hold least, initial and greatest. */
static long long
read_buffer_max(const struct machine *m, const char *path)
{
	char text[128];
	long long max;

	if (tcpx_host_text_read(m->root, path, text, sizeof(text)) <= 0 ||
	    sscanf(text, "%*d %*d %lld", &max) != 1)
		return -1;
	return max;
}

static void
probe_buffers(const struct machine *m, struct check_result *r)
{
	static const char *const names[] = { "tcp_rmem", "tcp_wmem" };
	long long max[ARRAY_LEN(names)];

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/sys/net/ipv4/%s", names[i]);
		max[i] = read_buffer_max(m, path);
		if (max[i] < 0) {
			check_unknown(r, "%s cannot be read", path);
			return;
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (max[i] < BUFFER_MIN)
			check_add(r, "%s ends at %lld bytes, below %lld", names[i], max[i],
				  BUFFER_MIN);
	check_judge(r, "receive %lld, send %lld bytes", max[0], max[1]);
}

static void
probe_congestion(const struct machine *m, struct check_result *r)
{
	char name[64];

	if (tcpx_host_text_read(m->root, "/proc/sys/net/ipv4/tcp_congestion_control", name,
				sizeof(name)) <= 0)
		check_unknown(r, "/proc/sys/net/ipv4/tcp_congestion_control cannot be read");
	else if (!strcmp(name, "reno"))
		check_finding(r, "reno, which needs long to fill a fast link after each loss");
	else
		check_ok(r, "%s", name);
}

const struct check checks_nic[] = {
	{ "nics", CHECK_ERROR, "Is there a NIC to use?", probe_found,
	  "Bring an interface up and give it an address, or change TCPX_NICS; tcpx info tells "
	  "for each interface why it is not used." },
	{ "loopback", CHECK_NOTE, "Can another machine be reached?", probe_loopback_only,
	  "Good for trying things out. For two machines an interface must be up and have an "
	  "address that others can reach." },
	{ "nics-up", CHECK_WARNING, "Are all hardware NICs up?", probe_up,
	  "ip link set NIC up; if it stays down, look at the cable or the virtual network." },
	{ "addresses", CHECK_WARNING, "Has every hardware NIC that is up an address?", probe_address,
	  "Without an address a NIC is not used: ip addr add ADDRESS/PREFIX dev NIC. Those that reach "
	  "their own link alone are used where TCPX_NICS names no other NICs, on both sides." },
	{ "subnets", CHECK_WARNING, "Can NICs that share a subnet be told apart?", probe_subnets,
	  "Give each NIC its own subnet, or for these: sysctl net.ipv4.conf.NIC.rp_filter=2, "
	  "arp_ignore=1, arp_announce=2." },
	{ "mtu", CHECK_WARNING, "Are the MTUs equal, 1500 at least, and carried?", probe_mtu,
	  "Set the greatest that the whole network carries, the same everywhere: "
	  "ip link set NIC mtu BYTES. Small packets cost CPU time." },
	{ "nic-nodes", CHECK_WARNING, "Is the NUMA node of every NIC known?", probe_node,
	  "The firmware or hypervisor does not tell; pin the I/O threads by TCPX_CPUS if you "
	  "know better." },
	{ "gpu-nics", CHECK_WARNING, "Has every GPU a NIC at its switch, or on its NUMA node?", probe_gpus,
	  "Choose a NIC next to each GPU (TCPX_NICS), or use the GPUs next to the chosen ones." },
	{ "buffers", CHECK_WARNING, "May TCP buffers grow to 4 MiB?", probe_buffers,
	  "sysctl net.ipv4.tcp_rmem='4096 131072 16777216' "
	  "net.ipv4.tcp_wmem='4096 131072 16777216'." },
	{ "congestion", CHECK_WARNING, "Is the congestion control fit for fast links?", probe_congestion,
	  "sysctl net.ipv4.tcp_congestion_control=cubic." },
};

const size_t checks_nic_count = ARRAY_LEN(checks_nic);
