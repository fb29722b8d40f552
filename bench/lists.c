/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of a long descriptor list beside its bytes: preparing it, posting it (the call
 * returns when the list is with the kernel, or in its queue), checking it at the target. Two
 * engines of one process, over the loopback. Prints a table.
 *
 *	list_cost [ENTRIES [ROUNDS]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/rng.h"
#include "core/context/context.h"
#include "core/memory/builder.h"
#include "core/memory/list.h"
#include "core/memory/memory.h"
#include "core/session/receive.h"

#define PAGE       4096u
#define PART_BYTES 16000u /* bytes of operations in one frame */

struct bench {
	tcpx_engine *a, *b;
	tcpx_peer *peer;
	uint8_t *from, *to;
	uint64_t near, near_whole, far, owned; /* ids; owned: far, in the
					        * target's own numbering */
	size_t entries;
	struct tcpx_desc *local, *remote;
	unsigned rounds;
	double *took;
};

static double
now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void
print(const struct bench *k, const char *what)
{
	double median;

	qsort(k->took, k->rounds, sizeof(*k->took), compare);
	median = k->took[k->rounds / 2];
	printf("| %s | %.0f | %.0f | %.1f |\n", what, median, k->took[0],
	       median * 1e3 / (double)k->entries);
}

static tcpx_engine *
engine(const char *name)
{
	static const char *const settings[] = {
		"TCPX_NICS=127.0.1.1", "TCPX_PORT=0", "TCPX_CHANNELS=2", "TCPX_THREADS=1",
		"TCPX_STATS=off", NULL,
	};
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	tcpx_engine *e = NULL;

	opts.name = name;
	opts.settings = settings;
	return tcpx_open(&opts, &e) == 0 ? e : NULL;
}

static int
connect_both(struct bench *k)
{
	uint8_t blob[4096], name[256];
	size_t blob_len = sizeof(blob), name_len = sizeof(name);
	size_t bytes = k->entries * PAGE;

	k->from = malloc(bytes);
	k->to = malloc(bytes);
	k->a = engine("bench-a");
	k->b = engine("bench-b");
	if (!k->from || !k->to || !k->a || !k->b ||
	    tcpx_metadata(k->b, blob, &blob_len) != 0 ||
	    tcpx_peer_add(k->a, blob, blob_len, &k->peer) != 0 ||
	    tcpx_mem_register(k->a, k->from, bytes, TCPX_MEM_LOCAL, &k->near) != 0 ||
	    tcpx_mem_register(k->b, k->to, bytes, TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE,
			      &k->owned) != 0 ||
	    tcpx_mem_export(k->b, k->owned, name, &name_len) != 0)
		return -1;
	return tcpx_mem_import(k->a, name, name_len, &k->far);
}

/* Every page once, in random order; few bytes of each, so that data hides nothing. */
static int
shuffle(struct bench *k, uint64_t len)
{
	struct tcpx_rng rng = tcpx_rng_seed(1);
	size_t i;

	if (!k->local)
		k->local = calloc(k->entries, sizeof(*k->local));
	if (!k->remote)
		k->remote = calloc(k->entries, sizeof(*k->remote));
	if (!k->local || !k->remote)
		return -1;
	for (i = 0; i < k->entries; i++) {
		k->local[i] = (struct tcpx_desc){ k->near, i * PAGE, len };
		k->remote[i] = (struct tcpx_desc){ k->far, i * PAGE, len };
	}
	for (i = k->entries - 1; i > 0; i--) {
		size_t j = tcpx_rng_below(&rng, i + 1);
		struct tcpx_desc swap = k->remote[i];

		k->remote[i] = k->remote[j];
		k->remote[j] = swap;
	}
	return 0;
}

static int
measure_prepare(struct bench *k, const char *what, const struct tcpx_desc *desc)
{
	unsigned i;

	for (i = 0; i < k->rounds; i++) {
		double from = now_us();
		tcpx_list *l;

		if (tcpx_list_prepare(k->a, desc, k->entries, &l) != 0)
			return -1;
		k->took[i] = now_us() - from;
		tcpx_list_free(l);
	}
	print(k, what);
	return 0;
}

/* Times the call and the whole transfer, of a prepared one (@again) or of descriptors. */
static int
measure_post(struct bench *k, bool again)
{
	struct tcpx_desc whole = { k->near, 0, 0 };
	double *call = calloc(k->rounds, sizeof(*call)), *all = k->took;
	tcpx_list *l = NULL, *r = NULL;
	tcpx_xfer *x = NULL;
	unsigned i;
	int rc;

	for (i = 0; i < k->entries; i++)
		whole.len += k->remote[i].len;
	rc = !call || tcpx_list_prepare(k->a, &whole, 1, &l) != 0 ||
	     tcpx_list_prepare(k->a, k->remote, k->entries, &r) != 0 ||
	     tcpx_xfer_prepare(k->peer, TCPX_OP_WRITE, l, r, &x) != 0;
	for (i = 0; !rc && i < k->rounds; i++) {
		tcpx_xfer *one = x;
		double from = now_us();

		rc = again ? tcpx_xfer_post(x, NULL, 0) :
			     tcpx_write(k->peer, &whole, 1, k->remote, k->entries, NULL, 0, &one);
		call[i] = now_us() - from;
		if (rc == 0)
			rc = tcpx_wait(one, 60000);
		all[i] = now_us() - from;
		if (!again)
			tcpx_xfer_free(one);
	}
	if (!rc) {
		print(k, again ? "post to end, prepared" : "write to end, descriptors");
		memcpy(k->took, call, k->rounds * sizeof(*call));
		print(k, "of that, the call");
	}
	tcpx_xfer_free(x);
	tcpx_list_free(l);
	tcpx_list_free(r);
	free(call);
	return rc;
}

static void
put_var(struct tcpx_buf *b, uint64_t v)
{
	tcpx_buf_put_var(b, v);
}

/* The list as any writer could send it: a region, a run, then deltas. */
static size_t
operations(const struct bench *k, uint8_t *room, size_t cap)
{
	uint64_t end = 0;
	struct region g;
	struct tcpx_buf b;
	size_t i;

	if (tcpx_region_get(&k->b->memory->regions, k->owned, &g) != 0)
		return 0;
	tcpx_buf_init(&b, room, cap);
	tcpx_buf_put_u8(&b, 0);
	tcpx_buf_put_u64(&b, k->owned);
	tcpx_buf_put_bytes(&b, g.ref.key, sizeof(g.ref.key));
	for (i = 0; i < k->entries; i++) {
		const struct tcpx_desc *d = &k->remote[i];
		uint64_t delta = d->offset - end;
		unsigned shift = delta ? (unsigned)__builtin_ctzll(delta) : 0;
		uint64_t small = (uint64_t)((int64_t)delta >> shift);

		tcpx_buf_put_u8(&b, (uint8_t)(shift << 2 | (i ? 2 : 1)));
		if (!i)
			put_var(&b, 0);
		put_var(&b, small << 1 ^ (small >> 63 ? UINT64_MAX : 0));
		if (!i)
			put_var(&b, d->len);
		end = d->offset + d->len;
	}
	return b.bad ? 0 : b.pos;
}

/* The end of a frame of at most PART_BYTES that begins at @at. */
static size_t
cut(const uint8_t *ops, size_t len, size_t at)
{
	size_t walk = at ? at : 25, next = at; /* the region is the first operation */

	while (walk < len && walk - at < PART_BYTES) {
		unsigned vars = (ops[walk] & 3) == 1 ? 3 : 1;

		for (walk++; vars; vars--)
			while (ops[walk++] & 0x80)
				;
		next = walk;
	}
	return next;
}

static int
feed(struct list_builder *b, const uint8_t *ops, const size_t *part, size_t parts)
{
	uint32_t cost;
	size_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < parts; i++) {
		tcpx_builder_feed(b, ops + part[i], part[i + 1] - part[i]);
		do {
			cost = TURN_BUDGET;
			rc = tcpx_builder_read(b, &cost);
		} while (rc == 1);
	}
	return rc;
}

