/* SPDX-License-Identifier: Apache-2.0 */
#include "seal/tls_current.h"

/* OpenSSL's callbacks have no argument of ours; all run in the thread that called. */
static _Thread_local struct tcpx_tls_proof *current;

bool
tcpx_tls_enter(const struct tcpx_seal_lib *lib, struct tcpx_tls_proof *proof)
{
	if (!tcpx_openssl_enter())
		return false;
	lib->api.ERR_set_mark();
	current = proof;
	return true;
}

struct tcpx_tls_proof *
tcpx_tls_current(void)
{
	return current;
}

void
tcpx_tls_leave(const struct tcpx_seal_lib *lib)
{
	current = NULL;
	lib->api.ERR_pop_to_mark();
	tcpx_openssl_leave();
}
