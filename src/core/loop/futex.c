/* SPDX-License-Identifier: Apache-2.0 */
/* Sleeping on a word until another thread changes it. */
#include "core/loop/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int
tcpx_futex_wait(void *word, uint32_t value, int64_t timeout_ns)
{
	struct timespec ts = { timeout_ns / 1000000000, timeout_ns % 1000000000 };

	return (int)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value,
			    timeout_ns < 0 ? NULL : &ts, NULL, 0);
}

void
tcpx_futex_wake(void *word, int count)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}
