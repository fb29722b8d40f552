/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The applications. Host and guest move bytes that nobody else may touch, and these must arrive.
 * The host also does with babblers what an application may do with a peer; all of that must end.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "babble/babble.h"
#include "proto/blob.h"

#define HALF       (BABBLE_MEMORY / 2) /* the first is sent from, the second received into */
#define SHARE      (HALF / BABBLE_ERRANDS)
#define OLD_BYTE   0x5a

static tcpx_engine *
engine_of(const struct world *w, int side)
{
	return side ? w->guest : w->host;
}

static int
name_of_region(tcpx_engine *e, uint64_t id, struct tcpx_region_ref *ref)
{
	struct tcpx_region_blob blob;
	uint8_t room[256];
	size_t len = sizeof(room);
	struct tcpx_buf b;
	int rc = tcpx_mem_export(e, id, room, &len);

	if (rc)
		return rc;
	tcpx_buf_init_const(&b, room, len);
	rc = tcpx_region_blob_read(&b, &blob);
	if (rc)
		return rc;
	ref->id = blob.id;
	memcpy(ref->key, blob.key, sizeof(ref->key));
	return 0;
}

static int
share(struct world *w, int side)
{
	const unsigned all = TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE;
	uint8_t room[256];
	size_t len = sizeof(room);
	int rc;

	w->mem[side] = malloc(BABBLE_MEMORY);
	if (!w->mem[side])
		return -ENOMEM;
	for (size_t i = 0; i < HALF; i++)
		w->mem[side][i] = (uint8_t)tcpx_rng_next(&w->rng);
	memset(w->mem[side] + HALF, OLD_BYTE, HALF);
	rc = tcpx_mem_register(engine_of(w, side), w->mem[side], BABBLE_MEMORY, all, &w->region[side]);
	if (rc == 0)
		rc = tcpx_mem_export(engine_of(w, side), w->region[side], room, &len);
	return rc ? rc : tcpx_mem_import(engine_of(w, !side), room, len, &w->far_id[side]);
}

static int
know(tcpx_engine *a, tcpx_engine *b, tcpx_peer **p)
{
	uint8_t room[4096];
	size_t len = sizeof(room);
	int rc = tcpx_metadata(b, room, &len);

	return rc ? rc : tcpx_peer_add(a, room, len, p);
}

int
babble_host_begin(struct world *w)
{
	uint64_t now_ns = tcpx_clock_now(w->clock);
	int rc = share(w, 0);

	if (rc == 0)
		rc = share(w, 1);
	w->shared = calloc(1, BABBLE_MEMORY);
	if (rc == 0)
		rc = tcpx_mem_register(w->host, w->shared, BABBLE_MEMORY,
				       TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE, &w->shared_id);
	if (rc == 0)
		rc = name_of_region(w->host, w->shared_id, &w->told->shared);
	if (rc == 0)
		rc = name_of_region(w->host, w->region[0], &w->told->guest);
	w->told->guest.key[5] ^= 4;
	if (rc == 0)
		rc = babble_lanes_begin(w);
	if (rc == 0)
		rc = know(w->guest, w->host, &w->to_host);
	if (rc == 0)
		rc = know(w->host, w->guest, &w->to_guest);
	for (int i = 0; i < BABBLE_ERRANDS; i++) {
		static const enum tcpx_op ops[] = { TCPX_OP_WRITE, TCPX_OP_READ, TCPX_OP_SEND };

		w->errand[i] = (struct errand){ .op = ops[babble_between(w, 0, 2)],
					    .by_host = babble_one_in(w, 2),
					    .offset = (uint64_t)i * SHARE,
					    .len = babble_between(w, 1, SHARE),
					    .post_ns = now_ns + babble_between(w, 0, w->talk_ns) };
	}
	return rc;
}

/* ---- between host and guest ---- */

