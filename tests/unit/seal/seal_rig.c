/* SPDX-License-Identifier: Apache-2.0 */
#include "seal_rig.h"

#include <string.h>

struct tcpx_seal_psk
psk_of(const char *name)
{
	struct tcpx_seal_psk psk = { .id_len = 16 };
	uint32_t hash = 2166136261u;

	for (const char *c = name; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 16777619u;
	for (size_t i = 0; i < sizeof(psk.key); i++) {
		hash = hash * 1664525u + 1013904223u;
		psk.key[i] = (uint8_t)(hash >> 24);
		if (i < psk.id_len)
			psk.id[i] = (uint8_t)(hash >> 16);
	}
	return psk;
}

struct ends
ends_open(const struct tcpx_seal_ops *ops, struct tcpx_seal_lib *lib, const char *opener,
	  const char *acceptor, const char *second)
{
	struct tcpx_seal_psk own = psk_of(opener), theirs[2] = { psk_of(acceptor) };
	struct ends e = { .ops = ops };

	if (second)
		theirs[1] = psk_of(second);
	assert_int_equal(ops->start(lib, true, &own, 1, &e.opener), 0);
	assert_int_equal(ops->start(lib, false, theirs, second ? 2 : 1, &e.acceptor), 0);
	return e;
}

void
ends_close(struct ends *e)
{
	e->ops->end(e->opener);
	e->ops->end(e->acceptor);
}

void
take(const struct tcpx_seal_ops *ops, struct tcpx_seal *s, const void *plain, size_t len,
     struct wire *w)
{
	ssize_t n = ops->take(s, plain, len, w->bytes + w->len, sizeof(w->bytes) - w->len);

	assert_true(n >= 0);
	w->len += (size_t)n;
	/* all of it has come */
	assert_int_equal(ops->take(s, NULL, 0, w->bytes + w->len, sizeof(w->bytes) - w->len), 0);
}

ssize_t
feed(const struct tcpx_seal_ops *ops, struct tcpx_seal *s, struct wire *w, void *out, size_t cap)
{
	ssize_t n = ops->feed(s, w->bytes, w->len, out, cap);

	w->len = 0;
	return n;
}

int
shake(struct ends *e)
{
	static _Thread_local struct wire w;
	uint8_t none[64];
	ssize_t a, b;

	do {
		w.len = 0;
		take(e->ops, e->opener, NULL, 0, &w);
		b = feed(e->ops, e->acceptor, &w, none, sizeof(none));
		take(e->ops, e->acceptor, NULL, 0, &w);
		a = feed(e->ops, e->opener, &w, none, sizeof(none));
		assert_true(a <= 0 && b <= 0);
		take(e->ops, e->opener, NULL, 0, &w);
		if (b == 0)
			b = feed(e->ops, e->acceptor, &w, none, sizeof(none));
		take(e->ops, e->acceptor, NULL, 0, &w);
	} while (a == 0 && b == 0 && w.len);
	return b ? (int)b : (int)a;
}

void
record_flights(const struct ends *e, struct wire flights[3])
{
	uint8_t none[64];

	flights[0].len = flights[1].len = flights[2].len = 0;
	take(e->ops, e->opener, NULL, 0, &flights[0]);
	assert_int_equal(e->ops->feed(e->acceptor, flights[0].bytes, flights[0].len, none, 64), 0);
	take(e->ops, e->acceptor, NULL, 0, &flights[1]);
	assert_int_equal(e->ops->feed(e->opener, flights[1].bytes, flights[1].len, none, 64), 0);
	take(e->ops, e->opener, NULL, 0, &flights[2]);
	assert_int_equal(e->ops->feed(e->acceptor, flights[2].bytes, flights[2].len, none, 64), 0);
}

void
talk(struct ends *e, const char *text)
{
	static _Thread_local struct wire w;
	size_t len = strlen(text);
	char got[256];

	w.len = 0;
	take(e->ops, e->opener, text, len, &w);
	assert_int_equal(feed(e->ops, e->acceptor, &w, got, sizeof(got)), len);
	assert_memory_equal(got, text, len);
	take(e->ops, e->acceptor, text, len, &w);
	assert_int_equal(feed(e->ops, e->opener, &w, got, sizeof(got)), len);
	assert_memory_equal(got, text, len);
}
