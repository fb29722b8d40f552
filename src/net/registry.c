/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Providers by name: one line each.
 */
#include <string.h>

#include "net/net.h"

static const struct tcpx_net_ops *const providers[] = {
	&tcpx_net_sock,
	&tcpx_net_loop,
};

const struct tcpx_net_ops *
tcpx_net_find(const char *name)
{
	for (size_t i = 0; i < sizeof(providers) / sizeof(providers[0]); i++)
		if (!strcmp(providers[i]->name, name))
			return providers[i];
	return NULL;
}
