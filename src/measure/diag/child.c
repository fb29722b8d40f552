/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes. The child waits for a byte before it begins, so that perf can be attached.
 * A pipe that its exec() closes shows whether exec() worked.
 */
#include "measure/diag/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

uint64_t
diag_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

enum { OUT, ERR, GO, EXEC, PIPES };

struct run {
	const struct diag_child_hooks *hooks;
	int pipe[PIPES][2];
	int signals;
	sigset_t blocked, before;
	pid_t pid;
	bool ended;
	struct diag_child *result;
};

static void
close_pipes(struct run *r)
{
	for (int i = 0; i < PIPES; i++)
		for (int k = 0; k < 2; k++)
			if (r->pipe[i][k] >= 0)
				close(r->pipe[i][k]);
}

static void
close_end(struct run *r, int which, int end)
{
	if (r->pipe[which][end] >= 0)
		close(r->pipe[which][end]);
	r->pipe[which][end] = -1;
}

static int
open_all(struct run *r)
{
	static const int signals[] = { SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };

	memset(r->pipe, -1, sizeof(r->pipe));
	r->signals = -1;
	sigemptyset(&r->blocked);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(&r->blocked, signals[i]);
	sigprocmask(SIG_BLOCK, &r->blocked, &r->before);
	for (int i = 0; i < PIPES; i++)
		if (pipe2(r->pipe[i], O_CLOEXEC) < 0)
			return -errno;
	fcntl(r->pipe[OUT][0], F_SETFL, O_NONBLOCK);
	fcntl(r->pipe[ERR][0], F_SETFL, O_NONBLOCK);
	r->signals = signalfd(-1, &r->blocked, SFD_CLOEXEC | SFD_NONBLOCK);
	return r->signals < 0 ? -errno : 0;
}

/* The child: waits for its byte, then runs the command. */
static void
become(struct run *r, char *const *words)
{
	char go;
	int error;

	sigprocmask(SIG_SETMASK, &r->before, NULL);
	dup2(r->pipe[OUT][1], STDOUT_FILENO);
	dup2(r->pipe[ERR][1], STDERR_FILENO);
	close(r->pipe[GO][1]); /* else our own end would keep the pipe open */
	if (read(r->pipe[GO][0], &go, 1) == 1)
		execvp(words[0], words);
	error = errno;
	if (write(r->pipe[EXEC][1], &error, sizeof(error)) < 0)
		_exit(126);
	_exit(error == ENOENT ? 127 : 126);
}

/* Gives the hook what is in the pipe. False: the pipe's end, or a failed read. */
static bool
pass_on(struct run *r, int which)
{
	char bytes[65536];
	ssize_t n;

	while ((n = read(r->pipe[which][0], bytes, sizeof(bytes))) > 0)
		r->hooks->output(r->hooks->arg, which == ERR, bytes, (size_t)n);
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static void
reap(struct run *r)
{
	int status;

	if (r->ended || wait4(r->pid, &status, WNOHANG, &r->result->usage) != r->pid)
		return;
	r->ended = true;
	r->result->end_ns = diag_now_ns();
	r->result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	r->result->code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Takes signals. A terminal sends its own to the whole group, and so to the command. */
static void
take_signals(struct run *r)
{
	struct signalfd_siginfo info;

	while (read(r->signals, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo != SIGCHLD && info.ssi_signo != SIGPIPE &&
		    info.ssi_code != SI_KERNEL && !r->ended)
			kill(r->pid, (int)info.ssi_signo);
}

static void
watch(struct run *r)
{
	struct pollfd fds[3] = { { r->pipe[OUT][0], POLLIN, 0 }, { r->pipe[ERR][0], POLLIN, 0 },
				 { r->signals, POLLIN, 0 } };

	while (!r->ended) {
		(void)poll(fds, 3, -1);
		take_signals(r);
		reap(r);
		for (int i = OUT; i <= ERR; i++)
			if (fds[i].fd >= 0 && fds[i].revents && !pass_on(r, i))
				fds[i].fd = -1;
	}
	/* the command's output is in the pipes; later output of its children
	 * is not waited for */
	for (int i = OUT; i <= ERR; i++)
		if (fds[i].fd >= 0)
			pass_on(r, i);
}

int
diag_child_run(char *const *words, const struct diag_child_hooks *hooks, struct diag_child *out)
{
	struct run r = { .hooks = hooks, .result = out };
	int rc;

	*out = (struct diag_child){ .code = 0 };
	rc = open_all(&r);
	r.pid = rc < 0 ? -1 : fork();
	if (rc == 0 && r.pid < 0)
		rc = -errno;
	if (r.pid == 0)
		become(&r, words);
	if (rc == 0) {
		close_end(&r, OUT, 1);
		close_end(&r, ERR, 1);
		close_end(&r, EXEC, 1);
		close_end(&r, GO, 0);
		hooks->begin(hooks->arg, r.pid);
		out->begin_ns = diag_now_ns();
		if (write(r.pipe[GO][1], "", 1) != 1)
			rc = -errno; /* the child is gone already */
		close_end(&r, GO, 1);
		if (read(r.pipe[EXEC][0], &out->exec_error, sizeof(int)) != sizeof(int))
			out->exec_error = 0;
		watch(&r);
	}
	close_pipes(&r);
	if (r.signals >= 0)
		close(r.signals);
	sigprocmask(SIG_SETMASK, &r.before, NULL);
	return rc;
}

/* ---- short ones ------------------------------------------------------------------- */

/* Keeps the last @cap bytes: of twice that much room, cut when it is full. */
static void
keep_end(char *text, size_t *len, size_t cap)
{
	if (*len < 2 * cap)
		return;
	memmove(text, text + *len - cap, cap);
	*len = cap;
}

static int
read_until(int fd, uint64_t deadline, size_t cap, char *text, size_t *len)
{
	for (;;) {
		struct pollfd p = { fd, POLLIN, 0 };
		uint64_t now = diag_now_ns();
		ssize_t n;

		if (now >= deadline)
			return -ETIMEDOUT;
		if (poll(&p, 1, (int)((deadline - now) / 1000000) + 1) <= 0)
			continue;
		n = read(fd, text + *len, 2 * cap - *len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		*len += (size_t)n;
		keep_end(text, len, cap);
	}
}

int
diag_capture(char *const *words, unsigned seconds, size_t cap, char **text)
{
	char *buf = malloc(2 * cap + 1);
	int fd[2], status = 0, rc;
	size_t len = 0;
	pid_t pid;

	*text = NULL;
	if (!buf)
		return -ENOMEM;
	if (pipe2(fd, O_CLOEXEC) < 0) {
		rc = -errno;
		free(buf);
		return rc;
	}
	pid = fork();
	if (pid == 0) {
		dup2(fd[1], STDOUT_FILENO);
		dup2(fd[1], STDERR_FILENO);
		execvp(words[0], words);
		_exit(127);
	}
	close(fd[1]);
	rc = pid < 0 ? -errno : read_until(fd[0], diag_now_ns() + seconds * 1000000000ull, cap,
					   buf, &len);
	close(fd[0]);
	if (pid > 0) {
		if (rc < 0)
			kill(pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	if (len > cap) {
		memmove(buf, buf + len - cap, cap);
		len = cap;
	}
	buf[len] = '\0';
	*text = buf;
	return rc < 0 ? rc : WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
