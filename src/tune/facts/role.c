/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/facts/role.h"

#include <string.h>

bool
tcpx_roles_data(const struct tcpx_roles *roles, const char *ifname)
{
	for (unsigned i = 0; i < roles->count; i++)
		if (!strcmp(roles->data[i]->ifname, ifname))
			return true;
	return false;
}

/* ---- data ---- */

static bool
is_control(const struct tcpx_role_facts *f, const struct tcpx_host_nic *nic)
{
	return f->control && tcpx_host_nic_is_called(nic, f->control);
}

static void
add(struct tcpx_roles *roles, const struct tcpx_host_nic *nic)
{
	unsigned i = roles->count;

	if (i == TCPX_MACHINE_NICS || tcpx_roles_data(roles, nic->ifname))
		return;
	for (; i > 0 && tcpx_machine_name_compare(nic->ifname, roles->data[i - 1]->ifname) < 0; i--)
		roles->data[i] = roles->data[i - 1];
	roles->data[i] = nic;
	roles->count++;
}

/* All NICs at a GPU's least distance, so that two on one switch are both its own. */
static void
add_near(const struct tcpx_role_facts *f, const struct tcpx_host_gpu *gpu,
	 struct tcpx_roles *roles)
{
	enum tcpx_distance least = TCPX_CROSS_NODE;

	for (unsigned i = 0; i < f->nic_count; i++) {
		enum tcpx_distance d = tcpx_host_distance(&f->nics[i], gpu);

		if (d < least && !is_control(f, &f->nics[i]))
			least = d;
	}
	if (least == TCPX_CROSS_NODE)
		return;
	for (unsigned i = 0; i < f->nic_count; i++)
		if (tcpx_host_distance(&f->nics[i], gpu) == least && !f->nics[i].loopback &&
		    !is_control(f, &f->nics[i]))
			add(roles, &f->nics[i]);
}

static void
find_data(const struct tcpx_role_facts *f, struct tcpx_roles *out)
{
	for (unsigned i = 0; i < f->gpu_count && !f->named; i++)
		add_near(f, &f->gpus[i], out);
	out->by_gpu = out->count > 0;
	out->data_why = f->named ? "NICs that are named" : out->by_gpu ? "NICs next to GPUs"
		      : "NICs in use; no GPU is seen";
	if (out->by_gpu)
		return;
	for (unsigned i = 0; i < f->nic_count; i++)
		if ((f->named || !f->nics[i].loopback) && !is_control(f, &f->nics[i]))
			add(out, &f->nics[i]);
	for (unsigned i = 0; i < f->nic_count && !out->count; i++)
		add(out, &f->nics[i]); /* the only choice */
}

/* ---- control ---- */

static const struct tcpx_host_nic *
fit(const struct tcpx_role_facts *f, const char *name)
{
	for (unsigned i = 0; i < f->all_count; i++)
		if (tcpx_host_nic_is_called(&f->all[i], name) && !tcpx_host_nic_unfit(&f->all[i]))
			return &f->all[i];
	return NULL;
}

static void
find_control(const struct tcpx_role_facts *f, struct tcpx_roles *out)
{
	if (f->control) {
		out->control = fit(f, f->control);
		out->control_why = "as asked for";
		return;
	}
	for (unsigned i = 0; i < f->all_count && !out->control; i++)
		if (f->all[i].default_route)
			out->control = fit(f, f->all[i].ifname);
	out->control_why = "it has the default route";
	if (out->control &&
	    ((!out->by_gpu && !f->named) || !tcpx_roles_data(out, out->control->ifname)))
		return;
	out->control = NULL;
	for (unsigned i = 0; i < f->all_count && !out->control; i++)
		if (!f->all[i].left_out && !tcpx_roles_data(out, f->all[i].ifname))
			out->control = &f->all[i];
	out->control_why = out->by_gpu ? "no GPU is next to it" : "it carries no data";
	if (!out->control && out->count) {
		out->control = out->data[0];
		out->control_why = "there is no other";
	}
}

void
tcpx_roles_find(const struct tcpx_role_facts *facts, struct tcpx_roles *out)
{
	*out = (struct tcpx_roles){ .data_why = "", .control_why = "", .named = facts->named };
	find_data(facts, out);
	find_control(facts, out);
}
