/* SPDX-License-Identifier: Apache-2.0 */
#include "body.h"

#include "seal/tls.h"
#include "seal/tls_lib.h"

const struct tcpx_seal_ops *
body_open(struct tcpx_seal_lib **lib)
{
	return tcpx_tls_lib_open(lib) == 0 ? &tcpx_seal_tls_ops : NULL;
}

void
body_close(struct tcpx_seal_lib *lib)
{
	tcpx_tls_lib_close(lib);
}

/* The version of a flight's first record: RFC 8446 5.1 says to ignore it. */
bool
body_ignores(unsigned flight, size_t at)
{
	return flight < 2 && at == 2;
}
