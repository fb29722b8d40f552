/* SPDX-License-Identifier: Apache-2.0 */
/* The wrapped calls. See calls.h. */
#include "calls.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/futex.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define WAYS_MAX 5

static const struct {
	const char *name;
	int error[WAYS_MAX];
} calls[NTH_COUNT + 1] = {
#define ROW(name, ...) [NTH_##name] = { #name, { __VA_ARGS__ } },
	NTH_CALLS(ROW)
#undef ROW
	[NTH_NONE] = { "no call", { 0 } },
};

static _Atomic bool armed;
static _Atomic unsigned count[NTH_COUNT];
static _Atomic unsigned failed; /* which call has, from 1; 0: none has */
static _Atomic long mapped;
static enum nth_call target;
static unsigned target_n, target_way;
static bool target_on;

void
nth_arm(enum nth_call call, unsigned n, unsigned way, bool on)
{
	for (unsigned i = 0; i < NTH_COUNT; i++)
		atomic_store(&count[i], 0);
	target = call;
	target_n = n;
	target_way = way;
	target_on = on;
	atomic_store(&failed, 0);
	atomic_store(&armed, true);
}

bool
nth_disarm(void)
{
	atomic_store(&armed, false);
	return atomic_load(&failed) != 0;
}

unsigned
nth_calls(enum nth_call call)
{
	return atomic_load(&count[call]);
}

unsigned
nth_ways(enum nth_call call)
{
	unsigned n = 0;

	while (n < WAYS_MAX && calls[call].error[n])
		n++;
	return n;
}

const char *
nth_name(void)
{
	unsigned which = atomic_load(&failed);

	return calls[which ? which - 1 : (unsigned)target].name;
}

long
nth_mapped(void)
{
	return atomic_load(&mapped);
}

/* True: this call fails, with errno set. */
static bool
fails(enum nth_call call)
{
	unsigned n;

	if (!atomic_load(&armed))
		return false;
	n = atomic_fetch_add(&count[call], 1) + 1;
	if (target != call || (target_on ? n < target_n : n != target_n))
		return false;
	atomic_store(&failed, (unsigned)call + 1);
	errno = calls[call].error[target_way % nth_ways(call)];
	return errno != EINTR || !target_on; /* no signal comes for ever */
}

