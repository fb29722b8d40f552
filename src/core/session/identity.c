/* SPDX-License-Identifier: Apache-2.0 */
#include "core/session/identity.h"

#include <stdio.h>
#include <string.h>

#include "base/addr.h"
#include "base/buf.h"

static bool
same_place(const struct tcpx_addr *a, const struct tcpx_addr *b)
{
	return a->family && a->port == b->port && tcpx_addr_same_host(a, b);
}

/* A peer dialled by name or incarnation is compared by these, one dialled by its address alone by
 * that. Another incarnation at the address that was dialled is the peer, restarted. */
static int
meant_for(const struct tcpx_identity *us, const struct tcpx_hello *h, const struct tcpx_addr *at,
	  char *why, size_t cap)
{
	bool here = !us->secret || !at || !at->family || same_place(&h->dialled, at);
	char to[64], reached[64];

	if (h->expect_name[0] && strcmp(h->expect_name, us->name) != 0) {
		snprintf(why, cap, "meant for %s, reached %s", h->expect_name, us->name);
		return TCPX_EAUTH;
	}
	if (h->expect && h->expect != us->incarnation) {
		snprintf(why, cap, here ? "%s is another incarnation now" :
					  "meant for another engine named %s", us->name);
		return here ? TCPX_EPEERGONE : TCPX_EAUTH;
	}
	if (h->expect || h->expect_name[0] || !h->dialled.family || here)
		return 0;
	tcpx_addr_format(&h->dialled, to, sizeof(to));
	tcpx_addr_format(at, reached, sizeof(reached));
	snprintf(why, cap, "meant for %s, reached %s: behind an address translator, "
		 "connect to NAME@HOST:PORT", to, reached);
	return TCPX_EAUTH;
}

int
tcpx_identity_hello(const struct tcpx_identity *us, const struct tcpx_hello *h,
		    const struct tcpx_addr *at, char *why, size_t cap)
{
	int rc = meant_for(us, h, at, why, cap);

	if (rc)
		return rc;
	if (us->secret && h->incarnation == us->incarnation && !us->peer && !(at && h->expect)) {
		snprintf(why, cap, "the connection came back to its sender, %s", us->name);
		return TCPX_EAUTH;
	}
	if (us->peer && us->peer != h->incarnation) {
		snprintf(why, cap, "%s has restarted: another incarnation answers", h->name);
		return TCPX_EPEERGONE;
	}
	if (us->peer_name[0] && strcmp(us->peer_name, h->name) != 0) {
		snprintf(why, cap, "%s answers, not %s", h->name, us->peer_name);
		return TCPX_EAUTH;
	}
	return 0;
}

bool
tcpx_identity_resume(const struct tcpx_identity *us, const struct tcpx_resume *r,
		     const uint8_t token[16])
{
	return r->incarnation == us->peer && r->expect == us->incarnation &&
	       tcpx_bytes_equal(r->token, token, sizeof(r->token));
}

int
tcpx_identity_ask(const struct tcpx_identity *us, const struct tcpx_resume *r,
		  const struct tcpx_addr *at)
{
	if (r->expect == us->incarnation)
		return TCPX_ESTALLED;
	return same_place(&r->dialled, at) ? TCPX_EPEERGONE : TCPX_EAUTH;
}
