/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls into libc that fail when a test says so: the n-th of a function, or all from it on.
 * They are wrapped at link time: what the library calls fails, what libc, OpenSSL and plugins
 * call among themselves does not.
 */
#ifndef NTH_CALLS_H
#define NTH_CALLS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * CALL(name, errno...): each error is one that Linux gives for it, so close() and what wakes a
 * thread by its eventfd are not here.
 */
#define NTH_MEMORY(CALL)                                                                          \
	CALL(malloc, ENOMEM)                                                                      \
	CALL(calloc, ENOMEM)                                                                      \
	CALL(realloc, ENOMEM)                                                                     \
	CALL(aligned_alloc, ENOMEM)                                                               \
	CALL(mmap64, ENOMEM)                                                                      \
	CALL(madvise, EINVAL)                                                                     \
	CALL(msync, ENOMEM, EINTR)                                                                \
	CALL(memfd_create, EMFILE, ENOSYS)                                                        \
	CALL(pthread_create, EAGAIN)
#define NTH_SOCKETS(CALL)                                                                         \
	CALL(socket, EMFILE, ENOBUFS, EAFNOSUPPORT)                                               \
	CALL(bind, EADDRINUSE, EADDRNOTAVAIL, EACCES)                                             \
	CALL(listen, EADDRINUSE, ENOBUFS)                                                         \
	CALL(accept4, EMFILE, ECONNABORTED, ENOBUFS, EINTR)                                       \
	CALL(connect, ECONNREFUSED, ENETUNREACH, EADDRNOTAVAIL, ENOBUFS)                          \
	CALL(getsockname, ENOBUFS)                                                                \
	CALL(getpeername, ENOTCONN)                                                               \
	CALL(getsockopt, ENOBUFS)                                                                 \
	CALL(setsockopt, ENOPROTOOPT, EPERM, ENOBUFS)                                             \
	CALL(send, ECONNRESET, EPIPE, ENOBUFS)                                                    \
	CALL(sendmsg, ECONNRESET, EPIPE, ENOBUFS)                                                 \
	CALL(recv, ECONNRESET, ETIMEDOUT, ENOMEM)                                                 \
	CALL(recvmsg, ECONNRESET, ETIMEDOUT, ENOMEM)                                              \
	CALL(sendto, ECONNRESET, EPIPE, ENOBUFS)                                                  \
	CALL(recvfrom, ECONNRESET, ETIMEDOUT, ENOMEM)                                             \
	CALL(splice, ENOMEM, ECONNRESET)                                                          \
	CALL(vmsplice, ENOMEM)                                                                    \
	CALL(getifaddrs, ENOMEM, EMFILE)                                                          \
	CALL(if_nametoindex, ENODEV)                                                              \
	CALL(getaddrinfo, ENOMEM)
#define NTH_WAITS(CALL)                                                                           \
	CALL(epoll_create1, EMFILE, ENOMEM)                                                       \
	CALL(epoll_ctl, ENOMEM, ENOSPC)                                                           \
	CALL(epoll_wait, EINTR)                                                                   \
	CALL(epoll_pwait, EINTR)                                                                  \
	CALL(epoll_pwait2, EINTR, ENOSYS)                                                         \
	CALL(ppoll, EINTR, ENOMEM)                                                                \
	CALL(poll, EINTR, ENOMEM)                                                                 \
	CALL(futex, EINTR)                                                                        \
	CALL(eventfd, EMFILE, ENOMEM)                                                             \
	CALL(pipe2, EMFILE, ENFILE)                                                               \
	CALL(fcntl64, EPERM, ENOMEM)
#define NTH_FILES(CALL)                                                                           \
	CALL(open64, EMFILE, EACCES, ENOENT)                                                      \
	CALL(openat64, EMFILE, EACCES, ENOENT)                                                    \
	CALL(openat2, EMFILE, ENOSYS, ENOENT)                                                     \
	CALL(fdopen, ENOMEM)                                                                      \
	CALL(scandirat64, ENOMEM, ENOENT)                                                         \
	CALL(opendir, EMFILE, EACCES)                                                             \
	CALL(read, EIO, EINTR)                                                                    \
	CALL(pread64, EIO, EFAULT)                                                                \
	CALL(preadv64, EIO, EFAULT)                                                               \
	CALL(pwrite64, EIO, EFAULT)                                                               \
	CALL(pwritev64, EIO, EFAULT)                                                              \
	CALL(stat64, EACCES)                                                                      \
	CALL(lstat64, EACCES)                                                                     \
	CALL(fstat64, EACCES)                                                                     \
	CALL(readlink, ENOENT)                                                                    \
	CALL(ioctl, EOPNOTSUPP)                                                                   \
	CALL(getrlimit64, EPERM)                                                                  \
	CALL(getrandom, ENOSYS, EINTR)                                                            \
	CALL(prctl, EINVAL)                                                                       \
	CALL(sched_setaffinity, EINVAL)                                                           \
	CALL(sched_getaffinity, EINVAL)                                                           \
	CALL(dlopen, ENOENT)
#define NTH_CALLS(CALL) NTH_MEMORY(CALL) NTH_SOCKETS(CALL) NTH_WAITS(CALL) NTH_FILES(CALL)

#define NTH_ID(name, ...) NTH_##name,
enum nth_call { NTH_CALLS(NTH_ID) NTH_COUNT, NTH_NONE = NTH_COUNT };
#undef NTH_ID

/* From now on calls are counted, by every thread; turn n (from 1) of one fails with its error
 * number way (from 0), and so does each later one if on. */
void nth_arm(enum nth_call call, unsigned n, unsigned way, bool on);
/* Counting ends. True: a call has failed. */
bool nth_disarm(void);
/* How often it was called while counted. */
unsigned nth_calls(enum nth_call call);
/* How many errors it knows. */
unsigned nth_ways(enum nth_call call);
/* The call that has failed, else the one that was to. */
const char *nth_name(void);
/* What is mapped and not unmapped since the process began. */
long nth_mapped(void);

#endif
