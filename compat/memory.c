/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is moved and compared. Memory of a GPU is written and read back through a buffer of
 * the host, outside the timed part. Each iteration has a pattern of its own, so what an
 * earlier one left behind is wrong.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

#define POISON 0xdb

/* Word k of iteration i: mixed, so that neither a wrong place nor a wrong iteration looks
 * right (the finalizer of splitmix64). */
static uint64_t
word_of(int i, uint64_t k)
{
	uint64_t x = k + ((uint64_t)(unsigned)(i + 2) << 40);

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

uint8_t
memory_byte(int i, const char *text, uint64_t at)
{
	if (text && at <= strlen(text))
		return (uint8_t)text[at];
	return (uint8_t)(word_of(i, at / 8) >> (at % 8 * 8));
}

static int
to_gpu(struct memory *m)
{
	if (m->gpu < 0)
		return 0;
	return m->driver->cuMemcpyHtoD_v2(m->addr, m->host, m->len) ? -EIO : 0;
}

static void
put_word(uint8_t *to, uint64_t word, uint64_t len)
{
	for (uint64_t b = 0; b < 8 && b < len; b++)
		to[b] = (uint8_t)(word >> (8 * b));
}

int
memory_fill(struct memory *m, int i, const char *text)
{
	for (uint64_t at = 0; at < m->len; at += 8)
		put_word(m->host + at, word_of(i, at / 8), m->len - at);
	if (text)
		memcpy(m->host, text, strlen(text) + 1);
	return to_gpu(m);
}

int
memory_poison(struct memory *m)
{
	memset(m->host, POISON, m->len);
	return to_gpu(m);
}

int
memory_verify(struct memory *m, int i, const char *text, uint64_t *wrong, uint64_t *first)
{
	uint64_t bad = 0;

	if (m->gpu >= 0 && m->driver->cuMemcpyDtoH_v2(m->host, m->addr, m->len))
		return -EIO;
	*first = 0;
	for (uint64_t at = 0; at < m->len; at += 8) {
		uint8_t word[8];

		put_word(word, word_of(i, at / 8), 8);
		if (m->len - at >= 8 && !memcmp(m->host + at, word, 8))
			continue;
		for (uint64_t b = at; b < at + 8 && b < m->len; b++)
			if (m->host[b] != memory_byte(i, text, b) && !bad++)
				*first = b;
	}
	*wrong = bad;
	return 0;
}

/* Of the GPU if that is wanted and there is one. The reason why not goes to @why. */
static void
alloc_gpu(struct link *l, size_t len, struct memory *m, char why[96])
{
	if (l->run->host_only) {
		snprintf(why, 96, "host memory, as asked");
		return;
	}
	m->driver = calloc(1, sizeof(*m->driver));
	if (!m->driver || driver_open(l->gpu, why, 64)) {
		strcat(why, ": host memory");
		return;
	}
	if (driver_load(m->driver, why, 64) || m->driver->cuMemAlloc_v2(&m->addr, len)) {
		snprintf(why, 96, "no memory left on the GPU: host memory");
		return;
	}
	m->gpu = (int)l->gpu;
	snprintf(why, 96, "memory of the GPU");
}

int
memory_open(struct link *l, size_t len, struct memory *m, char why[96])
{
	int rc;

	*m = (struct memory){ .gpu = -1, .len = len };
	why[0] = '\0';
	m->host = aligned_alloc(4096, (len + 4095) / 4096 * 4096);
	if (!m->host)
		return link_fail(l, -ENOMEM, "memory");
	alloc_gpu(l, len, m, why);
	if (m->gpu < 0)
		m->addr = (uint64_t)(uintptr_t)m->host;
	rc = tcpx_mem_register(l->engine, (void *)(uintptr_t)m->addr, len, TCPX_MEM_LOCAL,
			       &m->region);
	if (!rc)
		return 0;
	link_fail(l, rc, "memory");
	memory_close(l, m);
	return rc;
}

void
memory_close(struct link *l, struct memory *m)
{
	if (m->region)
		tcpx_mem_deregister(l->engine, m->region);
	if (m->gpu >= 0)
		m->driver->cuMemFree_v2(m->addr);
	free(m->driver);
	free(m->host);
	*m = (struct memory){ .gpu = -1 };
}
