/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The default choice of NICs. Pure, and the whole rule in one place:
 *
 *	grade     by device and kind, and by name only where these say nothing: 1. a device, and bonds, bridges, VLANs and
 *	          the like that stand on one, 2. Wi-Fi, 3. a container's end of a cable (veth), 4. one that
 *	          is named "veth...", 5. an address that peers may reach, on the loopback or a dummy,
 *	          6. tunnels
 *	never     other bridges and what stands on them, ports of bridges and bonds, names of the
 *	          networks of containers and virtual machines
 *	choice    all of the best grade that is up and has an address that reaches beyond its link;
 *	          without any the loopback
 *	slow      among these, one with less than a tenth of the fastest one's speed carries control only
 *	order     the one of the default route, then the faster ones, then by name
 */
#include <string.h>

#include "host/addr.h"

#define SLOW   10
#define DEPTH  4 /* a VLAN over a bond of VLANs */

enum grade { NEVER, TUNNEL, STILL, LOOSE_END, END, WIRELESS, DEVICE };

/* The network of containers and virtual machines, by the beginnings of their names. */
static const char *const listed[] = {
	"docker", "virbr", "lxcbr", "lxdbr", "lxc", "podman", "cni", "cali", "flannel", "gke", "cilium",
	"nerdctl", "tunl", "tailscale", "vxlan", "geneve", "genev_sys", "wg", "vnet", "incusbr", "cbr0",
	"weave", "ovn-k8s", "kube-", "nodelocaldns", "br-int", "zt",
};

static const char *const tunnels[] = {
	"tun", "wireguard", "vxlan", "geneve", "ipip", "sit", "gre", "gretap", "erspan", "ip6tnl", "ip6gre",
	"ip6gretap", "ip6erspan", "vti", "vti6", "xfrm", "gtp", "bareudp", "amt", "l2tpeth",
};

static const char *const on_lower[] = { "vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "macsec" };
static const char *const bridges[] = { "bridge", "openvswitch" };
static const char *const bonds[] = { "bond", "team" };
static const char *const still[] = { "dummy", "vrf" };
static const char *const ends[] = { "veth", "netkit" };

#define IS(text, list) is_one(text, list, sizeof(list) / sizeof((list)[0]))

static bool
is_one(const char *text, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(text, list[i]))
			return true;
	return false;
}

static bool
is_listed(const char *name)
{
	for (size_t i = 0; i < sizeof(listed) / sizeof(listed[0]); i++)
		if (!strncmp(name, listed[i], strlen(listed[i])))
			return true;
	/* docker's, where its kind is unknown */
	return !strncmp(name, "br-", 3);
}

static const struct tcpx_host_nic *
find(const struct tcpx_host_nic *all, unsigned count, const char *name)
{
	for (unsigned i = 0; *name && i < count; i++)
		if (!strcmp(all[i].ifname, name))
			return &all[i];
	return NULL;
}

static enum grade grade_of(const struct tcpx_host_nic *all, unsigned count,
			   const struct tcpx_host_nic *nic, unsigned depth, const char **why);

/* The best grade of those that belong to it. Of Open vSwitch's bridges the kernel says it
 * for all together. */
static enum grade
grade_of_members(const struct tcpx_host_nic *all, unsigned count, const struct tcpx_host_nic *nic,
		 unsigned depth)
{
	enum grade best = NEVER;
	const char *why;

	for (unsigned i = 0; i < count; i++) {
		const struct tcpx_host_nic *master = find(all, count, all[i].master);
		enum grade g;

		if (!master || (master != nic && (strcmp(nic->kind, "openvswitch") != 0 ||
						  strcmp(master->kind, "openvswitch") != 0)))
			continue;
		g = grade_of(all, count, &all[i], depth + 1, &why);
		if (g > best)
			best = g;
	}
	return best;
}