static void
post(struct world *w, struct errand *x)
{
	int me = x->by_host ? 0 : 1;
	tcpx_peer *to = me ? w->to_host : w->to_guest, *from = me ? w->to_guest : w->to_host;
	bool out = x->op != TCPX_OP_READ;
	struct tcpx_desc near = { w->region[me], x->offset + (out ? 0 : HALF), x->len };
	struct tcpx_desc far = { w->far_id[!me], x->offset + (out ? HALF : 0), x->len };
	struct tcpx_desc landing = { w->region[!me], x->offset + HALF, x->len };
	uint64_t tag = x->offset;
	int rc;

	x->posted = true;
	if (x->op == TCPX_OP_SEND) {
		rc = tcpx_recv(from, &landing, 1, tag, &x->recv);
		if (rc == 0)
			rc = tcpx_send(to, &near, 1, tag, &x->xfer);
	} else {
		rc = (out ? tcpx_write : tcpx_read)(to, &near, 1, &far, 1, NULL, 0, &x->xfer);
	}
	if (rc)
		babble_fail(w, "a transfer of the guest cannot be posted: %s", tcpx_strerror_name(rc));
}

static void
judge(struct world *w, struct errand *x, uint64_t now_ns)
{
	int from = x->op == TCPX_OP_READ ? x->by_host : !x->by_host;
	int rc = tcpx_test(x->xfer), other = x->recv ? tcpx_test(x->recv) : 0;

	if (rc == -EAGAIN || other == -EAGAIN) {
		if (now_ns - x->post_ns > w->patient_ns)
			babble_fail(w, "a transfer of the guest takes %llu s",
				    (unsigned long long)(w->patient_ns / TCPX_SEC));
		return;
	}
	x->ended = true;
	w->totals->transfers++;
	w->totals->bytes += x->len;
	if (rc || other)
		babble_fail(w, "a transfer of the guest failed: %s, %s", tcpx_strerror_name(rc),
			    tcpx_strerror_name(other));
	else if (memcmp(w->mem[from] + x->offset, w->mem[!from] + HALF + x->offset, x->len))
		babble_fail(w, "a transfer of the guest came wrong");
}

/* ---- between host and babblers ---- */

tcpx_peer *
babble_some_babbler(struct world *w)
{
	const struct babbler *b = &w->babbler[babble_between(w, 0, w->babblers - 1)];
	char name[32];
	tcpx_peer *p;

	if (babble_one_in(w, 2)) {
		snprintf(name, sizeof(name), "babbler%d", b->number);
		return tcpx_peer_find(w->host, name, &p) == 0 ? p : NULL;
	}
	snprintf(name, sizeof(name), "%u.0.0.%d:%u", b->nic.addr.ip[0], 100 + b->number, b->bound.port);
	return tcpx_peer_connect(w->host, name, &p) == 0 ? p : NULL;
}

static int
some_deal(struct world *w, tcpx_peer *p, struct deal *d)
{
	uint64_t len = babble_between(w, 0, babble_one_in(w, 2) ? 3000 : BABBLE_MEMORY / 2);
	struct tcpx_region_blob blob = { .id = tcpx_rng_next(&w->rng), .len = BABBLE_MEMORY,
					 .access = TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE };
	struct tcpx_desc near = { w->shared_id, 0, len }, far = { 0, 0, len };
	uint64_t tag = babble_between(w, 0, 3);
	bool note = babble_one_in(w, 3);
	uint8_t room[256];
	struct tcpx_buf b;
	int rc;

	switch (babble_between(w, 0, 4)) {
	case 0:
		return tcpx_send(p, &near, 1, tag, &d->xfer);
	case 1:
		return tcpx_recv(p, &near, 1, tag, &d->xfer);
	case 2:
		memset(room, 0, sizeof(room));
		return tcpx_notify(p, room, babble_between(w, 0, sizeof(room))) ? -EIO : -EAGAIN;
	default:
		break;
	}
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_region_blob_write(&b, &blob);
	rc = tcpx_mem_import(w->host, room, b.pos, &far.region);
	if (rc)
		return rc;
	rc = (babble_one_in(w, 2) ? tcpx_write : tcpx_read)(p, &near, 1, &far, 1, "note", note * 4u,
							    &d->xfer);
	(void)tcpx_mem_deregister(w->host, far.region);
	return rc;
}

