/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ownfd.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

enum {
	WORD_BITS = 64,
	FDS_MAX = 65536,
};

/* fork() copies a process whole and gives its handler no argument: so is the table a process's. */
static struct {
	pthread_once_t once;
	_Atomic uint64_t word[FDS_MAX / WORD_BITS];
} own = { .once = PTHREAD_ONCE_INIT };

/* Other threads may have held any lock at the fork: close() alone. */
static void
close_in_child(void)
{
	for (int i = 0; i < FDS_MAX / WORD_BITS; i++)
		for (uint64_t w = atomic_exchange(&own.word[i], 0); w; w &= w - 1)
			close(i * WORD_BITS + __builtin_ctzll(w));
}

/* Without room for a handler a child keeps its copies. */
static void
watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, close_in_child);
}

void
tcpx_ownfd_add(int fd)
{
	pthread_once(&own.once, watch_forks);
	if (fd >= 0 && fd < FDS_MAX)
		atomic_fetch_or(&own.word[fd / WORD_BITS], UINT64_C(1) << fd % WORD_BITS);
}

/* Out of the table first: the number may be another's as soon as it is closed. */
void
tcpx_ownfd_close(int fd)
{
	if (fd >= 0 && fd < FDS_MAX)
		atomic_fetch_and(&own.word[fd / WORD_BITS], ~(UINT64_C(1) << fd % WORD_BITS));
	close(fd);
}
