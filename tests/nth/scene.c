/* SPDX-License-Identifier: Apache-2.0 */
/* The application. See scene.h. */
#include "nth/scene.h"

#include "unit/core/rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "nth/calls.h"

#define LEN   200000
#define SMALL 100
#define AGAIN_S 120 /* far above what it takes */

enum { NEAR, FAR };

struct play {
	const struct scene *scene;
	tcpx_engine *e[2];
	tcpx_peer *to_far, *to_near;
	uint8_t *at[2];
	uint64_t id[2], far; /* far: the name of id[FAR] at NEAR */
	bool lent[2], known;
	tcpx_list *list[2];
	tcpx_xfer *kept; /* over prepared lists */
};

/* An error that is none of the table's has no name. */
static int
named(int rc)
{
	const char *name = tcpx_strerror_name(rc);

	if (rc == -EAGAIN || !strncmp(name, "errno", 5) || !strncmp(name, "code", 4))
		fail_msg("%s failed: %s", nth_name(), name);
	return rc;
}

/* ---- parts ---- */

static int
open_both(struct play *p)
{
	int rc = named(rig_try_open("near", p->scene->settings, &p->e[NEAR]));

	return rc ? rc : named(rig_try_open("far", p->scene->settings, &p->e[FAR]));
}

static int
lend(struct play *p, int side)
{
	int rc = named(tcpx_mem_register(p->e[side], p->at[side], LEN,
					 TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE,
					 &p->id[side]));

	p->lent[side] = rc == 0;
	return rc;
}

static int
introduce(struct play *p)
{
	uint8_t blob[TCPX_METADATA_MAX];
	size_t len = sizeof(blob);
	char at[64];
	int rc;

	if (p->scene->by_address) {
		snprintf(at, sizeof(at), "127.0.1.1:%u", tcpx_port(p->e[FAR]));
		return named(tcpx_peer_connect(p->e[NEAR], at, &p->to_far));
	}
	rc = named(tcpx_metadata(p->e[FAR], blob, &len));
	return rc ? rc : named(tcpx_peer_add(p->e[NEAR], blob, len, &p->to_far));
}

static int
tell(struct play *p)
{
	uint8_t blob[TCPX_BLOB_MAX];
	size_t len = sizeof(blob);
	int rc = named(tcpx_mem_export(p->e[FAR], p->id[FAR], blob, &len));

	rc = rc ? rc : named(tcpx_mem_import(p->e[NEAR], blob, len, &p->far));
	p->known = rc == 0;
	return rc;
}

/* Waits for its end; the bytes are there if that is success. */
static int
end(struct play *p, tcpx_xfer *x, int to, size_t len, uint32_t seed)
{
	struct tcpx_xfer_info info = TCPX_XFER_INFO_INIT;
	int rc = named(tcpx_wait(x, WAIT_MS));

	if (rc == 0 && filled(p->at[to], len, seed) < len)
		fail_msg("%s: of %zu bytes of seed %u %zu are right", nth_name(), len, seed,
			 filled(p->at[to], len, seed));
	assert_ok(tcpx_xfer_query(x, &info));
	assert_code(info.status, rc);
	if (rc)
		assert_true(info.cause[0] || rc == -ENOMEM);
	return rc;
}

static int
meet(struct play *p)
{
	int rc = p->lent[NEAR] ? 0 : lend(p, NEAR);

	rc = rc || p->lent[FAR] ? rc : lend(p, FAR);
	rc = rc || p->to_far ? rc : introduce(p);
	return rc || p->known ? rc : tell(p);
}

/* Bytes of a transfer that has failed may still come, from its peer until its target gives the memory
 * back, from a late GPU until its engine takes that again. */
static void
forbid(struct play *p)
{
	for (int i = 0; i < 2; i++)
		if (p->lent[i])
			assert_ok(tcpx_mem_deregister(p->e[i], p->id[i]));
	p->lent[0] = p->lent[1] = false;
	if (p->known)
		assert_ok(tcpx_mem_deregister(p->e[NEAR], p->far));
	p->known = false;
}

static int
move(struct play *p, bool write, size_t len, uint32_t seed)
{
	int rc = meet(p);
	struct tcpx_desc l = { p->id[NEAR], 0, len }, f = { p->far, 0, len };
	tcpx_xfer *x;

	if (rc)
		return rc;
	fill(p->at[write ? NEAR : FAR], len, seed);
	rc = write ? tcpx_write(p->to_far, &l, 1, &f, 1, "note", 4, &x) :
		     tcpx_read(p->to_far, &l, 1, &f, 1, NULL, 0, &x);
	if (named(rc))
		return rc;
	tcpx_xfer_watch(x, p);
	rc = end(p, x, write ? FAR : NEAR, len, seed);
	if (rc)
		forbid(p);
	tcpx_xfer_free(x);
	return rc;
}

