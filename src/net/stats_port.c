/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stats socket of an engine. Its name appears in the directory when it is already
 * listening, so a socket that refuses belongs to a dead engine.
 */
#include "net/stats_port.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/ownfd.h"

#define BACKLOG  16
#define SEALS    (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
#define TEXT_MAX (64 << 20)
#define LOOKS_MAX 64 /* entries checked for dead engines when a port opens */

/* ---- the engine's end ---- */

bool
tcpx_stats_candidate(unsigned i, char dir[TCPX_STATS_PATH])
{
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
	int n = 0;

	dir[0] = '\0';
	if (i == 0 && runtime && runtime[0] == '/')
		n = snprintf(dir, TCPX_STATS_PATH, "%s/tcpx", runtime);
	else if (i == 1 && geteuid() == 0)
		n = snprintf(dir, TCPX_STATS_PATH, "/run/tcpx");
	else if (i == 2)
		n = snprintf(dir, TCPX_STATS_PATH, "/tmp/tcpx-%u", (unsigned)geteuid());
	if (n >= TCPX_STATS_PATH)
		dir[0] = '\0';
	return i < 3;
}

static int
make_dir(const char *dir)
{
	struct stat st;

	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return -errno;
	if (lstat(dir, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	return st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)) ? -EPERM : 0;
}

static int
bind_at(int fd, const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	memcpy(at.sun_path, path, strlen(path) + 1);
	/* on Linux the socket's file has the mode of the socket */
	if (fchmod(fd, 0600) < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		return -errno;
	return 0;
}

int64_t
tcpx_stats_name(const char *name, bool *draft)
{
	char *at;
	long pid = strtol(name, &at, 10);

	if (pid <= 0 || *at != '-' || strspn(at + 1, "0123456789abcdef") != 16)
		return 0;
	*draft = strcmp(at + 17, ".new") == 0;
	return *draft || strcmp(at + 17, ".sock") == 0 ? pid : 0;
}

/* Removes sockets of dead engines, a limited number. A missing process id is only a hint, since
 * it may be of another PID namespace: the socket must refuse, too. */
static void
remove_dead(const char *dir)
{
	DIR *d = opendir(dir);
	char path[TCPX_STATS_PATH];
	struct dirent *entry;
	int64_t pid;
	bool draft;
	int looks = LOOKS_MAX, fd;

	while (d && looks > 0 && (entry = readdir(d))) {
		pid = tcpx_stats_name(entry->d_name, &draft);
		if (!pid || draft || kill((pid_t)pid, 0) == 0 || errno != ESRCH ||
		    snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name) >= (int)sizeof(path))
			continue;
		looks--;
		fd = tcpx_stats_ask(path);
		if (fd == -ECONNREFUSED)
			unlink(path);
		else if (fd >= 0)
			close(fd);
	}
	if (d)
		closedir(d);
}

int
tcpx_stats_port_open(struct tcpx_stats_port *p, const char *dir, uint64_t incarnation)
{
	char early[TCPX_STATS_PATH], path[TCPX_STATS_PATH];
	int rc, n;

	p->fd = p->spare = -1;
	p->path[0] = '\0';
	n = snprintf(path, sizeof(path), "%s/%d-%016llx.sock", dir, (int)getpid(),
		     (unsigned long long)incarnation);
	if (n < 0 || n >= (int)sizeof(path))
		return -ENAMETOOLONG;
	snprintf(early, sizeof(early), "%s", path);
	memcpy(early + n - 4, "new", 4);
	rc = make_dir(dir);
	if (rc)
		return rc;
	remove_dead(dir);
	p->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (p->fd < 0)
		return -errno;
	tcpx_ownfd_add(p->fd);
	rc = bind_at(p->fd, early);
	if (rc == 0 && (listen(p->fd, BACKLOG) < 0 || rename(early, path) < 0)) {
		rc = -errno;
		unlink(early);
	}
	if (rc) {
		tcpx_ownfd_close(p->fd);
		p->fd = -1;
		return rc;
	}
	memcpy(p->path, path, sizeof(path));
	p->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return 0;
}

