/* SPDX-License-Identifier: Apache-2.0 */
#include "body.h"

#include "fake/plain_seal.h"

const struct tcpx_seal_ops *
body_open(struct tcpx_seal_lib **lib)
{
	*lib = plain_seal_open(1);
	return *lib ? &tcpx_seal_plain_ops : NULL;
}

void
body_close(struct tcpx_seal_lib *lib)
{
	plain_seal_close(lib);
}

bool
body_ignores(unsigned flight, size_t at)
{
	return false;
}
