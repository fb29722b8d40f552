/* SPDX-License-Identifier: Apache-2.0 */
/* The port of an engine's statistics: which engines get one, which clients are answered,
 * which answers are trusted. */
#include "cases.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ownfd.h"
#include "net/stats_port.h"

#define WAIT_MS 15000

struct bed {
	char dir[64];
	char sub[TCPX_STATS_PATH];
	struct tcpx_stats_port port;
};

static int
setup(void **state)
{
	struct bed *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	strcpy(b->dir, "/tmp/stats-port-XXXXXX");
	assert_non_null(mkdtemp(b->dir));
	snprintf(b->sub, sizeof(b->sub), "%s/here", b->dir);
	*state = b;
	return 0;
}

static int
teardown(void **state)
{
	struct bed *b = *state;

	tcpx_stats_port_close(&b->port);
	rmdir(b->sub);
	assert_int_equal(rmdir(b->dir), 0); /* nothing is left in it */
	free(b);
	return 0;
}

static mode_t
mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

TEST_WITH(port_is_its_users_alone, setup, teardown)
{
	struct bed *b = *state;
	mode_t old = umask(0);
	char name[64];

	assert_int_equal(tcpx_stats_port_open(&b->port, b->sub, 0xabc), 0);
	umask(old);
	assert_int_equal(mode_of(b->sub), 0700);
	assert_int_equal(mode_of(b->port.path), 0600);
	snprintf(name, sizeof(name), "/%d-0000000000000abc.sock", (int)getpid());
	assert_string_equal(b->port.path + strlen(b->sub), name);
	tcpx_stats_port_close(&b->port);
	tcpx_stats_port_close(&b->port);
	assert_int_equal(rmdir(b->sub), 0);
}

TEST_WITH(directory_of_others_is_refused, setup, teardown)
{
	struct bed *b = *state;
	char path[TCPX_STATS_PATH + 40];

	assert_int_equal(mkdir(b->sub, 0700), 0);
	assert_int_equal(chmod(b->sub, 0770), 0);
	assert_int_equal(tcpx_stats_port_open(&b->port, b->sub, 1), -EPERM);
	assert_int_equal(chmod(b->sub, 0707), 0);
	assert_int_equal(tcpx_stats_port_open(&b->port, b->sub, 1), -EPERM);
	if (geteuid() == 0) {
		assert_int_equal(chmod(b->sub, 0700), 0);
		assert_int_equal(chown(b->sub, 65534, 65534), 0);
		assert_int_equal(tcpx_stats_port_open(&b->port, b->sub, 1), -EPERM);
	}
	assert_int_equal(rmdir(b->sub), 0);
	assert_int_equal(symlink(b->dir, b->sub), 0);
	assert_int_equal(tcpx_stats_port_open(&b->port, b->sub, 1), -ENOTDIR);
	assert_int_equal(unlink(b->sub), 0);
	snprintf(path, sizeof(path), "%s/nothing/here", b->dir);
	assert_int_equal(tcpx_stats_port_open(&b->port, path, 1), -ENOENT);
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(tcpx_stats_port_open(&b->port, path, 1), -ENAMETOOLONG);
	assert_int_equal(b->port.fd, -1);
}

TEST_WITH(text_of_any_length_is_passed_at_once, setup, teardown)
{
	static const size_t lengths[] = { 0, 1, 4096, 5000001 };
	struct bed *b = *state;
	char *sent = malloc(5000001), *got;
	size_t i, k, len;
	int asker, conn;

	assert_non_null(sent);
	for (i = 0; i < 5000001; i++)
		sent[i] = (char)('a' + i * 7 % 26);
	assert_int_equal(tcpx_stats_port_open(&b->port, b->sub, 2), 0);
	assert_int_equal(tcpx_stats_port_accept(&b->port), -EAGAIN);
	for (k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
		asker = tcpx_stats_ask(b->port.path);
		assert_true(asker >= 0);
		conn = tcpx_stats_port_accept(&b->port);
		assert_true(conn >= 0);
		/* nobody reads yet: the answer must not need it */
		tcpx_stats_port_answer(conn, sent, lengths[k]);
		assert_int_equal(tcpx_stats_take(asker, WAIT_MS, &got, &len), 0);
		assert_int_equal(len, lengths[k]);
		assert_memory_equal(got, sent, len);
		assert_int_equal(got[len], '\0');
		free(got);
	}
	free(sent);
}

TEST_WITH(asker_that_left_harms_nobody, setup, teardown)
{
	struct bed *b = *state;
	int asker, conn;

	assert_int_equal(tcpx_stats_port_open(&b->port, b->sub, 3), 0);
	asker = tcpx_stats_ask(b->port.path);
	assert_true(asker >= 0);
	close(asker);
	conn = tcpx_stats_port_accept(&b->port);
	assert_true(conn >= 0);
	tcpx_stats_port_answer(conn, "text", 4); /* no SIGPIPE */
}

