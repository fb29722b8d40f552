/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which NICs of a machine carry data for GPUs and which one the rest: what plugins and jobs
 * have to be told. Pure, over facts that were read before.
 *
 * With GPUs, data go by the NICs that are nearest to one; the control NIC is that of the
 * default route if it is not one of them, else the first other one. Without GPUs all chosen
 * NICs carry data, the first is the control NIC as well.
 */
#ifndef TOOL_ENV_ROLES_H
#define TOOL_ENV_ROLES_H

#include "tool/info/machine.h"

struct env_roles {
	const struct tcpx_host_nic *data[TCPX_HOST_NICS]; /* borrowed; eth2 before eth10 */
	unsigned count;
	const struct tcpx_host_nic *control;              /* NULL: there is no NIC       */
	const char *why;                                  /* static: of the control NIC  */
	bool by_gpu;         /* data NICs are those of GPUs */
};

/* @control: the interface that was asked for, or NULL. @route: text of proc/net/route. */
void env_roles_find(const struct machine *m, const char *control, const char *route,
		    struct env_roles *out);
/* Whether a data NIC has that interface. */
bool env_roles_data(const struct env_roles *roles, const char *ifname);
/* The interface of the default route in that text, the one of least metric; "" none. */
void env_route_default(const char *route, char *ifname, size_t cap);

#endif
