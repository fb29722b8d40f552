/* SPDX-License-Identifier: Apache-2.0 */
/* Pipes through which pages of payload pass into sockets without a copy. One pool for each net;
 * any thread may call. */
#ifndef NET_SOCK_PIPE_H
#define NET_SOCK_PIPE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define TCPX_SOCK_PIPES 32  /* most pipes of an engine, see pipe.c */

/* A pipe: one channel uses it at a time. */
struct tcpx_sock_pipe {
	int in, out; /* ends to write to and to read from */
	uint32_t bytes; /* capacity; 0: no pipe */
};

struct tcpx_sock_pipes {
	pthread_mutex_t lock; /* guards everything below */
	struct tcpx_sock_pipe idle[TCPX_SOCK_PIPES];
	uint32_t idle_count;
	uint32_t made;  /* open pipes, idle or in use by a channel */
	uint32_t limit; /* of made; falls when the kernel grants no more */
};

void tcpx_sock_pipes_open(struct tcpx_sock_pipes *pool);
/* Closes the idle pipes. Every pipe must have been put back. */
void tcpx_sock_pipes_close(struct tcpx_sock_pipes *pool);
/* Takes a pipe, which is empty. -EAGAIN: all are in use, or no descriptor is left; -ENOBUFS: the
 * kernel grants none of a useful size. */
int tcpx_sock_pipe_get(struct tcpx_sock_pipes *pool, struct tcpx_sock_pipe *pipe);
/* Puts the pipe back into the pool, or closes it if it is not @empty. pipe->bytes is 0 then. */
void tcpx_sock_pipe_put(struct tcpx_sock_pipes *pool, struct tcpx_sock_pipe *pipe, bool empty);

#endif