/* An asker that nobody accepts would keep the engine's loop awake. */
TEST_WITH(with_no_descriptor_left_each_asker_is_hung_up_on, setup, teardown)
{
	struct bed *b = *state;
	struct rlimit old, tight;
	char *text;
	size_t len;
	int asker, fd;

	assert_int_equal(tcpx_stats_port_open(&b->port, b->sub, 8), 0);
	getrlimit(RLIMIT_NOFILE, &old);
	for (int i = 0; i < 3; i++) {
		asker = tcpx_stats_ask(b->port.path);
		assert_true(asker >= 0);
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC); /* the lowest free one */
		close(fd);
		tight = (struct rlimit){ (rlim_t)fd, old.rlim_max };
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
		assert_int_equal(tcpx_stats_port_accept(&b->port), -EAGAIN);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
		assert_int_equal(tcpx_stats_take(asker, WAIT_MS, &text, &len), -EACCES);
	}
}

/* A connected pair as asker and answerer; what is sent is not what a port would. */
static void
send_fd(int conn, int fd)
{
	char room[CMSG_SPACE(sizeof(int))] = { 0 }, one = 0;
	struct iovec iov = { &one, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = room,
			      .msg_controllen = sizeof(room) };
	struct cmsghdr *h = CMSG_FIRSTHDR(&msg);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(h), &fd, sizeof(fd));
	assert_int_equal(sendmsg(conn, &msg, 0), 1);
}

TEST(answers_are_not_trusted)
{
	char *text = NULL;
	size_t len;
	int pair[2], ends[2], file;
	FILE *f;

	/* a pipe could make the reader wait for ever */
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(pipe(ends), 0);
	send_fd(pair[0], ends[0]);
	assert_int_equal(tcpx_stats_take(pair[1], WAIT_MS, &text, &len), -EPROTO);
	close(pair[0]);
	close(ends[0]);
	close(ends[1]);

	/* a file may change while it is read */
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	f = tmpfile();
	assert_non_null(f);
	file = fileno(f);
	send_fd(pair[0], file);
	assert_int_equal(tcpx_stats_take(pair[1], WAIT_MS, &text, &len), -EPROTO);
	close(pair[0]);
	fclose(f);

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(send(pair[0], "x", 1, 0), 1);
	assert_int_equal(tcpx_stats_take(pair[1], WAIT_MS, &text, &len), -EPROTO);
	close(pair[0]);

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	close(pair[0]);
	assert_int_equal(tcpx_stats_take(pair[1], WAIT_MS, &text, &len), -EACCES);

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(tcpx_stats_take(pair[1], 0, &text, &len), -ETIMEDOUT);
	close(pair[0]);
	assert_null(text);
}

TEST_WITH(dead_port_refuses, setup, teardown)
{
	struct bed *b = *state;
	char path[TCPX_STATS_PATH];

	assert_int_equal(tcpx_stats_port_open(&b->port, b->sub, 4), 0);
	strcpy(path, b->port.path);
	tcpx_ownfd_close(b->port.fd); /* as the end of a process does */
	b->port.fd = -1;
	assert_int_equal(tcpx_stats_ask(path), -ECONNREFUSED);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(tcpx_stats_ask(path), -ENOENT);
	close(b->port.spare);
	b->port.path[0] = '\0';
}

/* A port whose process has ended is removed by the next that opens one; others stay, also one
 * whose process is not seen from here. */
TEST_WITH(next_one_removes_what_the_dead_left, setup, teardown)
{
	struct bed *b = *state;
	struct tcpx_stats_port other, unseen;
	char dead[TCPX_STATS_PATH], mine[TCPX_STATS_PATH];
	pid_t child;
	int status;

	assert_int_equal(tcpx_stats_port_open(&other, b->sub, 5), 0);
	assert_int_equal(tcpx_stats_port_open(&unseen, b->sub, 9), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct tcpx_stats_port p;

		_exit(tcpx_stats_port_open(&p, b->sub, 6) != 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	snprintf(dead, sizeof(dead), "%.64s/%d-0000000000000006.sock", b->sub, (int)child);
	assert_int_equal(access(dead, F_OK), 0);
	snprintf(mine, sizeof(mine), "%.64s/%d-0000000000000009.sock", b->sub, (int)child);
	assert_int_equal(rename(unseen.path, mine), 0);
	strcpy(unseen.path, mine);
	snprintf(mine, sizeof(mine), "%.64s/12-notes", b->sub);
	assert_int_equal(mkdir(mine, 0700), 0);
	assert_int_equal(tcpx_stats_port_open(&b->port, b->sub, 7), 0);
	assert_int_equal(access(dead, F_OK), -1);
	assert_int_equal(access(other.path, F_OK), 0);
	assert_int_equal(access(unseen.path, F_OK), 0);
	assert_int_equal(rmdir(mine), 0);
	tcpx_stats_port_close(&other);
	tcpx_stats_port_close(&unseen);
}
