/* SPDX-License-Identifier: Apache-2.0 */
/* The server of --self is this program again, which passes its engine's blob through a pipe. */
#include "measure/job/server.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/settings.h"
#include "tool/tool.h"

/* This process has warned of names that are no settings: the server need not. */
static void
drop_unknown_names(void)
{
	char word[64];

	for (size_t i = 0; environ[i];) {
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(environ[i], "="), environ[i]);
		if (strncmp(word, "TCPX_", 5) || tcpx_setting_find(word) >= 0 ||
		    tcpx_setting_known_elsewhere(word) || unsetenv(word))
			i++;
		else
			i = 0; /* the list has changed */
	}
}

/* In the child, after fork(): becomes `tcpx serve`. */
static void
exec_server(const struct perf_args *a, int ready_fd)
{
	static const struct {
		const char *setting, *flag;
	} flags[] = {
		{ "TCPX_CHANNELS=", "--channels" }, { "TCPX_CHUNK=", "--chunk" },
		{ "TCPX_WINDOW=", "--window" },     { "TCPX_DIST=", "--dist" },
		{ "TCPX_THREADS=", "--threads" },   { "TCPX_UNPACK_IMPL=", "--unpack" },
		{ "TCPX_ZEROCOPY=", "--zerocopy" }, { "TCPX_CTRL=", "--ctrl" },
		{ "TCPX_PROVIDER=", "--provider" }, { "TCPX_CONGESTION=", "--congestion" },
	};
	char fd_text[16], place[PLACE_TEXT], *argv[2 * PERF_SETTINGS + 20];
	const char *nics = a->peer_nics ? a->peer_nics : a->nics;
	int n = 0;

	snprintf(fd_text, sizeof(fd_text), "%d", ready_fd);
	argv[n++] = (char *)"tcpx";
	argv[n++] = (char *)"serve";
	if (!a->mesh) /* which has many clients */
		argv[n++] = (char *)"--once";
	argv[n++] = (char *)"--port";
	argv[n++] = (char *)"0";
	argv[n++] = (char *)"--ready-fd";
	argv[n++] = fd_text;
	if (nics) {
		argv[n++] = (char *)"--nics";
		argv[n++] = (char *)nics;
	}
	if (a->any)
		argv[n++] = (char *)"--any";
	if (a->label) {
		argv[n++] = (char *)"--label";
		argv[n++] = (char *)a->label;
	}
	if (a->peer_mem || a->mesh) {
		argv[n++] = (char *)"--mem";
		argv[n++] = (char *)(a->mesh ? place_format(&a->mem, place) : a->peer_mem);
	}
	for (size_t i = 0; i < a->setting_count; i++) {
		for (size_t k = 0; k < ARRAY_LEN(flags); k++) {
			size_t len = strlen(flags[k].setting);

			if (strncmp(a->settings[i], flags[k].setting, len))
				continue;
			argv[n++] = (char *)flags[k].flag;
			argv[n++] = (char *)a->settings[i] + len;
		}
	}
	argv[n] = NULL;
	drop_unknown_names();
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	setpgid(0, 0); /* Ctrl-C is for the client, which ends us when it is done */
	execv("/proc/self/exe", argv);
	_exit(127);
}

int
perf_read_blob(int fd, uint8_t *blob, size_t cap, size_t *len)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n;

	*len = 0;
	while (*len < cap) {
		if (poll(&p, 1, 20000) <= 0)
			return -ETIMEDOUT;
		n = read(fd, blob + *len, cap - *len);
		if (n == 0)
			return *len ? 0 : -EPIPE;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			*len += (size_t)n;
	}
	return -EMSGSIZE;
}

int
perf_server_start(const struct perf_args *a, uint8_t *blob, size_t cap, size_t *len, pid_t *pid)
{
	int fds[2], rc;

	if (pipe(fds) < 0)
		return -errno;
	fflush(NULL);
	*pid = fork();
	if (*pid == 0) {
		close(fds[0]);
		exec_server(a, fds[1]);
	}
	close(fds[1]);
	rc = *pid < 0 ? -errno : perf_read_blob(fds[0], blob, cap, len);
	close(fds[0]);
	return rc;
}

void
perf_server_stop(pid_t *pid)
{
	uint64_t until = tcpx_clock_now(&tcpx_clock_system) + 5 * TCPX_SEC;

	if (*pid <= 0)
		return;
	kill(*pid, SIGTERM);
	while (waitpid(*pid, NULL, WNOHANG) == 0) {
		if (tcpx_clock_now(&tcpx_clock_system) > until)
			kill(*pid, SIGKILL);
		usleep(2000);
	}
	*pid = 0;
}