void
tcpx_stats_port_close(struct tcpx_stats_port *p)
{
	if (p->path[0]) {
		unlink(p->path);
		tcpx_ownfd_close(p->fd);
		if (p->spare >= 0)
			close(p->spare);
	}
	p->path[0] = '\0';
	p->fd = p->spare = -1;
}

/* With no descriptor left, the spare one accepts a connection to close it: an unaccepted one
 * would wake the loop again and again. */
static void
hang_up(struct tcpx_stats_port *p)
{
	int fd;

	if (p->spare < 0)
		return;
	close(p->spare);
	fd = accept4(p->fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		close(fd);
	p->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int
tcpx_stats_port_accept(struct tcpx_stats_port *p)
{
	struct ucred who;
	socklen_t len;
	int fd;

	for (;;) {
		fd = accept4(p->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0 && (errno == EMFILE || errno == ENFILE))
			hang_up(p);
		if (fd < 0)
			return -EAGAIN;
		len = sizeof(who);
		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 &&
		    (who.uid == 0 || who.uid == geteuid()))
			return fd;
		close(fd);
	}
}

static bool
write_all(int fd, const char *text, size_t len)
{
	ssize_t n;

	while (len > 0) {
		n = write(fd, text, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		text += n;
		len -= (size_t)n;
	}
	return true;
}

static void
pass(int conn, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .room = { 0 } };
	char one = 1;
	struct iovec iov = { &one, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.room,
			      .msg_controllen = sizeof(control.room) };
	struct cmsghdr *h = CMSG_FIRSTHDR(&msg);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(h), &fd, sizeof(fd));
	(void)!sendmsg(conn, &msg, MSG_NOSIGNAL);
}

void
tcpx_stats_port_answer(int conn, const char *text, size_t len)
{
	int fd = memfd_create("tcpx-stats", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && write_all(fd, text, len) && fcntl(fd, F_ADD_SEALS, SEALS) == 0)
		pass(conn, fd);
	if (fd >= 0)
		close(fd);
	close(conn);
}

/* ---- the other end ---- */

int
tcpx_stats_ask(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t len = strlen(path);
	int fd, rc;

	if (len >= sizeof(to.sun_path))
		return -ENAMETOOLONG;
	memcpy(to.sun_path, path, len + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

/* The descriptor that was passed, or -EAGAIN, -EACCES, -EPROTO. */
static int
passed(int conn)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	char one;
	struct iovec iov = { &one, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.room,
			      .msg_controllen = CMSG_LEN(sizeof(int)) }; /* room for no second */
	struct cmsghdr *h;
	ssize_t n;
	int fd;

	n = recvmsg(conn, &msg, MSG_CMSG_CLOEXEC);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? -EAGAIN :
		       errno == ECONNRESET ? -EACCES : -EPROTO;
	h = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	if (!h || h->cmsg_type != SCM_RIGHTS || h->cmsg_len != CMSG_LEN(sizeof(int)))
		return n == 0 ? -EACCES : -EPROTO;
	memcpy(&fd, CMSG_DATA(h), sizeof(fd));
	return fd;
}

static int
read_all(int fd, char **text, size_t *len)
{
	int seals = fcntl(fd, F_GET_SEALS); /* fails for files whose reading could block */
	struct stat st;
	size_t got = 0;
	ssize_t n = 1;
	char *at;

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) < 0 || st.st_size > TEXT_MAX)
		return -EPROTO;
	at = malloc((size_t)st.st_size + 1);
	if (!at)
		return -ENOMEM;
	while (n > 0 && got < (size_t)st.st_size) {
		n = pread(fd, at + got, (size_t)st.st_size - got, (off_t)got);
		got += n > 0 ? (size_t)n : 0;
	}
	at[got] = '\0';
	*text = at;
	*len = got;
	return 0;
}

int
tcpx_stats_take(int conn, int timeout_ms, char **text, size_t *len)
{
	struct pollfd p = { .fd = conn, .events = POLLIN };
	int fd, rc = -ETIMEDOUT;

	if (poll(&p, 1, timeout_ms) > 0) {
		fd = passed(conn);
		rc = fd < 0 ? fd : read_all(fd, text, len);
		if (fd >= 0)
			close(fd);
	}
	close(conn);
	return rc == -EAGAIN ? -ETIMEDOUT : rc;
}
