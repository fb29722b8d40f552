/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Providers by name, and the names of enum tcpx_lend: copying payload, or lending its pages.
 */
#include <string.h>
#include <strings.h>

#include "net/registry.h"

static const struct tcpx_net_ops *const providers[] = {
	&tcpx_net_sock,
	&tcpx_net_plugin,
};

const struct tcpx_net_ops *
tcpx_net_find(const char *name)
{
	for (size_t i = 0; i < sizeof(providers) / sizeof(providers[0]); i++)
		if (!strcmp(providers[i]->name, name))
			return providers[i];
	return NULL;
}

const char *
tcpx_net_name(const char *provider, const char *plugin)
{
	if (strcmp(provider, "auto") != 0)
		return provider;
	return plugin[0] && strcasecmp(plugin, "none") != 0 ? tcpx_net_plugin.name :
							      tcpx_net_sock.name;
}

const char *
tcpx_lend_name(enum tcpx_lend lend)
{
	static const char *const names[] = {
		[TCPX_LEND_AUTO] = "auto",
		[TCPX_LEND_OFF] = "copy",
		[TCPX_LEND_SPLICE] = "splice",
		[TCPX_LEND_MSG] = "msg_zerocopy",
	};

	return (size_t)lend < sizeof(names) / sizeof(names[0]) ? names[lend] : "?";
}
