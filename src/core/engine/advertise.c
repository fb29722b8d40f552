/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/advertise.h"

#include <stdio.h>
#include <string.h>

#include "core/context/context.h"

/* Reads "ADDRESS[:PORT],...". Returns the number of entries, at most one more than there
 * may be; -1: one is no address. */
static int
read_all(const char *text, struct tcpx_addr advertised[TCPX_NET_NICS + 1])
{
	int n = 0;

	while (n <= TCPX_NET_NICS) {
		size_t len = strcspn(text, ",");
		char one[80];

		if (len >= sizeof(one))
			return -1;
		snprintf(one, sizeof(one), "%.*s", (int)len, text);
		if (tcpx_addr_parse(one, &advertised[n++]) != 0)
			return -1;
		if (!text[len])
			break;
		text += len + 1;
	}
	return n;
}

int
tcpx_engine_advertise(struct tcpx_engine *e)
{
	const char *text = tcpx_cfg_str(e->cfg, TCPX_SET_ADVERTISE);
	struct tcpx_addr advertised[TCPX_NET_NICS + 1];
	uint32_t count = e->nics.count;
	int n = text[0] ? read_all(text, advertised) : 0;

	if (!text[0])
		return 0;
	if (n < 0)
		return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG, "TCPX_ADVERTISE \"%s\": ADDRESS or ADDRESS:PORT "
				 "(IPv4 or [IPv6] literals) expected, with commas between", text);
	if (n == 1 && !advertised[0].port)
		e->nics.advertised = advertised[0];
	else if ((uint32_t)n != count)
		return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG, "TCPX_ADVERTISE \"%s\" is for %d NICs, and %u "
				 "are used: one entry for each is allowed, or one without a port for all",
				 text, n, count);
	for (uint32_t i = 0; i < count; i++)
		e->nics.at[i].advertised = advertised[n == 1 ? 0 : i];
	return 0;
}
