/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Network namespaces by name. A name is a file on which the namespace is bind-mounted. A
 * process killed between making the file and mounting on it leaves an empty file, which
 * lab_ns_delete() removes like any other.
 */
#include "measure/lab/namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *
ns_path(const char *name, char *buf, size_t cap)
{
	snprintf(buf, cap, LAB_NS_DIR "/%s", name);
	return buf;
}

/* As iproute2 does: a shared mount, so that names appear and vanish in every mount tree. */
static int
ns_dir_create(void)
{
	if (mkdir(LAB_NS_DIR, 0755) < 0 && errno != EEXIST)
		return -errno;
	if (!mount("", LAB_NS_DIR, "none", MS_SHARED | MS_REC, NULL))
		return 0;
	if (errno != EINVAL || /* EINVAL: not a mount of its own yet */
	    mount(LAB_NS_DIR, LAB_NS_DIR, "none", MS_BIND | MS_REC, NULL) < 0 ||
	    mount("", LAB_NS_DIR, "none", MS_SHARED | MS_REC, NULL) < 0)
		return -errno;
	return 0;
}

int
lab_ns_create(const char *name)
{
	char path[256];
	int home, fd, rc;

	rc = ns_dir_create();
	if (rc)
		return rc;
	home = lab_ns_self();
	if (home < 0)
		return home;
	fd = open(ns_path(name, path, sizeof(path)), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
	if (fd < 0) {
		rc = -errno;
		goto close_home;
	}
	close(fd);

	if (unshare(CLONE_NEWNET) < 0) {
		rc = -errno;
		goto delete_file;
	}
	if (mount("/proc/self/ns/net", path, "none", MS_BIND, NULL) < 0)
		rc = -errno;
	if (setns(home, CLONE_NEWNET) < 0)
		rc = rc ? rc : -errno;
	if (!rc)
		goto close_home;

delete_file:
	lab_ns_delete(name);
close_home:
	close(home);
	return rc;
}

int
lab_ns_delete(const char *name)
{
	char path[256];

	ns_path(name, path, sizeof(path));
	if (umount2(path, MNT_DETACH) < 0 && errno != EINVAL) /* EINVAL: never mounted */
		return -errno;
	return unlink(path) < 0 ? -errno : 0;
}

int
lab_ns_open(const char *name)
{
	char path[256];
	int fd = open(ns_path(name, path, sizeof(path)), O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int
lab_ns_self(void)
{
	int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int
lab_ns_enter(int ns_fd)
{
	return setns(ns_fd, CLONE_NEWNET) < 0 ? -errno : 0;
}

static bool
all_running(void)
{
	struct ifaddrs *all = NULL;
	bool running = getifaddrs(&all) == 0;

	for (const struct ifaddrs *a = all; a; a = a->ifa_next)
		running = running && (a->ifa_flags & IFF_RUNNING);
	freeifaddrs(all);
	return running;
}

/* The kernel reports a carrier up to a second late; until then a NIC looks down. */
int
lab_ns_settle(int ns_fd, int timeout_ms)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	int home = lab_ns_self(), rc;
	bool running;

	if (home < 0)
		return home;
	rc = lab_ns_enter(ns_fd);
	if (!rc) {
		while (!(running = all_running()) && (timeout_ms -= 10) >= 0)
			nanosleep(&pause, NULL);
		rc = lab_ns_enter(home);
		if (!rc && !running)
			rc = -ETIMEDOUT;
	}
	close(home);
	return rc;
}

int
lab_ns_remount_sys(void)
{
	/* in a chroot / is no mount of its own (EINVAL); only /sys must not spread */
	if (unshare(CLONE_NEWNS) < 0 ||
	    (mount("", "/", "none", MS_SLAVE | MS_REC, NULL) < 0 &&
	     (errno != EINVAL || mount("", "/sys", "none", MS_SLAVE | MS_REC, NULL) < 0)) ||
	    mount("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return -errno;
	return 0;
}

int
lab_ns_socket(int ns_fd)
{
	struct timeval deadline = { .tv_sec = 10 };
	int home = lab_ns_self(), one = 1, sock, rc;

	if (home < 0)
		return home;
	rc = lab_ns_enter(ns_fd);
	if (rc)
		goto close_home;
	sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	rc = sock < 0 ? -errno : sock;
	if (setns(home, CLONE_NEWNET) < 0) {
		rc = -errno;
		if (sock >= 0)
			close(sock);
		goto close_home;
	}
	if (sock >= 0) {
		/* Ask for error texts, without the request echoed; neither is vital. */
		setsockopt(sock, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
		setsockopt(sock, SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof(one));
		setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof(deadline));
	}
close_home:
	close(home);
	return rc;
}

/* The kernel's text behind a capped acknowledgement. */
static void
read_words(const uint8_t *reply, size_t len, char *why, size_t cap)
{
	const size_t at = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct nlmsgerr));
	struct tcpx_nlattrs a = { .at = reply + at, .left = len < at ? 0 : len - at };

	while (tcpx_nlattr_next(&a))
		if (a.type == NLMSGERR_ATTR_MSG)
			snprintf(why, cap, "%.*s", (int)a.len, (const char *)a.data);
}

int
lab_ns_ask(int sock, struct tcpx_nl *m, char *why, size_t cap)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	union {
		struct nlmsghdr hdr;
		uint8_t bytes[2048];
	} reply;
	const struct nlmsgerr *err = NLMSG_DATA(&reply.hdr);
	ssize_t len;

	snprintf(why, cap, "%s", "");
	if (m->full)
		return -EMSGSIZE;
	if (sendto(sock, m->bytes, m->hdr.nlmsg_len, 0, (struct sockaddr *)&kernel,
		   sizeof(kernel)) < 0)
		return -errno;
	len = recv(sock, &reply, sizeof(reply), 0);
	if (len < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	if ((size_t)len < NLMSG_LENGTH(sizeof(*err)) || reply.hdr.nlmsg_type != NLMSG_ERROR)
		return -EBADMSG;
	if (err->error && (reply.hdr.nlmsg_flags & NLM_F_ACK_TLVS))
		read_words(reply.bytes, (size_t)len, why, cap);
	return err->error;
}
