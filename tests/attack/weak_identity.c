/* SPDX-License-Identifier: Apache-2.0 */
/* In place of core/session/identity.c: everybody is who he says, and nothing goes astray. */
#include "core/session/identity.h"

#include "foe.h"

const bool identity_is_checked = false;

int
tcpx_identity_hello(const struct tcpx_identity *us, const struct tcpx_hello *h,
		    const struct tcpx_addr *at, char *why, size_t cap)
{
	(void)us, (void)h, (void)at, (void)why, (void)cap;
	return 0;
}

bool
tcpx_identity_resume(const struct tcpx_identity *us, const struct tcpx_resume *r,
		     const uint8_t token[16])
{
	(void)us, (void)r, (void)token;
	return true;
}

int
tcpx_identity_ask(const struct tcpx_identity *us, const struct tcpx_resume *r,
		  const struct tcpx_addr *at)
{
	(void)us, (void)r, (void)at;
	return TCPX_EPEERGONE;
}