static int
measure_check(struct bench *k)
{
	size_t cap = k->entries * 12 + 64, len, parts = 0;
	size_t *part = calloc(cap / (PART_BYTES / 2) + 2, sizeof(*part));
	uint8_t *ops = malloc(cap);
	uint64_t total = 0;
	int rc = !ops || !part;
	unsigned i;

	for (i = 0; i < k->entries; i++)
		total += k->remote[i].len;
	len = rc ? 0 : operations(k, ops, cap);
	for (; !rc && part[parts] < len; parts++)
		part[parts + 1] = cut(ops, len, part[parts]);
	for (i = 0; !rc && i < k->rounds; i++) {
		struct list_builder *b = NULL;
		struct tcpx_list *l = NULL;
		double from = now_us();

		rc = tcpx_builder_new(k->b, TCPX_MEM_REMOTE_WRITE, (uint32_t)k->entries, total, &b);
		if (rc == 0)
			rc = feed(b, ops, part, parts);
		if (rc == 0)
			rc = tcpx_builder_finish(b, &l);
		tcpx_builder_free(b);
		k->took[i] = now_us() - from;
		tcpx_list_put(l);
	}
	if (!rc)
		print(k, "check at the target");
	free(part);
	free(ops);
	return rc;
}

int
main(int argc, char **argv)
{
	struct bench k = { 0 };
	int rc;

	k.entries = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
	k.rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 51;
	if (!k.entries || !k.rounds) {
		fprintf(stderr, "usage: list_cost [ENTRIES [ROUNDS]]\n");
		return 2;
	}
	k.took = calloc(k.rounds, sizeof(*k.took));
	rc = !k.took || connect_both(&k) || shuffle(&k, 16);
	if (!rc) {
		printf("%zu entries\n\n| what | median us | least us | ns an entry |\n"
		       "| --- | --- | --- | --- |\n", k.entries);
		rc = measure_prepare(&k, "prepare, local", k.local) ||
		     measure_prepare(&k, "prepare, imported", k.remote) ||
		     measure_post(&k, true) || measure_post(&k, false) || measure_check(&k);
	}
	if (rc)
		fprintf(stderr, "list_cost: failed\n");
	tcpx_close(k.a);
	tcpx_close(k.b);
	free(k.from);
	free(k.to);
	free(k.local);
	free(k.remote);
	free(k.took);
	return rc != 0;
}
