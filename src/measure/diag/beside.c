/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that record beside the command: mpstat, pidstat and perf, each into a file of the
 * folder. They end by SIGINT, at which they write their averages, and with this process.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure/diag/diag.h"
#include "tool/tool.h"

#define ATTACH_MS 10000 /* for perf, until it counts */
/* Events in user space, which any user may count. The last counts loads from another node. */
#define EVENTS "instructions:u,cycles:u,cache-misses:u,node-load-misses:u"

static const char *const names[DIAG_BESIDE][2] = {
	[DIAG_MPSTAT] = { "mpstat", "mpstat.txt" },
	[DIAG_PIDSTAT] = { "pidstat", "pidstat.txt" },
	[DIAG_PERF] = { "perf", "perf_stat.txt" },
};

static void
file_of(const struct diag *d, unsigned i, char path[640])
{
	snprintf(path, 640, "%s/%s", d->dir, names[i][1]);
}

static void
become(const struct diag *d, unsigned i, const char *pid, const char *control)
{
	char path[640];
	sigset_t none;
	int fd;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGINT, SIG_DFL); /* a shell's background has it ignored */
	prctl(PR_SET_PDEATHSIG, SIGINT);
	setpgid(0, 0); /* a terminal's ^C is for the command */
	file_of(d, i, path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		_exit(126);
	dup2(fd, STDOUT_FILENO);
	dup2(fd, STDERR_FILENO);
	if (i == DIAG_MPSTAT)
		execlp("mpstat", "mpstat", "-P", "ALL", "1", NULL);
	else if (i == DIAG_PIDSTAT)
		execlp("pidstat", "pidstat", "-t", "-u", "-w", "1", NULL);
	else
		execlp("perf", "perf", "stat", "-D", "-1", "--control", control, "-e", EVENTS, "-p",
		       pid, NULL);
	_exit(errno == ENOENT ? 127 : 126);
}

static void
start(struct diag *d, unsigned i, const char *pid, const char *control)
{
	pid_t child = fork();

	if (child == 0)
		become(d, i, pid, control);
	d->beside[i] = child > 0 ? child : 0;
}

/* Returns when perf counts, or has ended: it reads "enable" and answers. */
static void
start_perf(struct diag *d, long pid)
{
	struct pollfd answer = { .events = POLLIN };
	char target[24], control[48];
	int ask[2], back[2];

	if (pipe(ask) < 0)
		return;
	if (pipe(back) == 0) {
		snprintf(target, sizeof(target), "%ld", pid);
		snprintf(control, sizeof(control), "fd:%d,%d", ask[0], back[1]);
		fcntl(back[0], F_SETFD, FD_CLOEXEC);
		fcntl(ask[1], F_SETFD, FD_CLOEXEC);
		if (write(ask[1], "enable\n", 7) == 7)
			start(d, DIAG_PERF, target, control);
		close(back[1]);
		answer.fd = back[0];
		(void)poll(&answer, 1, ATTACH_MS);
		close(back[0]);
	}
	close(ask[0]);
	close(ask[1]);
}

void
diag_beside_begin(struct diag *d, long pid)
{
	start(d, DIAG_MPSTAT, NULL, NULL);
	start(d, DIAG_PIDSTAT, NULL, NULL);
	start_perf(d, pid);
}

void
diag_beside_end(struct diag *d)
{
	for (unsigned i = 0; i < DIAG_BESIDE; i++) {
		char path[640];
		int status = 0;

		if (!d->beside[i])
			continue;
		kill((pid_t)d->beside[i], SIGINT);
		while (waitpid((pid_t)d->beside[i], &status, 0) < 0 && errno == EINTR)
			;
		d->beside[i] = 0;
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 127)
			continue;
		file_of(d, i, path);
		unlink(path);
		tool_fail(0, "tcpx diag run", "%s is not installed: no %s", names[i][0], names[i][1]);
	}
}
