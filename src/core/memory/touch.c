/* SPDX-License-Identifier: Apache-2.0 */
/* The application's host memory, touched by system calls. */
#include "core/memory/touch.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mutex.h"

#define PAGE_BYTES  4096u
#define TOUCH_BYTES 8192u
#define PIECES      64 /* in one call */

/* msync() with MS_ASYNC writes nothing: it walks the mappings, and says where one is missing. */
bool
tcpx_memory_mapped(const void *addr, size_t len)
{
	uintptr_t from = (uintptr_t)addr & ~(uintptr_t)(PAGE_BYTES - 1);

	return msync((void *)from, (uintptr_t)addr + len - from, MS_ASYNC) == 0 || errno != ENOMEM;
}

int
tcpx_touch_open(struct touch *t)
{
	static const uint8_t zero[TOUCH_BYTES];
	int rc;

	t->fd = memfd_create("tcpx-touch", MFD_CLOEXEC);
	if (t->fd < 0)
		return tcpx_fail_errno(TCPX_SUB_INIT, "a file in memory");
	/* written, so that it has its pages: a touch of the mapping cannot fail */
	if (pwrite(t->fd, zero, sizeof(zero), 0) == sizeof(zero))
		t->room = mmap(NULL, TOUCH_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, 0);
	if (!t->room || t->room == MAP_FAILED) {
		rc = tcpx_fail_errno(TCPX_SUB_INIT, "room for small copies");
		close(t->fd);
		t->room = NULL;
		return rc;
	}
	tcpx_mutex_init(&t->lock);
	return 0;
}

void
tcpx_touch_close(struct touch *t)
{
	if (!t->room)
		return;
	munmap(t->room, TOUCH_BYTES);
	close(t->fd);
	pthread_mutex_destroy(&t->lock);
	t->room = NULL;
}

/* The pieces after *done bytes of frag[*i], as many as fit. Returns their bytes. */
static size_t
gather(const struct tcpx_frag *frag, size_t count, size_t *i, uint64_t *done, size_t len,
       struct iovec v[PIECES], int *n)
{
	size_t sum = 0, part;

	if (len > TOUCH_BYTES)
		len = TOUCH_BYTES;
	for (*n = 0; sum < len && *i < count && *n < PIECES; sum += part) {
		part = frag[*i].len - *done < len - sum ? frag[*i].len - *done : len - sum;
		if (part)
			v[(*n)++] = (struct iovec){ (void *)(uintptr_t)(frag[*i].addr + *done), part };
		*done += part;
		if (*done == frag[*i].len) {
			(*i)++;
			*done = 0;
		}
	}
	return sum;
}

/*
 * Measured for 64 bytes: 0.28 us to pack and 0.21 us to unpack, a call that does nothing takes
 * 0.12; process_vm_readv() takes 0.55 us and refuses mappings of devices, a pipe 0.38.
 */
int
tcpx_touch_copy(struct touch *t, enum tcpx_flow flow, const struct tcpx_frag *frag,
		size_t count, uint8_t *buf, size_t len)
{
	struct iovec v[PIECES];
	uint64_t done = 0;
	size_t i = 0, part;
	int n, rc = 0;

	pthread_mutex_lock(&t->lock);
	for (; rc == 0 && len > 0 && i < count; buf += part, len -= part) {
		part = gather(frag, count, &i, &done, len, v, &n);
		if (flow == TCPX_FLOW_UNPACK)
			memcpy(t->room, buf, part);
		if ((flow == TCPX_FLOW_PACK ? pwritev(t->fd, v, n, 0) :
					      preadv(t->fd, v, n, 0)) != (ssize_t)part)
			rc = -EFAULT;
		else if (flow == TCPX_FLOW_PACK)
			memcpy(buf, t->room, part);
	}
	pthread_mutex_unlock(&t->lock);
	return rc;
}