static int
prepared(struct play *p)
{
	int rc = meet(p);
	struct tcpx_desc l[2] = { { p->id[NEAR], 0, LEN / 2 }, { p->id[NEAR], LEN / 2, LEN / 2 } };
	struct tcpx_desc f = { p->far, 0, LEN };

	rc = rc ? rc : named(tcpx_list_prepare(p->e[NEAR], l, 2, &p->list[NEAR]));
	rc = rc ? rc : named(tcpx_list_prepare(p->e[NEAR], &f, 1, &p->list[FAR]));
	rc = rc ? rc : named(tcpx_xfer_prepare(p->to_far, TCPX_OP_WRITE, p->list[NEAR],
					       p->list[FAR], &p->kept));
	for (uint32_t i = 0; i < 2 && rc == 0; i++) {
		fill(p->at[NEAR], LEN, 20 + i);
		rc = named(tcpx_xfer_post(p->kept, "again", 5));
		rc = rc ? rc : end(p, p->kept, FAR, LEN, 20 + i);
	}
	if (rc)
		forbid(p);
	return rc;
}

static int
two_sided(struct play *p, size_t len, uint32_t seed)
{
	int rc = meet(p);
	struct tcpx_desc l = { p->id[NEAR], 0, len }, f = { p->id[FAR], 0, len };
	tcpx_xfer *send, *recv;

	if (rc)
		return rc;
	if (!p->to_near && named(tcpx_peer_find(p->e[FAR], "near", &p->to_near)))
		return -ENOENT;
	rc = named(tcpx_recv(p->to_near, &f, 1, seed, &recv));
	if (rc)
		return rc;
	fill(p->at[NEAR], len, seed);
	rc = named(tcpx_send(p->to_far, &l, 1, seed, &send));
	if (rc == 0) {
		rc = end(p, send, FAR, len, seed);
		tcpx_xfer_free(send);
	}
	if (rc)
		tcpx_cancel(recv);
	named(tcpx_wait(recv, WAIT_MS));
	tcpx_xfer_free(recv);
	if (rc)
		forbid(p);
	return rc;
}

/* What is asked meanwhile: never in the way of anything. */
static void
look(struct play *p)
{
	struct tcpx_counters c = TCPX_COUNTERS_INIT;
	struct tcpx_peer_info info = TCPX_PEER_INFO_INIT;
	struct tcpx_channel_info ch[8];
	struct tcpx_event ev[8];
	size_t count = 8;
	char text[200];
	tcpx_note *n;

	for (int i = 0; i < 2; i++) {
		(void)tcpx_event_fd(p->e[i]);
		(void)tcpx_query(p->e[i], &c);
		count = 8;
		(void)tcpx_query_channels(p->e[i], ch, sizeof(ch[0]), &count);
		count = 8;
		while (count == 8 && tcpx_event_get(p->e[i], ev, sizeof(ev[0]), &count) == 0)
			;
		while (tcpx_note_get(p->e[i], &n) == 0)
			tcpx_note_free(n);
		tcpx_last_error(p->e[i], text, sizeof(text));
	}
	(void)tcpx_peer_query(p->to_far, &info);
}

/* ---- all of it ---- */

static void *
host_get(int side, size_t len)
{
	void *at = malloc(len);

	(void)side;
	assert_non_null(at);
	return at;
}

static void
host_put(int side, void *at)
{
	(void)side;
	free(at);
}

const struct scene_memory scene_host = { host_get, host_put };


static void
use(struct play *p)
{
	if (meet(p))
		return;
	(void)move(p, true, LEN, 1);
	(void)move(p, false, LEN, 2);
	(void)move(p, true, SMALL, 3);
	(void)move(p, false, SMALL, 4);
	(void)prepared(p);
	look(p);
	(void)named(tcpx_notify(p->to_far, "hello", 5));
	(void)two_sided(p, LEN, 5);
	(void)two_sided(p, SMALL, 6);
	look(p);
}

static void
give_back(struct play *p)
{
	tcpx_xfer_free(p->kept);
	tcpx_list_free(p->list[NEAR]);
	tcpx_list_free(p->list[FAR]);
	p->kept = NULL;
	p->list[NEAR] = p->list[FAR] = NULL;
	tcpx_peer_free(p->to_far);
	tcpx_peer_free(p->to_near);
	p->to_far = p->to_near = NULL;
	forbid(p);
}

/* Whatever has failed: the same two engines work together again, sooner or later. */
static void
work_again(struct play *p)
{
	uint64_t end_ns = tcpx_clock_now(&tcpx_clock_system) + AGAIN_S * TCPX_SEC;
	int rc;

	do {
		rc = meet(p);
		rc = rc ? rc : move(p, true, LEN, 7);
		rc = rc ? rc : move(p, false, LEN, 8);
		give_back(p);
		if (rc == 0)
			return;
	} while (tcpx_clock_now(&tcpx_clock_system) < end_ns);
	fail_msg("%s failed, and nothing works since then: %s", nth_name(),
		 tcpx_strerror_name(rc));
}

bool
scene_play(const struct scene *s, enum nth_call call, unsigned n, unsigned way, bool on)
{
	struct play p = { .scene = s };
	bool hit;
	int rc;

	for (int i = 0; i < 2; i++)
		p.at[i] = s->memory->get(i, LEN);
	nth_arm(call, n, way, on);
	rc = open_both(&p);
	if (rc == 0) {
		use(&p);
		give_back(&p);
	}
	if (rc)
		tcpx_close(p.e[NEAR]);
	hit = nth_disarm();
	if (rc == 0) {
		if (hit)
			work_again(&p);
		tcpx_close(p.e[NEAR]);
		tcpx_close(p.e[FAR]);
	}
	for (int i = 0; i < 2; i++)
		s->memory->put(i, p.at[i]);
	return hit;
}
