/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the plugin's device of a NIC: by its name; else by the name of the interface that has
 * its address; else by its PCI address. A plugin counts its devices in its own order, so an
 * index means nothing.
 */
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/plugnet/dev.h"

#define NAMES_MAX 256

static bool
has_address(const struct sockaddr *sa, const struct tcpx_addr *a)
{
	if (!sa)
		return false;
	if (a->family == 4 && sa->sa_family == AF_INET)
		return !memcmp(&((const struct sockaddr_in *)sa)->sin_addr, a->ip, 4);
	if (a->family == 6 && sa->sa_family == AF_INET6)
		return !memcmp(&((const struct sockaddr_in6 *)sa)->sin6_addr, a->ip, 16);
	return false;
}

/* The interface that has the NIC's address; its own name where none has. */
static void
interface_of(const struct tcpx_nic *nic, char name[32])
{
	struct ifaddrs *list = NULL;

	snprintf(name, 32, "%s", nic->name);
	if (getifaddrs(&list) < 0)
		return;
	for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
		if (has_address(i->ifa_addr, &nic->addr)) {
			snprintf(name, 32, "%s", i->ifa_name);
			break;
		}
	}
	freeifaddrs(list);
}

/* The PCI address of an interface, "0000:06:00.0"; "" unknown. */
static void
pci_of(const char *name, char *pci, size_t cap)
{
	char path[96], link[256];
	const char *last;
	ssize_t n;

	pci[0] = '\0';
	snprintf(path, sizeof(path), "/sys/class/net/%s/device", name);
	n = readlink(path, link, sizeof(link) - 1);
	if (n <= 0)
		return;
	link[n] = '\0';
	last = strrchr(link, '/');
	snprintf(pci, cap, "%.63s", last ? last + 1 : link);
}

static int
find_dev(struct plug *plug, const struct tcpx_nic *nic)
{
	int by_interface = PLUGNET_NO_DEV, by_pci = PLUGNET_NO_DEV;
	char name[32], pci[64];
	struct plug_props props;

	interface_of(nic, name);
	pci_of(name, pci, sizeof(pci));
	for (int i = 0; i < plug_devices(plug); i++) {
		if (plug_properties(plug, i, &props))
			continue;
		if (!strcmp(props.name, nic->name))
			return i;
		if (by_interface < 0 && !strcmp(props.name, name))
			by_interface = i;
		if (by_pci < 0 && pci[0] && !strcmp(props.pci, pci))
			by_pci = i;
	}
	return by_interface >= 0 ? by_interface : by_pci;
}

/* The NICs that the plugin drives, as a list. */
static const char *
driven(struct plug *plug, char names[NAMES_MAX])
{
	struct plug_props props;
	size_t at = 0;

	snprintf(names, NAMES_MAX, "none");
	for (int i = 0; i < plug_devices(plug) && at < NAMES_MAX; i++)
		if (plug_properties(plug, i, &props) == 0)
			at += (size_t)snprintf(names + at, NAMES_MAX - at, "%s%s", at ? ", " : "",
					       props.name);
	return names;
}

int
tcpx_plugnet_find_devs(struct tcpx_net *net)
{
	char names[NAMES_MAX], ours[NAMES_MAX] = "";
	bool any = !net->nic_count;
	size_t at = 0;

	for (uint32_t i = 0; i < net->nic_count; i++) {
		net->dev[i] = find_dev(net->plug, &net->nics[i]);
		if (net->dev[i] >= 0)
			tcpx_debug(TCPX_SUB_NET, "%s is device %d of %s", net->nics[i].name,
				   net->dev[i], plug_name(net->plug));
		any |= net->dev[i] >= 0;
		if (at < sizeof(ours))
			at += (size_t)snprintf(ours + at, sizeof(ours) - at, "%s%s", at ? ", " : "",
					       net->nics[i].name);
	}
	if (any)
		return 0;
	return tcpx_fail(TCPX_SUB_NET, -ENOTSUP, "the plugin %s drives none of the NICs in use "
			 "(%s); it drives: %s", plug_name(net->plug), ours,
			 driven(net->plug, names));
}

int
tcpx_plugnet_dev(struct tcpx_net *net, int nic, int *dev)
{
	char names[NAMES_MAX];

	if (nic < 0 || (uint32_t)nic >= net->nic_count)
		return tcpx_fail(TCPX_SUB_NET, -EINVAL, "NIC %d: there are %u", nic,
				 net->nic_count);
	if (net->dev[nic] >= 0) {
		*dev = net->dev[nic];
		return 0;
	}
	if (atomic_exchange(&net->lacks[nic], true)) /* each of its channels comes here */
		return -ENODEV;
	return tcpx_fail(TCPX_SUB_NET, -ENODEV, "NIC %s: the plugin %s does not drive it; it "
			 "drives: %s", net->nics[nic].name, plug_name(net->plug),
			 driven(net->plug, names));
}
