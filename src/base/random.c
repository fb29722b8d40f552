/* SPDX-License-Identifier: Apache-2.0 */
/* Unpredictable bytes, from getrandom(). */
#include "base/random.h"

#include <errno.h>
#include <sys/random.h>
#include <sys/types.h>

#include "base/err.h"

int
tcpx_random_bytes(void *dst, size_t len)
{
	char *at = dst;

	while (len) {
		ssize_t n = getrandom(at, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return tcpx_fail_errno(TCPX_SUB_INIT, "getrandom of %zu bytes", len);
		at += n;
		len -= (size_t)n;
	}
	return 0;
}