/* WRAP(its type, name, parameters, arguments, what it returns when it fails) */
#define WRAP(type, name, params, args, bad)                                                       \
	type __real_##name params;                                                                \
	type __wrap_##name params;                                                                \
	type __wrap_##name params                                                                 \
	{                                                                                         \
		return fails(NTH_##name) ? (bad) : __real_##name args;                            \
	}

WRAP(void *, malloc, (size_t size), (size), NULL)
WRAP(void *, calloc, (size_t n, size_t size), (n, size), NULL)
WRAP(void *, realloc, (void *p, size_t size), (p, size), NULL)
WRAP(void *, aligned_alloc, (size_t to, size_t size), (to, size), NULL)
WRAP(int, madvise, (void *at, size_t len, int how), (at, len, how), -1)
WRAP(int, msync, (void *at, size_t len, int how), (at, len, how), -1)
WRAP(int, memfd_create, (const char *name, unsigned how), (name, how), -1)
WRAP(int, pthread_create,
     (pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg), (t, attr, fn, arg),
     errno)

WRAP(int, socket, (int family, int type, int protocol), (family, type, protocol), -1)
WRAP(int, bind, (int fd, const struct sockaddr *to, socklen_t len), (fd, to, len), -1)
WRAP(int, listen, (int fd, int most), (fd, most), -1)
WRAP(int, accept4, (int fd, struct sockaddr *from, socklen_t *len, int how), (fd, from, len, how),
     -1)
WRAP(int, connect, (int fd, const struct sockaddr *to, socklen_t len), (fd, to, len), -1)
WRAP(int, getsockname, (int fd, struct sockaddr *at, socklen_t *len), (fd, at, len), -1)
WRAP(int, getpeername, (int fd, struct sockaddr *at, socklen_t *len), (fd, at, len), -1)
WRAP(int, getsockopt, (int fd, int level, int name, void *v, socklen_t *len),
     (fd, level, name, v, len), -1)
WRAP(int, setsockopt, (int fd, int level, int name, const void *v, socklen_t len),
     (fd, level, name, v, len), -1)
WRAP(ssize_t, send, (int fd, const void *data, size_t len, int how), (fd, data, len, how), -1)
WRAP(ssize_t, sendmsg, (int fd, const struct msghdr *m, int how), (fd, m, how), -1)
WRAP(ssize_t, recv, (int fd, void *data, size_t len, int how), (fd, data, len, how), -1)
WRAP(ssize_t, recvmsg, (int fd, struct msghdr *m, int how), (fd, m, how), -1)
WRAP(ssize_t, splice, (int in, off_t *in_at, int out, off_t *out_at, size_t len, unsigned how),
     (in, in_at, out, out_at, len, how), -1)
WRAP(ssize_t, vmsplice, (int fd, const struct iovec *iov, size_t n, unsigned how),
     (fd, iov, n, how), -1)
WRAP(int, getifaddrs, (struct ifaddrs **all), (all), -1)
WRAP(unsigned, if_nametoindex, (const char *name), (name), 0)
WRAP(int, getaddrinfo,
     (const char *node, const char *service, const struct addrinfo *hint, struct addrinfo **all),
     (node, service, hint, all), EAI_MEMORY)

WRAP(int, epoll_create1, (int how), (how), -1)
WRAP(int, epoll_wait, (int fd, struct epoll_event *ev, int n, int ms), (fd, ev, n, ms), -1)
WRAP(int, poll, (struct pollfd *fd, nfds_t n, int ms), (fd, n, ms), -1)
WRAP(int, eventfd, (unsigned value, int how), (value, how), -1)
WRAP(int, pipe2, (int fd[2], int how), (fd, how), -1)

WRAP(FILE *, fdopen, (int fd, const char *how), (fd, how), NULL)
WRAP(int, scandirat64,
     (int dir, const char *path, struct dirent64 ***all, int (*good)(const struct dirent64 *),
      int (*order)(const struct dirent64 **, const struct dirent64 **)),
     (dir, path, all, good, order), -1)
WRAP(DIR *, opendir, (const char *path), (path), NULL)
WRAP(ssize_t, read, (int fd, void *data, size_t len), (fd, data, len), -1)
WRAP(ssize_t, pread64, (int fd, void *data, size_t len, off64_t at), (fd, data, len, at), -1)
WRAP(ssize_t, preadv64, (int fd, const struct iovec *iov, int n, off64_t at), (fd, iov, n, at), -1)
WRAP(ssize_t, pwrite64, (int fd, const void *data, size_t len, off64_t at), (fd, data, len, at), -1)
WRAP(ssize_t, pwritev64, (int fd, const struct iovec *iov, int n, off64_t at), (fd, iov, n, at), -1)
WRAP(int, stat64, (const char *path, struct stat64 *st), (path, st), -1)
WRAP(int, lstat64, (const char *path, struct stat64 *st), (path, st), -1)
WRAP(int, fstat64, (int fd, struct stat64 *st), (fd, st), -1)
WRAP(ssize_t, readlink, (const char *path, char *to, size_t len), (path, to, len), -1)
WRAP(int, getrlimit64, (int what, struct rlimit64 *limit), (what, limit), -1)
WRAP(ssize_t, getrandom, (void *data, size_t len, unsigned how), (data, len, how), -1)
WRAP(int, sched_setaffinity, (pid_t tid, size_t len, const void *set), (tid, len, set), -1)
WRAP(int, sched_getaffinity, (pid_t tid, size_t len, void *set), (tid, len, set), -1)
WRAP(void *, dlopen, (const char *path, int how), (path, how), NULL)

/* With fewer arguments than they may have, the rest is not looked at. */
#define WRAP_MORE(type, name, params, last, last_type, args, bad)                                 \
	type __real_##name params;                                                                \
	type __wrap_##name params;                                                                \
	type __wrap_##name params                                                                 \
	{                                                                                         \
		va_list more;                                                                     \
		last_type value;                                                                  \
                                                                                                  \
		va_start(more, last);                                                             \
		value = va_arg(more, last_type);                                                  \
		va_end(more);                                                                     \
		return fails(NTH_##name) ? (bad) : __real_##name args;                            \
	}

WRAP_MORE(int, open64, (const char *path, int how, ...), how, unsigned, (path, how, value), -1)
WRAP_MORE(int, openat64, (int dir, const char *path, int how, ...), how, unsigned,
	  (dir, path, how, value), -1)
WRAP_MORE(int, fcntl64, (int fd, int op, ...), op, long, (fd, op, value), -1)
WRAP_MORE(int, ioctl, (int fd, unsigned long op, ...), op, long, (fd, op, value), -1)

int __real_prctl(int op, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
int __wrap_prctl(int op, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
int
__wrap_prctl(int op, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	return fails(NTH_prctl) ? -1 : __real_prctl(op, a, b, c, d);
}

/* Only what is added needs memory. */
int __real_epoll_ctl(int fd, int op, int of, struct epoll_event *ev);
int __wrap_epoll_ctl(int fd, int op, int of, struct epoll_event *ev);
int
__wrap_epoll_ctl(int fd, int op, int of, struct epoll_event *ev)
{
	return op == EPOLL_CTL_ADD && fails(NTH_epoll_ctl) ? -1 : __real_epoll_ctl(fd, op, of, ev);
}

void *__real_mmap64(void *at, size_t len, int prot, int how, int fd, off64_t off);
void *__wrap_mmap64(void *at, size_t len, int prot, int how, int fd, off64_t off);
void *
__wrap_mmap64(void *at, size_t len, int prot, int how, int fd, off64_t off)
{
	void *got = fails(NTH_mmap64) ? MAP_FAILED : __real_mmap64(at, len, prot, how, fd, off);

	if (got != MAP_FAILED)
		atomic_fetch_add(&mapped, 1);
	return got;
}

int __real_munmap(void *at, size_t len);
int __wrap_munmap(void *at, size_t len);
int
__wrap_munmap(void *at, size_t len)
{
	atomic_fetch_sub(&mapped, 1);
	return __real_munmap(at, len);
}

/* ---- by number ---- */

static bool
fails_number(long number, long second)
{
	switch (number) {
	case SYS_sendto:
		return fails(NTH_sendto);
	case SYS_recvfrom:
		return fails(NTH_recvfrom);
	case SYS_epoll_pwait:
		return fails(NTH_epoll_pwait);
	case SYS_epoll_pwait2:
		return fails(NTH_epoll_pwait2);
	case SYS_ppoll:
		return fails(NTH_ppoll);
	case SYS_futex:
		return (second & FUTEX_CMD_MASK) == FUTEX_WAIT && fails(NTH_futex);
	case SYS_openat2:
		return fails(NTH_openat2);
	default:
		return false;
	}
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long
__wrap_syscall(long number, ...)
{
	long arg[6];
	va_list more;

	va_start(more, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(more, long);
	va_end(more);
	if (fails_number(number, arg[1]))
		return -1;
	return __real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}
