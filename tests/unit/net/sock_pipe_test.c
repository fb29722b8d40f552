/* SPDX-License-Identifier: Apache-2.0 */
/* The pool of pipes: their number, their size, and the fate of one that is not empty. */
#include "sock_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

TEST_WITH(pipes_are_large_and_never_block, rig_open, rig_close)
{
	struct rig *r = *state;
	struct tcpx_sock_pipe pipe = { 0 };
	uint8_t byte;

	assert_int_equal(tcpx_sock_pipe_get(&r->net->pipes, &pipe), 0);
	assert_true(pipe.bytes >= 256 << 10);
	assert_int_equal(pipe.bytes, fcntl(pipe.in, F_GETPIPE_SZ));
	assert_true(fcntl(pipe.in, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(pipe.out, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(read(pipe.out, &byte, 1), -1);
	assert_int_equal(errno, EAGAIN);
	tcpx_sock_pipe_put(&r->net->pipes, &pipe, true);
	assert_int_equal(pipe.bytes, 0);
}

TEST_WITH(an_empty_pipe_is_used_again_and_a_filled_one_closed, rig_open, rig_close)
{
	struct rig *r = *state;
	struct tcpx_sock_pipe first = { 0 }, second = { 0 };
	int fd;

	assert_int_equal(tcpx_sock_pipe_get(&r->net->pipes, &first), 0);
	fd = first.in;
	tcpx_sock_pipe_put(&r->net->pipes, &first, true);
	assert_int_equal(tcpx_sock_pipe_get(&r->net->pipes, &second), 0);
	assert_int_equal(second.in, fd);
	assert_int_equal(write(second.in, "x", 1), 1);
	tcpx_sock_pipe_put(&r->net->pipes, &second, false);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(r->net->pipes.made, 0);
	assert_int_equal(r->net->pipes.idle_count, 0);
}

TEST_WITH(there_are_so_many_and_one_given_back_is_there_again, rig_open, rig_close)
{
	struct tcpx_sock_pipe pipe[TCPX_SOCK_PIPES] = { { 0 } }, more = { 0 };
	struct rig *r = *state;
	struct tcpx_sock_pipes *pool = &r->net->pipes;
	uint32_t granted = 0;

	while (granted < TCPX_SOCK_PIPES && tcpx_sock_pipe_get(pool, &pipe[granted]) == 0)
		granted++; /* fewer where the user has many pipes already */
	assert_true(granted > 0);
	assert_int_equal(tcpx_sock_pipe_get(pool, &more), -EAGAIN);
	assert_int_equal(more.bytes, 0);
	tcpx_sock_pipe_put(pool, &pipe[0], true);
	assert_int_equal(tcpx_sock_pipe_get(pool, &more), 0);
	tcpx_sock_pipe_put(pool, &more, false);
	assert_int_equal(tcpx_sock_pipe_get(pool, &more), 0); /* made anew */
	tcpx_sock_pipe_put(pool, &more, true);
	for (uint32_t i = 0; i < granted; i++)
		tcpx_sock_pipe_put(pool, &pipe[i], i % 2);
}

TEST_WITH(a_pool_that_gets_none_says_so_and_asks_no_more, rig_open, rig_close)
{
	struct rig *r = *state;
	struct tcpx_sock_pipes *pool = &r->net->pipes;
	struct tcpx_sock_pipe pipe = { 0 };

	pool->limit = 0; /* as after a first refusal */
	for (int i = 0; i < 3; i++)
		assert_int_equal(tcpx_sock_pipe_get(pool, &pipe), -ENOBUFS);
	assert_int_equal(pipe.bytes, 0);
	assert_int_equal(pool->made, 0);
}

TEST_WITH(short_of_descriptors_is_not_for_ever, rig_open, rig_close)
{
	struct rig *r = *state;
	struct tcpx_sock_pipe pipe = { 0 };
	struct rlimit before, none;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ 0, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(tcpx_sock_pipe_get(&r->net->pipes, &pipe), -EAGAIN);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(tcpx_sock_pipe_get(&r->net->pipes, &pipe), 0);
	tcpx_sock_pipe_put(&r->net->pipes, &pipe, true);
}
