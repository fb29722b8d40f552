/* SPDX-License-Identifier: Apache-2.0 */
/* The application's host memory, touched by system calls. */
#include "core/memory/touch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mutex.h"
#include "core/loop/loop.h"
#include "core/memory/memory.h"

#define PAGE_BYTES 4096u
#define PIECES     64 /* in one call */

/* msync() with MS_ASYNC writes nothing: it walks the mappings, and says where one is missing. */
bool
tcpx_memory_mapped(const void *addr, size_t len)
{
	uintptr_t from = (uintptr_t)addr & ~(uintptr_t)(PAGE_BYTES - 1);

	return msync((void *)from, (uintptr_t)addr + len - from, MS_ASYNC) == 0 || errno != ENOMEM;
}

int
tcpx_touch_open(struct touch *t, size_t bytes)
{
	static const uint8_t zero[PAGE_BYTES];
	size_t done = 0;
	int rc;

	t->bytes = bytes;
	t->fd = memfd_create("tcpx-touch", MFD_CLOEXEC);
	if (t->fd < 0)
		return tcpx_fail_errno(TCPX_SUB_INIT, "a file in memory");
	/* written, so that it has its pages: a touch of the mapping cannot fail */
	while (done < bytes && pwrite(t->fd, zero, sizeof(zero), (off_t)done) == sizeof(zero))
		done += sizeof(zero);
	if (done == bytes)
		t->room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, 0);
	if (!t->room || t->room == MAP_FAILED) {
		rc = tcpx_fail_errno(TCPX_SUB_INIT, "room for copies");
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
	munmap(t->room, t->bytes);
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

/* One piece, as nearly always, takes a call that is 0.1 us cheaper. */
static ssize_t
call(const struct touch *t, enum tcpx_flow flow, const struct iovec *v, int n, off_t at)
{
	if (n == 1)
		return flow == TCPX_FLOW_PACK ? pwrite(t->fd, v->iov_base, v->iov_len, at) :
						pread(t->fd, v->iov_base, v->iov_len, at);
	return flow == TCPX_FLOW_PACK ? pwritev(t->fd, v, n, at) : preadv(t->fd, v, n, at);
}

/* Between the room's first @len bytes, or what the pieces have of them, and the pieces. */
static int
move(const struct touch *t, enum tcpx_flow flow, const struct tcpx_frag *frag, size_t count,
     size_t *i, uint64_t *done, size_t len)
{
	struct iovec v[PIECES];
	size_t at, part;
	ssize_t got;
	int n;

	for (at = 0; at < len && *i < count; at += part) {
		part = gather(frag, count, i, done, len - at, v, &n);
		got = call(t, flow, v, n, (off_t)at);
		if (got != (ssize_t)part)
			return -EFAULT;
	}
	return 0;
}

/*
 * Measured for 64 bytes: 0.28 us to pack and 0.21 us to unpack, a call that does nothing takes
 * 0.12; process_vm_readv() takes 0.55 us and refuses mappings of devices, a pipe 0.38. For 64 KiB
 * both move about 4 GB/s.
 */
int
tcpx_touch_copy(struct touch *t, enum tcpx_flow flow, const struct tcpx_frag *frag,
		size_t count, uint8_t *buf, size_t len)
{
	uint64_t done = 0;
	size_t i = 0, part;
	int rc = 0;

	pthread_mutex_lock(&t->lock);
	for (; rc == 0 && len > 0; buf += part, len -= part) {
		part = len < t->bytes ? len : t->bytes;
		if (flow == TCPX_FLOW_UNPACK)
			memcpy(t->room, buf, part);
		rc = move(t, flow, frag, count, &i, &done, part);
		if (rc == 0 && flow == TCPX_FLOW_PACK)
			memcpy(buf, t->room, part);
	}
	pthread_mutex_unlock(&t->lock);
	return rc;
}

int
tcpx_touch_move(struct touch *t, enum tcpx_flow flow, const struct tcpx_frag *frag, size_t count,
		size_t len)
{
	uint64_t done = 0;
	size_t i = 0;

	return move(t, flow, frag, count, &i, &done, len);
}

int
tcpx_touch_rooms_open(struct tcpx_engine *e)
{
	struct memory *m = e->memory;
	struct touch *room = NULL;
	uint32_t i;
	int rc = 0;

	pthread_mutex_lock(&m->touch.lock);
	if (!m->room) {
		room = calloc(e->loop_count, sizeof(*room));
		rc = room ? 0 : tcpx_fail(TCPX_SUB_INIT, -ENOMEM, "rooms of %u loops",
					  e->loop_count);
		for (i = 0; rc == 0 && i < e->loop_count; i++)
			rc = tcpx_touch_open(&room[i], TOUCH_ROOM);
		m->room = room;
		if (rc)
			tcpx_touch_rooms_close(e);
	}
	pthread_mutex_unlock(&m->touch.lock);
	return rc;
}

void
tcpx_touch_rooms_close(struct tcpx_engine *e)
{
	for (uint32_t i = 0; e->memory->room && i < e->loop_count; i++)
		tcpx_touch_close(&e->memory->room[i]);
	free(e->memory->room);
	e->memory->room = NULL;
}
