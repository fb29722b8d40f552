/* SPDX-License-Identifier: Apache-2.0 */
/* The CPUs of each NIC: from TCPX_TX_BINDINGS and TCPX_RX_BINDINGS, or from a plan of host/. */
#include "core/engine/bindings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/context/context.h"
#include "core/loop/loop.h"
#include "host/bindings.h"
#include "host/plan.h"

enum { BIND_AUTO, BIND_OFF, BIND_PLAN }; /* words of TCPX_BIND */

static struct tcpx_cpuset *
sets_of(struct tcpx_engine *e)
{
	if (!e->nics.bind)
		e->nics.bind = calloc(e->nics.count ? e->nics.count : 1, sizeof(*e->nics.bind));
	return e->nics.bind;
}

/* Adds one text's CPUs to those of our NICs. A malformed NCCL_* binding is ignored with a
 * warning; a malformed TCPX_* one is refused. */
static int
read_bindings(struct tcpx_engine *e, enum tcpx_setting setting)
{
	const char *text = tcpx_cfg_str(e->cfg, setting);
	const char *source = tcpx_cfg_source(e->cfg, setting);
	struct tcpx_bindings b;
	int rc;

	if (!*text)
		return 0;
	rc = tcpx_bindings_parse(text, tcpx_setting_at(setting)->name, &b);
	if (rc == -EINVAL && tcpx_cfg_is_hint(source)) {
		tcpx_warn(TCPX_SUB_INIT, "%s is not used: I/O threads run where the kernel likes",
			  source);
		return 0;
	}
	if (rc)
		return rc == -EINVAL ? TCPX_ECONFIG : rc;
	if (!sets_of(e)) {
		tcpx_bindings_fini(&b);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < e->nics.count; i++) {
		const struct tcpx_cpuset *set = tcpx_bindings_of(&b, e->nics.at[i].name);

		if (set)
			tcpx_cpuset_or(&e->nics.bind[i], set);
	}
	tcpx_bindings_fini(&b);
	return 0;
}

/* A machine without a possible plan is left alone; that has been logged. */
static int
plan_bindings(struct tcpx_engine *e)
{
	struct tcpx_machine m;
	struct tcpx_plan p;
	int rc = tcpx_machine_read(tcpx_cfg_str(e->cfg, TCPX_SET_ROOT), &m);

	if (rc)
		return rc == -ENOMEM ? rc : 0;
	rc = tcpx_plan_cpus(&m, &TCPX_PLAN_DEFAULTS, &p);
	tcpx_machine_fini(&m);
	if (rc)
		return rc == -ENOMEM ? rc : 0;
	for (uint32_t i = 0; i < e->nics.count && sets_of(e); i++) {
		const struct tcpx_plan_group *g = tcpx_plan_of_nic(&p, e->nics.at[i].name);

		if (!g)
			continue;
		tcpx_cpuset_or(&e->nics.bind[i], &g->tx);
		tcpx_cpuset_or(&e->nics.bind[i], &g->rx);
	}
	tcpx_plan_fini(&p);
	return e->nics.bind ? 0 : -ENOMEM;
}

int
tcpx_bind_open(struct tcpx_engine *e)
{
	uint64_t how = tcpx_cfg_num(e->cfg, TCPX_SET_BIND);
	int rc;

	if (how == BIND_OFF || *tcpx_cfg_str(e->cfg, TCPX_SET_CPUS) || e->manual)
		return 0;
	if (how == BIND_PLAN)
		return plan_bindings(e);
	rc = read_bindings(e, TCPX_SET_TX_BINDINGS);
	return rc ? rc : read_bindings(e, TCPX_SET_RX_BINDINGS);
}

void
tcpx_bind_close(struct tcpx_engine *e)
{
	free(e->nics.bind);
	e->nics.bind = NULL;
}
