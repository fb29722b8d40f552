/* SPDX-License-Identifier: Apache-2.0 */
/* A listener's inode stands in /proc/net, and its holder has a descriptor of that inode. */
#include "measure/perf/port_holder.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LISTENS = 0x0a, SOCKETS = 16, COMMAND = 80 };

/* Appends the inodes of listeners at @port in one table of the kernel. */
static void
find_sockets(const char *table, uint16_t port, uint64_t inode[SOCKETS], unsigned *count)
{
	FILE *f = fopen(table, "re");
	char line[512];

	while (f && *count < SOCKETS && fgets(line, sizeof(line), f)) {
		unsigned at, state;
		uint64_t found;

		/* number, address:port of both ends, state, 2 queues, timer, 3 more, inode */
		if (sscanf(line, " %*u: %*[0-9A-Fa-f]:%x %*s %x %*s %*s %*s %*s %*s %" SCNu64,
			   &at, &state, &found) == 3 && at == port && state == LISTENS && found)
			inode[(*count)++] = found;
	}
	if (f)
		fclose(f);
}

static bool
has_one(const char *pid, const uint64_t *inode, unsigned count)
{
	char path[300], target[64], want[64];
	const struct dirent *d;
	bool has = false;
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	fds = opendir(path);
	while (fds && !has && (d = readdir(fds))) {
		ssize_t n = readlinkat(dirfd(fds), d->d_name, target, sizeof(target) - 1);

		target[n > 0 ? n : 0] = '\0';
		for (unsigned i = 0; i < count && !has; i++) {
			snprintf(want, sizeof(want), "socket:[%" PRIu64 "]", inode[i]);
			has = !strcmp(target, want);
		}
	}
	if (fds)
		closedir(fds);
	return has;
}

/* The beginning of its command line, in one line of printable characters. */
static void
command_of(const char *pid, char out[COMMAND])
{
	char path[300];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/cmdline", pid);
	f = fopen(path, "re");
	if (f) {
		n = fread(out, 1, COMMAND - 1, f);
		fclose(f);
	}
	while (n && !out[n - 1])
		n--;
	out[n] = '\0';
	for (size_t i = 0; i < n; i++)
		if (!isprint((unsigned char)out[i]))
			out[i] = !out[i] || isspace((unsigned char)out[i]) ? ' ' : '?';
}

const char *
port_holder(uint16_t port, char *buf, size_t cap)
{
	uint64_t inode[SOCKETS];
	unsigned count = 0;
	const struct dirent *d;
	char command[COMMAND];
	DIR *proc;

	buf[0] = '\0';
	find_sockets("/proc/self/net/tcp", port, inode, &count);
	find_sockets("/proc/self/net/tcp6", port, inode, &count);
	proc = count ? opendir("/proc") : NULL;
	while (proc && !buf[0] && (d = readdir(proc))) {
		if (!isdigit((unsigned char)d->d_name[0]) || !has_one(d->d_name, inode, count))
			continue;
		command_of(d->d_name, command);
		snprintf(buf, cap, "process %.12s (%s)", d->d_name, command);
	}
	if (proc)
		closedir(proc);
	return buf;
}
