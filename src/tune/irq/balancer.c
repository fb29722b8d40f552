/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Talking to irqbalance: one request a connection, with our credentials, and an answer up
 * to the end of the stream. irqbalance is never restarted or signalled.
 */
#include "tune/irq/balancer.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "host/io.h"

enum {
	ANSWER = 8192,
	PATIENCE_S = 12, /* it answers between two rounds, which may be 10 s apart */
};

unsigned
tcpx_balancer_find(struct tcpx_files *f)
{
	size_t room = 1 << 20;
	char *names = malloc(room), path[64], comm[32];
	unsigned pid = 0;

	if (!names)
		return 0;
	if (f->ops->list(f, "proc", names, room) < 0)
		names[0] = '\0';
	for (char *at = names; *at && !pid; at += strlen(at) + 1) {
		if (strlen(at) > 10 || at[strspn(at, "0123456789")])
			continue;
		snprintf(path, sizeof(path), "proc/%s/comm", at);
		if (f->ops->read(f, path, comm, sizeof(comm)) > 0 && !strcmp(comm, "irqbalance"))
			pid = (unsigned)strtoul(at, NULL, 10);
	}
	free(names);
	return pid;
}

static int
reach(const char *dir, unsigned pid)
{
	struct timeval patience = { PATIENCE_S, 0 };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (tcpx_io_join(addr.sun_path, sizeof(addr.sun_path), "%s/irqbalance%u.sock", dir, pid) &&
	    connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	memset(addr.sun_path, 0, sizeof(addr.sun_path));
	len = (socklen_t)snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1,
				  "irqbalance%u.sock", pid);
	len += (socklen_t)offsetof(struct sockaddr_un, sun_path) + 1;
	if (connect(fd, (struct sockaddr *)&addr, len) == 0)
		return fd;
	close(fd);
	return -ENOTCONN;
}

static int
send_as_us(int fd, const char *text)
{
	struct ucred us = { getpid(), geteuid(), getegid() };
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(us))];
	} control = { 0 };
	struct iovec iov = { (void *)(uintptr_t)text, strlen(text) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_CREDENTIALS;
	c->cmsg_len = CMSG_LEN(sizeof(us));
	memcpy(CMSG_DATA(c), &us, sizeof(us));
	return sendmsg(fd, &msg, MSG_NOSIGNAL) == (ssize_t)iov.iov_len ? 0 : -EIO;
}

/* @answer has ANSWER bytes, or is NULL. Waits until the other side has closed. */
static int
ask(const char *dir, unsigned pid, const char *request, char *answer)
{
	char sink[512];
	size_t len = 0;
	int fd = reach(dir, pid), rc;

	if (fd < 0)
		return fd;
	rc = send_as_us(fd, request);
	while (rc == 0) {
		bool room = answer && len < ANSWER - 1;
		ssize_t n = room ? recv(fd, answer + len, ANSWER - 1 - len, 0) :
				   recv(fd, sink, sizeof(sink), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			rc = -errno;
		if (n <= 0)
			break;
		len += room ? (size_t)n : 0;
	}
	close(fd);
	if (answer)
		answer[len] = '\0';
	return rc == -ECONNRESET ? 0 : rc;
}

static bool
listed(const char *bans, unsigned long irq)
{
	char *end;

	for (const char *at = bans; *at; at = end) {
		if (strtoul(at, &end, 10) == irq && end != at)
			return true;
		if (end == at)
			break;
	}
	return false;
}

static int
add(char bans[TCPX_JOURNAL_BANS], unsigned long irq)
{
	size_t len = strlen(bans);

	if (listed(bans, irq))
		return 0;
	return tcpx_io_join(bans + len, TCPX_JOURNAL_BANS - len, "%s%lu", len ? " " : "", irq) ?
		0 : -E2BIG;
}

int
tcpx_balancer_parse(const char *setup, char bans[TCPX_JOURNAL_BANS])
{
	static const char word[] = "IRQ ";

	*bans = '\0';
	if (strncmp(setup, "SLEEP ", 6))
		return -EPROTO;
	for (const char *at = setup; (at = strstr(at, word)) != NULL;) {
		char *end;
		unsigned long irq;

		at += strlen(word);
		if (!isdigit((unsigned char)*at))
			return -EPROTO;
		irq = strtoul(at, &end, 10);
		if (irq > INT32_MAX || (*end && *end != ' '))
			return -EPROTO;
		if (add(bans, irq) < 0)
			return -E2BIG;
		at = end;
	}
	return 0;
}

static int
read_bans(const char *dir, unsigned pid, char bans[TCPX_JOURNAL_BANS])
{
	char answer[ANSWER];
	int rc = ask(dir, pid, "setup", answer);

	return rc < 0 ? rc : tcpx_balancer_parse(answer, bans);
}

static int
write_bans(const char *dir, unsigned pid, const char *bans)
{
	char request[TCPX_JOURNAL_BANS + 32], has[TCPX_JOURNAL_BANS], *end;
	int rc;

	snprintf(request, sizeof(request), "settings ban irqs %s", *bans ? bans : "NONE");
	rc = ask(dir, pid, request, NULL);
	if (rc == 0)
		rc = read_bans(dir, pid, has);
	for (const char *at = bans; rc == 0 && *at; at = end) {
		unsigned long irq = strtoul(at, &end, 10);

		if (end == at)
			break;
		if (!listed(has, irq))
			rc = -E2BIG;
	}
	return rc;
}

int
tcpx_balancer_set(const char *dir, unsigned pid, const char *bans)
{
	int rc = write_bans(dir, pid, bans);

	if (rc < 0)
		return tcpx_fail(TCPX_SUB_HOST, rc, "cannot tell irqbalance (process %u) to leave "
				 "alone IRQs %s", pid, *bans ? bans : "none");
	return 0;
}

int
tcpx_balancer_get(const char *dir, unsigned pid, char bans[TCPX_JOURNAL_BANS])
{
	int rc = read_bans(dir, pid, bans);

	if (rc < 0)
		return tcpx_fail(TCPX_SUB_HOST, rc, "cannot ask irqbalance (process %u) what it "
				 "leaves alone; stop it instead", pid);
	return 0;
}

int
tcpx_balancer_ban(const char *dir, unsigned pid, const char *bans,
		  const struct tcpx_aff_item *items, unsigned count)
{
	char all[TCPX_JOURNAL_BANS];
	int rc = 0, undo;

	snprintf(all, sizeof(all), "%s", bans);
	for (unsigned i = 0; i < count && rc == 0; i++)
		if (items[i].kind == TCPX_AFF_IRQ)
			rc = add(all, items[i].number);
	if (rc == 0)
		rc = write_bans(dir, pid, all);
	if (rc == 0)
		return 0;
	undo = write_bans(dir, pid, bans);
	return tcpx_fail(TCPX_SUB_HOST, rc, "irqbalance (process %u) does not leave all %u IRQs "
			 "alone%s; stop it instead", pid, count,
			 undo < 0 ? ", and its old list could not be put back" : "");
}