static void
deal_more(struct world *w, struct deal *d, uint64_t now_ns)
{
	tcpx_peer *p = babble_some_babbler(w);

	if (!p)
		return;
	memset(d, 0, sizeof(*d));
	if (some_deal(w, p, d) != 0)
		d->xfer = NULL;
	d->until_ns = babble_one_in(w, 2) ? BABBLE_NEVER : now_ns + babble_between(w, 0, 50 * TCPX_MS);
	tcpx_peer_free(p);
}

static void
take_notes(struct world *w, tcpx_engine *e)
{
	tcpx_note *note;

	while (e && (e != w->host || w->notes_taken) && tcpx_note_get(e, &note) == 0)
		tcpx_note_free(note);
}

void
babble_host_do(struct world *w)
{
	uint64_t now_ns = tcpx_clock_now(w->clock);

	for (int i = 0; i < BABBLE_ERRANDS; i++) {
		struct errand *x = &w->errand[i];

		if (!x->posted && now_ns >= x->post_ns)
			post(w, x);
		if (x->posted && !x->ended && !w->failed)
			judge(w, x, now_ns);
	}
	for (int i = 0; i < BABBLE_XFERS; i++) {
		struct deal *d = &w->deal[i];

		if (d->xfer && now_ns >= d->until_ns)
			tcpx_cancel(d->xfer);
		if (d->xfer && tcpx_test(d->xfer) != -EAGAIN) {
			tcpx_xfer_free(d->xfer);
			d->xfer = NULL;
		}
		if (!d->xfer && !w->gone && babble_one_in(w, 200))
			deal_more(w, d, now_ns);
	}
	babble_lanes_do(w);
	take_notes(w, w->host);
	take_notes(w, w->guest);
}

uint64_t
babble_host_next_ns(const struct world *w)
{
	uint64_t next = BABBLE_NEVER;

	for (int i = 0; i < BABBLE_ERRANDS; i++)
		if (!w->errand[i].posted && w->errand[i].post_ns < next)
			next = w->errand[i].post_ns;
	for (int i = 0; i < BABBLE_XFERS; i++)
		if (w->deal[i].xfer && w->deal[i].until_ns < next)
			next = w->deal[i].until_ns;
	return babble_lanes_next_ns(w) < next ? babble_lanes_next_ns(w) : next;
}

bool
babble_host_ended(const struct world *w)
{
	for (int i = 0; i < BABBLE_ERRANDS; i++)
		if (!w->errand[i].ended)
			return false;
	for (int i = 0; i < BABBLE_XFERS; i++)
		if (w->deal[i].xfer)
			return false;
	return true;
}

/* No byte but those of the transfers has changed. */
static void
compare(struct world *w)
{
	for (int side = 0; side < 2; side++)
		for (int i = 0; i < BABBLE_ERRANDS && w->mem[side]; i++) {
			const struct errand *x = &w->errand[i];
			int to = x->op == TCPX_OP_READ ? !x->by_host : x->by_host;
			const uint8_t *at = w->mem[side] + HALF + x->offset;

			for (uint64_t k = to == side ? x->len : 0; k < SHARE; k++)
				if (at[k] != OLD_BYTE && !w->failed)
					babble_fail(w, "a byte of the guest's or for it has changed");
		}
}

void
babble_host_end(struct world *w)
{
	compare(w);
	babble_lanes_end(w);
	for (int i = 0; i < BABBLE_ERRANDS; i++) {
		tcpx_xfer_free(w->errand[i].xfer);
		tcpx_xfer_free(w->errand[i].recv);
	}
	for (int i = 0; i < BABBLE_XFERS; i++)
		tcpx_xfer_free(w->deal[i].xfer);
	tcpx_peer_free(w->to_host);
	tcpx_peer_free(w->to_guest);
}
