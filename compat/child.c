/* SPDX-License-Identifier: Apache-2.0 */
/* The tool: where it is, and running it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"

const char *
find_tool(char path[PATH_MAX])
{
	static const char *const places[] = { "tcpx", "../tcpx" };
	char self[PATH_MAX - 16];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self));
	struct stat st;

	while (len > 0 && self[len - 1] != '/')
		len--;
	for (size_t i = 0; len > 0 && i < 2; i++) {
		snprintf(path, PATH_MAX, "%.*s%s", (int)len, self, places[i]);
		if (!stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK))
			return path;
	}
	return "tcpx";
}

pid_t
child_start(char *const *argv, int *fd)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	fflush(NULL);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		execvp(argv[0], argv);
		fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	close(ends[1]);
	*fd = ends[0];
	if (pid < 0)
		close(ends[0]);
	return pid;
}

int
child_end(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 1;
	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	return WEXITSTATUS(status);
}