/* Grades a link by the links below it; false: there are none below it. */
static bool
grade_by_others(const struct tcpx_host_nic *all, unsigned count, const struct tcpx_host_nic *nic,
		unsigned depth, enum grade *grade, const char **why)
{
	const struct tcpx_host_nic *lower = find(all, count, nic->lower);

	if (depth == DEPTH)
		return false;
	if (IS(nic->kind, on_lower)) {
		/* what is in another network namespace is the machine's */
		*grade = lower ? grade_of(all, count, lower, depth + 1, why) : DEVICE;
		return true;
	}
	if (!IS(nic->kind, bonds) && !IS(nic->kind, bridges))
		return false;
	*grade = grade_of_members(all, count, nic, depth);
	if (*grade == NEVER && IS(nic->kind, bonds))
		*grade = DEVICE; /* the members may be unknown */
	if (*grade < WIRELESS && IS(nic->kind, bridges)) {
		*grade = NEVER;
		*why = "bridge without a NIC";
	}
	return true;
}

/* @depth 0: it is to carry data itself. *why: what it is, if that is not the best. */
static enum grade
grade_of(const struct tcpx_host_nic *all, unsigned count, const struct tcpx_host_nic *nic,
	 unsigned depth, const char **why)
{
	const struct tcpx_host_nic *master = find(all, count, nic->master);
	enum grade grade;

	*why = "";
	if (nic->loopback) {
		*why = "loopback";
		return tcpx_addr_is_loopback(&nic->addr) ? NEVER : STILL;
	}
	if (!depth && (nic->bridge_port || (master && IS(master->kind, bridges)))) {
		*why = "port of a bridge";
		return NEVER;
	}
	if (!depth && master && IS(master->kind, bonds)) {
		*why = "part of a bond";
		return NEVER;
	}
	if (nic->hardware) {
		*why = "Wi-Fi, and there is a cable";
		return nic->wireless ? WIRELESS : DEVICE;
	}
	if (grade_by_others(all, count, nic, depth, &grade, why))
		return grade;
	if (is_listed(nic->ifname)) {
		*why = "name of a container's or virtual machine's network";
		return NEVER;
	}
	*why = "tunnel or overlay, and there is better";
	if (IS(nic->kind, tunnels))
		return TUNNEL;
	*why = "no link of its own, and there is better";
	if (IS(nic->kind, still))
		return STILL;
	*why = "a container's end of a cable, and there is better";
	if (!strncmp(nic->ifname, "veth", 4))
		return LOOSE_END;
	return IS(nic->kind, ends) ? END : DEVICE;
}

const char *
tcpx_host_nic_unfit(const struct tcpx_host_nic *nic)
{
	if (!nic->up)
		return "down";
	return nic->addr.family == 0 ? "no address" : NULL;
}

/* The reason why a NIC cannot be among the best; NULL: it can. */
static const char *
unusable(const struct tcpx_host_nic *nic)
{
	const char *unfit = tcpx_host_nic_unfit(nic);

	if (!unfit && tcpx_addr_is_link_local(&nic->addr))
		unfit = "only a link-local address; TCPX_NICS that names such alone takes it";
	return unfit;
}

void
tcpx_host_nics_judge(struct tcpx_host_nic *nics, unsigned count)
{
	enum grade best = NEVER;
	uint32_t fastest = 0;

	for (unsigned i = 0; i < count; i++) {
		nics[i].slow = false;
		nics[i].grade = (uint8_t)grade_of(nics, count, &nics[i], 0, &nics[i].left_out);
		if (!unusable(&nics[i]) && nics[i].grade > best)
			best = nics[i].grade;
	}
	for (unsigned i = 0; i < count; i++) {
		if (nics[i].grade == NEVER)
			continue;
		if (unusable(&nics[i]))
			nics[i].left_out = unusable(&nics[i]);
		else if (nics[i].grade == best)
			nics[i].left_out = NULL;
		if (!nics[i].left_out && nics[i].speed_mbps > fastest)
			fastest = nics[i].speed_mbps;
	}
	for (unsigned i = 0; i < count; i++) {
		nics[i].slow = !nics[i].left_out && nics[i].speed_mbps &&
			       (uint64_t)nics[i].speed_mbps * SLOW < fastest;
		if (nics[i].slow)
			nics[i].left_out = "control only: it has less than a tenth of the fastest one's speed";
	}
}

bool
tcpx_host_nic_is_better(const struct tcpx_host_nic *nic, unsigned grade)
{
	return !unusable(nic) && nic->grade >= END && nic->grade > grade;
}

bool
tcpx_host_nic_precedes(const struct tcpx_host_nic *a, const struct tcpx_host_nic *b)
{
	if (a->default_route != b->default_route)
		return a->default_route;
	return a->speed_mbps > b->speed_mbps;
}
