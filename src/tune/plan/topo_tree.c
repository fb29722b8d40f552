/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trees in a temporary directory. Signals wait until ours is removed. A lock covers what
 * cannot wait: an unlocked tree belongs to a run that was killed.
 */
#include "tune/plan/topo_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/tool.h"
#include "tune/texts/tree.h"

#define PREFIX "tcpx-topo-"

/* Locks a directory that is ours and no link. -1: another's, or none. */
static int
lock_dir(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st, now;

	if (fd < 0)
		return -1;
	/* a process that locked it first may have removed it */
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
	    lstat(dir, &now) == 0 && now.st_ino == st.st_ino && now.st_dev == st.st_dev)
		return fd;
	close(fd);
	return -1;
}

/* Removes trees left by other runs. An empty one was not even begun; one without a
 * mark is not ours. */
static void
sweep(const char *parent)
{
	DIR *d = opendir(parent);
	struct dirent *entry;
	char dir[512], mark[600];

	while (d && (entry = readdir(d)) != NULL) {
		int fd;

		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0 ||
		    (size_t)snprintf(dir, sizeof(dir), "%s/%s", parent, entry->d_name) >= sizeof(dir))
			continue;
		fd = lock_dir(dir);
		if (fd < 0)
			continue;
		snprintf(mark, sizeof(mark), "%s/%s", dir, TCPX_TREE_MARK);
		if (rmdir(dir) < 0 && access(mark, F_OK) == 0 && tcpx_tree_remove(dir) < 0)
			errno = 0; /* logged; it costs only space */
		close(fd);
	}
	if (d)
		closedir(d);
}

/* A new directory, locked; another run's sweep may be faster than our lock. */
static int
make_dir(const char *parent, char *dir, size_t cap)
{
	for (int tries = 0; tries < 8; tries++) {
		int fd;

		snprintf(dir, cap, "%s/" PREFIX "XXXXXX", parent);
		if (!mkdtemp(dir))
			return -1;
		fd = lock_dir(dir);
		if (fd >= 0)
			return fd;
	}
	errno = EBUSY;
	return -1;
}

static int
write_and_read(const struct tcpx_machine *m, const char *dir, struct tcpx_topo **out)
{
	int rc = tcpx_tree_write(m, dir);

	if (rc == 0)
		rc = tcpx_topo_read(dir, out);
	if (tcpx_tree_remove(dir) < 0 && rc == 0) {
		tcpx_topo_free(*out);
		rc = -EIO;
	}
	return rc < 0 ? TOOL_DENIED : TOOL_OK; /* the reason is in the log */
}

/* In memory: a disk takes seconds for thousands of small files. */
static const char *
usual_parent(void)
{
	const char *tmp = getenv("TMPDIR");

	if (tmp && *tmp)
		return tmp;
	return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

int
topo_of_machine(const char *command, const struct tcpx_machine *m, struct tcpx_topo **out)
{
	const char *parent = usual_parent();
	sigset_t block, old;
	char dir[512];
	int fd, rc;

	sweep(parent);
	sigemptyset(&block);
	sigaddset(&block, SIGINT);
	sigaddset(&block, SIGTERM);
	sigaddset(&block, SIGHUP);
	sigprocmask(SIG_BLOCK, &block, &old);
	fd = make_dir(parent, dir, sizeof(dir));
	if (fd < 0) {
		rc = tool_fail(TOOL_DENIED, command, "cannot make a directory in %s: %s", parent,
			       strerror(errno));
	} else {
		rc = write_and_read(m, dir, out);
		close(fd);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	return rc;
}
