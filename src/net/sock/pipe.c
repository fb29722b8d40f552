/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pipes that lent pages pass through: at most TCPX_SOCK_PIPES for an engine, because a
 * user's share of pipe memory is small. Pipes in the pool are empty. A pipe that comes back
 * with bytes in it is closed, so that no byte reaches the wrong channel.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mutex.h"
#include "net/sock/pipe.h"

/* A small pipe costs two system calls for a few pages. */
#define PIPE_BYTES     (1 << 20)
#define PIPE_BYTES_MIN (256 << 10)

void
tcpx_sock_pipes_open(struct tcpx_sock_pipes *pool)
{
	tcpx_mutex_init(&pool->lock);
	pool->limit = TCPX_SOCK_PIPES;
}

static void
pipe_close(struct tcpx_sock_pipe *pipe)
{
	close(pipe->in);
	close(pipe->out);
	pipe->bytes = 0;
}

void
tcpx_sock_pipes_close(struct tcpx_sock_pipes *pool)
{
	while (pool->idle_count)
		pipe_close(&pool->idle[--pool->idle_count]);
	pthread_mutex_destroy(&pool->lock);
}

/* -ENOBUFS: the kernel grants too few pages. Unprivileged users have a limit over all their
 * pipes; beyond it new pipes are small and cannot grow. */
static int
pipe_make(struct tcpx_sock_pipe *made)
{
	struct tcpx_sock_pipe pipe;
	int fds[2], bytes = -1;

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return -EAGAIN; /* out of descriptors, perhaps not for long */
	for (int want = PIPE_BYTES; bytes < 0 && want >= PIPE_BYTES_MIN; want /= 2)
		bytes = fcntl(fds[1], F_SETPIPE_SZ, want);
	pipe = (struct tcpx_sock_pipe){ .in = fds[1], .out = fds[0],
					.bytes = bytes < 0 ? 0 : (uint32_t)bytes };
	if (pipe.bytes < PIPE_BYTES_MIN) {
		pipe_close(&pipe);
		return -ENOBUFS;
	}
	*made = pipe;
	return 0;
}

/* Makes one more pipe, or lowers the limit. pool->lock held. */
static int
pool_grow(struct tcpx_sock_pipes *pool, struct tcpx_sock_pipe *pipe)
{
	int rc = pipe_make(pipe);

	if (rc == 0) {
		pool->made++;
	} else if (rc == -ENOBUFS) {
		pool->limit = pool->made; /* else each message would try again in vain */
		tcpx_info(TCPX_SUB_NET, "pipes to lend pages through: %u, more of %d KiB are "
			  "not granted", pool->made, PIPE_BYTES_MIN >> 10);
	}
	return rc;
}

int
tcpx_sock_pipe_get(struct tcpx_sock_pipes *pool, struct tcpx_sock_pipe *pipe)
{
	int rc = -EAGAIN;

	pthread_mutex_lock(&pool->lock);
	if (pool->idle_count) {
		*pipe = pool->idle[--pool->idle_count];
		rc = 0;
	} else if (pool->made < pool->limit) {
		rc = pool_grow(pool, pipe);
	}
	if (rc && pool->made)
		rc = -EAGAIN;
	else if (rc && !pool->limit)
		rc = -ENOBUFS;
	pthread_mutex_unlock(&pool->lock);
	return rc;
}

void
tcpx_sock_pipe_put(struct tcpx_sock_pipes *pool, struct tcpx_sock_pipe *pipe, bool empty)
{
	if (!pipe->bytes)
		return;
	pthread_mutex_lock(&pool->lock);
	if (empty) {
		pool->idle[pool->idle_count++] = *pipe;
		pipe->bytes = 0;
	} else {
		pipe_close(pipe);
		pool->made--;
	}
	pthread_mutex_unlock(&pool->lock);
}
