/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors that no forked child keeps. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ownfd.h"
#include "base_test.h"

enum { PIPES = 100 };

static bool
is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* The exit status of a child that says how many of these it has. */
static int
in_child(const int *fd, int count)
{
	int has = 0, status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		for (int i = 0; i < count; i++)
			has += is_open(fd[i]);
		_exit(has);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

TEST(a_child_has_those_that_are_not_added)
{
	int fd[2 * PIPES];

	for (int i = 0; i < PIPES; i++)
		assert_int_equal(pipe2(fd + 2L * i, O_CLOEXEC), 0);
	for (int i = 0; i < PIPES; i++)
		tcpx_ownfd_add(fd[i]);
	assert_int_equal(in_child(fd, PIPES), 0);
	assert_int_equal(in_child(fd + PIPES, PIPES), PIPES);
	for (int i = 0; i < PIPES; i++) {
		assert_true(is_open(fd[i]));
		tcpx_ownfd_close(fd[i]);
		assert_false(is_open(fd[i]));
		close(fd[PIPES + i]);
	}
}

/* The kernel gives its number to the next, which is none of ours. */
TEST(a_closed_one_is_forgotten)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), again;

	tcpx_ownfd_add(fd);
	tcpx_ownfd_close(fd);
	again = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(again, fd);
	assert_int_equal(in_child(&again, 1), 1);
	close(again);
}

/* A child has descriptors of its own; one closes its parent's copies and not its own. */
TEST(a_child_has_a_table_of_its_own)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), status = -1;
	pid_t pid;

	tcpx_ownfd_add(fd);
	pid = fork();
	if (pid == 0) {
		int own = open("/dev/null", O_RDONLY | O_CLOEXEC);

		_exit(own == fd ? in_child(&own, 1) : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
	tcpx_ownfd_close(fd);
}

TEST(a_number_without_room_is_left_alone)
{
	tcpx_ownfd_add(-1);
	tcpx_ownfd_add(1 << 20);
	tcpx_ownfd_close(1 << 20);
	assert_int_equal(in_child((int[]){ 0 }, 1), is_open(0));
}
