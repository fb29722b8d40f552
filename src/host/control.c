/* SPDX-License-Identifier: Apache-2.0 */
/* The control NIC, by its name among the machine's, and what that leaves for data. Pure. */
#include <stdio.h>
#include <string.h>

#include "base/cfg.h"
#include "host/addr.h"

struct tcpx_host_control
tcpx_host_control_of(const char *name, const char *source)
{
	bool theirs = tcpx_cfg_is_hint(source);

	return (struct tcpx_host_control){ name, theirs ? source : "TCPX_CTRL", !theirs };
}

/* An interface with all its addresses, or with the one that was asked for. */
static bool
find(const struct tcpx_host_nic *all, unsigned count, const char *name, struct tcpx_host_nic *out)
{
	struct tcpx_addr addr;
	bool literal = tcpx_host_addr_parse(name, &addr) == 0 && addr.prefix == 0;

	for (unsigned i = 0; i < count; i++) {
		*out = all[i];
		if (tcpx_host_nic_is_called(&all[i], name))
			return true;
		if (!literal || !tcpx_host_nic_address(&all[i], &addr, &out->addr))
			continue;
		snprintf(out->name, sizeof(out->name), "%s", name);
		out->addrs[0] = out->addr;
		out->addr_count = 1;
		return true;
	}
	return false;
}

/* Peers beyond the link cannot reach a link-local address. If there are no others it stays. */
static void
drop_link_local(struct tcpx_host_nic *nic)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < nic->addr_count; i++)
		if (!tcpx_addr_is_link_local(&nic->addrs[i]))
			nic->addrs[kept++] = nic->addrs[i];
	if (kept)
		nic->addr_count = kept;
}

/* Two addresses of one interface are two NICs. */
static bool
same(const struct tcpx_host_nic *a, const struct tcpx_host_nic *b)
{
	bool by_name = !strcmp(a->name, a->ifname) || !strcmp(b->name, b->ifname);

	return !strcmp(a->ifname, b->ifname) &&
	       (by_name || tcpx_host_addr_equal(&a->addr, &b->addr));
}

static bool
is_listed(const char *selection, const char *name)
{
	size_t len = strlen(name), n;

	if (!selection || *selection == '^')
		return false;
	for (selection += *selection == '='; *selection; selection += n + (selection[n] == ',')) {
		n = strcspn(selection, ",");
		if (n == len && !strncmp(selection, name, n))
			return true;
	}
	return false;
}

/* A wrong TCPX_CTRL is an error. A wrong variable of another program is a warning: 0. */
static int
refuse(const struct tcpx_host_control *want, const char *why)
{
	if (want->must)
		return tcpx_fail(TCPX_SUB_HOST, TCPX_ECONFIG, "%s \"%.64s\": %s", want->setting,
				 want->name, why);
	tcpx_warn(TCPX_SUB_HOST, "%s \"%.64s\" is not used: %s", want->setting, want->name, why);
	return 0;
}

int
tcpx_host_nics_control(const struct tcpx_host_nic *all, unsigned all_count,
		       const struct tcpx_host_control *want, const char *selection,
		       struct tcpx_host_nic *data, unsigned *count, struct tcpx_host_nic *out)
{
	struct tcpx_host_nic nic;
	unsigned kept = 0;
	char why[80];

	if (!*want->name)
		return 0;
	if (!find(all, all_count, want->name, &nic))
		return refuse(want, "no interface, and no address of one, is called so");
	if (tcpx_host_nic_unfit(&nic)) {
		snprintf(why, sizeof(why), "the interface cannot be used: %s",
			 tcpx_host_nic_unfit(&nic));
		return refuse(want, why);
	}
	for (unsigned i = 0; i < *count; i++)
		kept += !same(&data[i], &nic);
	if (kept == 0 && want->must)
		return refuse(want, "a control NIC carries no data, and there is no other NIC");
	if (kept == 0) {
		tcpx_info(TCPX_SUB_HOST, "%s is the only NIC for data: control goes there, too",
			  nic.name);
		return 0;
	}
	if (kept < *count)
		tcpx_log(is_listed(selection, nic.name) ? TCPX_LOG_WARN : TCPX_LOG_INFO,
			 TCPX_SUB_HOST, "%s is the control NIC (%s): no data goes over it", nic.name,
			 want->setting);
	kept = 0;
	for (unsigned i = 0; i < *count; i++)
		if (!same(&data[i], &nic))
			data[kept++] = data[i];
	*count = kept;
	drop_link_local(&nic);
	*out = nic;
	return 1;
}
