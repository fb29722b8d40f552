/* SPDX-License-Identifier: Apache-2.0 */
/* A child process that loads a plugin, and a pipe for its answer. */
#include "tune/info/child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tool/tool.h"

enum heard { HEARD_ALL, HEARD_END, HEARD_NOTHING };

static enum heard
listen_to(int fd, char *at, size_t left)
{
	uint64_t end = tcpx_clock_now(&tcpx_clock_system) + MACHINE_CHILD_MS * TCPX_MS;
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	while (left) {
		uint64_t now = tcpx_clock_now(&tcpx_clock_system);
		ssize_t got;

		if (now >= end)
			return HEARD_NOTHING;
		if (poll(&pfd, 1, (int)((end - now) / TCPX_MS) + 1) <= 0)
			continue;
		got = read(fd, at, left);
		if (got <= 0)
			return HEARD_END;
		at += got;
		left -= (size_t)got;
	}
	return HEARD_ALL;
}

static void
say_end(int status, enum heard heard, char *why, size_t cap)
{
	if (heard == HEARD_NOTHING)
		snprintf(why, cap, "the plugin's init() did not return within %d s",
			 MACHINE_CHILD_MS / 1000);
	else if (WIFSIGNALED(status))
		snprintf(why, cap, "the plugin ended the process that loaded it, by signal %d (%s)",
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(why, cap, "the plugin ended the process that loaded it, with exit code %d",
			 WEXITSTATUS(status));
}

bool
machine_child(void (*ask)(const char *path, void *out), const char *path, void *out, size_t len,
	      char *why, size_t cap)
{
	enum heard heard = HEARD_END;
	int fds[2], status = 0;
	pid_t pid;

	if (pipe(fds)) {
		snprintf(why, cap, "no pipe to a child: %s", strerror(errno));
		return false;
	}
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		dup2(STDERR_FILENO, STDOUT_FILENO); /* plugins print, and stdout has our table */
		ask(path, out);
		_exit(write(fds[1], out, len) == (ssize_t)len ? TOOL_OK : TOOL_DENIED);
	}
	close(fds[1]);
	if (pid > 0) {
		heard = listen_to(fds[0], out, len);
		if (heard != HEARD_ALL)
			kill(pid, SIGKILL); /* a child that is ending has its own status */
		waitpid(pid, &status, 0);
		if (heard != HEARD_ALL)
			say_end(status, heard, why, cap);
	} else {
		snprintf(why, cap, "no child: %s", strerror(errno));
	}
	close(fds[0]);
	return heard == HEARD_ALL;
}
