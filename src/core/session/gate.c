/* SPDX-License-Identifier: Apache-2.0 */
/* TCPX_ALLOW: a connection from elsewhere is closed before a byte of it is read. */
#include "core/session/gate.h"

#include <string.h>

#include "base/nets.h"
#include "core/context/context.h"

#define TELL_NS TCPX_SEC

static bool
was_told(const struct gate *g, const struct tcpx_addr *a)
{
	for (uint32_t i = 0; i < g->told_count; i++)
		if (tcpx_addr_same_host(&g->told[i], a))
			return true;
	return false;
}

/* Is it to be logged now? *untold: those refused since the last line. */
static bool
to_tell(struct gate *g, const struct tcpx_addr *from, uint64_t now_ns, uint64_t *untold)
{
	bool tell;

	pthread_mutex_lock(&g->lock);
	tell = (!g->told_count || now_ns - g->told_ns >= TELL_NS) && !was_told(g, from);
	if (tell) {
		g->told[g->next++ % GATE_SOURCES] = *from;
		g->told_count += g->told_count < GATE_SOURCES;
		g->told_ns = now_ns;
		*untold = g->untold;
		g->untold = 0;
	} else {
		g->untold++;
	}
	pthread_mutex_unlock(&g->lock);
	return tell;
}

bool
tcpx_gate_admits(void *arg, const struct tcpx_addr *from)
{
	struct tcpx_engine *e = arg;
	const char *allow = tcpx_cfg_str(e->cfg, TCPX_SET_ALLOW);
	struct tcpx_addr host = *from;
	uint64_t untold;
	char text[64];

	if (!allow[0] || tcpx_nets_have(allow, from))
		return true;
	count_add(&e->count.refused, 1);
	if (!to_tell(e->gate, from, engine_now(e), &untold))
		return false;
	host.port = 0;
	tcpx_addr_format(&host, text, sizeof(text));
	tcpx_warn(TCPX_SUB_BOOT, "connections from %s are closed unread: TCPX_ALLOW=%.200s does not "
		  "have it (told once; %llu others closed since the last such line)", text, allow,
		  (unsigned long long)untold);
	return false;
}
