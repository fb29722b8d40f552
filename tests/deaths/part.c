/* SPDX-License-Identifier: Apache-2.0 */
/* Engines, memory and traffic of either side. See part.h. */
#include "deaths/part.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void
part_must(bool holds, const char *what, const char *file, int line)
{
	if (holds)
		return;
	fprintf(stderr, "# %s:%d: not so: %s\n", file, line, what);
	exit(1);
}

tcpx_engine *
part_open(const char *name)
{
	static const char *const settings[] = { "TCPX_NICS=127.0.1.1", "TCPX_PORT=0",
						"TCPX_CHANNELS=2", "TCPX_THREADS=1",
						"TCPX_STATS=off", "TCPX_LINGER_MS=0",
						"TCPX_DEBUG=NONE", NULL };
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	tcpx_engine *e;

	opts.name = name;
	opts.settings = settings;
	MUST(tcpx_open(&opts, &e) == 0);
	return e;
}

uint8_t
part_pattern(size_t k)
{
	return (uint8_t)(k * 2654435761u >> 11);
}

static uint64_t
lend(tcpx_engine *e, uint8_t *at, unsigned access, struct blob *b)
{
	size_t len = sizeof(b->data);
	uint64_t id;

	MUST(tcpx_mem_register(e, at, LEN, access, &id) == 0);
	MUST(tcpx_mem_export(e, id, b->data, &len) == 0);
	b->len = (uint32_t)len;
	return id;
}

void
part_areas(tcpx_engine *e, struct areas *a)
{
	a->read = malloc(LEN);
	a->write = calloc(1, LEN);
	a->own = calloc(PEERS * AT_ONCE, LEN);
	MUST(a->read && a->write && a->own);
	for (size_t k = 0; k < LEN; k++)
		a->read[k] = part_pattern(k);
	a->read_id = lend(e, a->read, TCPX_MEM_REMOTE_READ, &a->read_blob);
	a->write_id = lend(e, a->write, TCPX_MEM_REMOTE_WRITE, &a->write_blob);
	MUST(tcpx_mem_register(e, a->own, PEERS * AT_ONCE * LEN, TCPX_MEM_LOCAL, &a->own_id) == 0);
}

void
part_areas_free(tcpx_engine *e, struct areas *a)
{
	MUST(tcpx_mem_deregister(e, a->read_id) == 0);
	MUST(tcpx_mem_deregister(e, a->write_id) == 0);
	MUST(tcpx_mem_deregister(e, a->own_id) == 0);
	free(a->read);
	free(a->write);
	free(a->own);
}

static bool
whole(int fd, void *data, size_t len, bool out)
{
	uint8_t *at = data;

	while (len) {
		ssize_t n = out ? write(fd, at, len) : read(fd, at, len);

		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

bool
part_put(int fd, const struct blob *b)
{
	struct blob copy = *b;

	return whole(fd, &copy, sizeof(copy), true);
}

bool
part_get(int fd, struct blob *b)
{
	return whole(fd, b, sizeof(*b), false) && b->len <= sizeof(b->data);
}

/* ---- traffic ---- */

enum { READ, WRITE, WRITE_NOTE, SEND, RECV, KINDS };

/* Where its memory is, of our own. */
static uint64_t
place(const struct traffic *t, int i)
{
	return (uint64_t)(t->number * AT_ONCE + (uint32_t)i) * LEN;
}

static int
post(struct traffic *t, int i)
{
	uint32_t kind = tcpx_rng_below(&t->rng, KINDS);
	size_t len = 1 + tcpx_rng_below(&t->rng, tcpx_rng_below(&t->rng, 2) ? LEN : 4096);
	struct tcpx_desc l = { t->mine->own_id, place(t, i), len }, f = { 0, 0, len };

	t->kind[i] = kind;
	t->len[i] = len;
	switch (kind) {
	case READ:
		f.region = t->read_id;
		return tcpx_read(t->peer, &l, 1, &f, 1, NULL, 0, &t->x[i]);
	case WRITE:
	case WRITE_NOTE:
		f.region = t->write_id;
		return tcpx_write(t->peer, &l, 1, &f, 1, kind == WRITE ? NULL : "note",
				  kind == WRITE ? 0 : 4, &t->x[i]);
	case SEND:
		return tcpx_send(t->peer, &l, 1, TAG, &t->x[i]);
	default:
		l.len = LEN;
		return tcpx_recv(t->peer, &l, 1, TAG, &t->x[i]);
	}
}

bool
traffic_post(struct traffic *t)
{
	if (tcpx_rng_below(&t->rng, 8) == 0 && tcpx_notify(t->peer, "hello", 5))
		return false;
	for (int i = 0; i < AT_ONCE; i++)
		if (!t->x[i] && post(t, i)) {
			t->x[i] = NULL;
			return false;
		}
	return true;
}

int
traffic_look(struct traffic *t)
{
	int rc, first = 0;

	for (int i = 0; i < AT_ONCE; i++) {
		rc = t->x[i] ? tcpx_test(t->x[i]) : -EAGAIN;
		if (rc == -EAGAIN && t->x[i] && t->kind[i] >= SEND && tcpx_rng_below(&t->rng, 16) == 0) {
			tcpx_xfer_free(t->x[i]); /* nothing may match it */
			t->x[i] = NULL;
		}
		if (rc == -EAGAIN)
			continue;
		for (size_t k = 0; rc == 0 && t->kind[i] == READ && k < t->len[i]; k += 97)
			MUST(t->mine->own[place(t, i) + k] == part_pattern(k));
		tcpx_xfer_free(t->x[i]);
		t->x[i] = NULL;
		t->done += rc == 0;
		first = first ? first : rc;
	}
	return first;
}

void
traffic_cancel(struct traffic *t)
{
	for (int i = 0; i < AT_ONCE; i++) {
		tcpx_xfer_free(t->x[i]);
		t->x[i] = NULL;
	}
}
