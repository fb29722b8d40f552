/* SPDX-License-Identifier: Apache-2.0 */
/* Memory whose pages are lent: what is, what is not, and that a transfer which ended with 0 reads them no
 * more, whatever happens to its connections. */
#include "rig.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/rng.h"

enum { MIB = 1 << 20, SLOTS = 6, ROUNDS = 240, TAKEN = 200, EACH = 6, FDS = 1024 };

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif

/* Bytes that an engine has sent without a copy. */
static uint64_t
lent(tcpx_engine *e)
{
	struct tcpx_channel_info c[16];
	size_t count = 16;
	uint64_t sum = 0;

	assert_ok(tcpx_query_channels(e, c, sizeof(c[0]), &count));
	assert_in_range(count, 1, 16);
	for (size_t i = 0; i < count; i++)
		sum += c[i].lent_bytes;
	return sum;
}

static void
open_pair(struct rig *r, const char *const *settings, unsigned access)
{
	rig_begin(r, settings, settings);
	mem_open(&r->near, r->a, MIB, access);
	mem_open(&r->far, r->b, MIB, access | TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE);
	r->far.far = mem_tell(&r->far, r->b, r->a);
	fill(r->near.at, MIB, 1);
	memset(r->far.at, 0, MIB);
}

static void
send_one(struct rig *r)
{
	struct tcpx_desc from = { r->near.id, 0, MIB }, to = { r->far.id, 0, MIB };
	tcpx_peer *back = rig_add(r->b, r->a);
	tcpx_xfer *send, *recv;

	assert_ok(tcpx_recv(back, &to, 1, 7, &recv));
	assert_ok(tcpx_send(r->to_b, &from, 1, 7, &send));
	assert_ok(finish(send));
	assert_ok(finish(recv));
	tcpx_peer_free(back);
}

static void
open_lane(struct rig *r, tcpx_lane **tx, tcpx_lane **rx)
{
	uint8_t key[TCPX_LANE_KEY];

	assert_ok(tcpx_lane_listen(r->b, key, rx));
	assert_ok(tcpx_lane_open(r->to_b, key, tx));
	while (tcpx_lane_ready(*tx) == -EAGAIN || tcpx_lane_ready(*rx) == -EAGAIN)
		sched_yield();
}

static void
pass_one(struct rig *r)
{
	tcpx_lane *tx, *rx;
	tcpx_xfer *send, *recv;

	open_lane(r, &tx, &rx);
	assert_ok(tcpx_lane_post(rx, r->far.id, 0, MIB, &recv));
	assert_ok(tcpx_lane_post(tx, r->near.id, 0, MIB, &send));
	assert_ok(finish(send));
	assert_ok(finish(recv));
	tcpx_lane_close(tx);
	tcpx_lane_close(rx);
}

TEST(every_way_of_sending_lends_such_memory_and_no_other)
{
	static const unsigned access[] = { TCPX_MEM_LOCAL, TCPX_MEM_LEND };

	for (int i = 0; i < 2; i++) {
		uint64_t each = i ? MIB : 0;
		struct rig r;

		open_pair(&r, NULL, access[i]);
		assert_ok(rig_move(&r, TCPX_OP_WRITE, 0, 0, MIB));
		assert_int_equal(lent(r.a), each);
		assert_filled(r.far.at, MIB, 1);
		memset(r.far.at, 0, MIB);
		send_one(&r);
		assert_int_equal(lent(r.a), 2 * each);
		assert_filled(r.far.at, MIB, 1);
		memset(r.far.at, 0, MIB);
		pass_one(&r);
		assert_int_equal(lent(r.a), 3 * each);
		assert_filled(r.far.at, MIB, 1);
		memset(r.near.at, 0, MIB);
		assert_ok(rig_move(&r, TCPX_OP_READ, 0, 0, MIB)); /* of the target's memory */
		assert_int_equal(lent(r.b), each);
		assert_filled(r.near.at, MIB, 1);
		rig_end(&r);
	}
}

TEST(small_pieces_sums_and_a_setting_keep_pages_from_being_lent)
{
	static const char *const off[] = { "TCPX_ZEROCOPY=off", NULL };
	static const char *const sums[] = { "TCPX_CHECKSUM=1", NULL };
	static const char *const *const settings[] = { NULL, off, sums };
	enum { PIECE = 15 << 10, PIECES = 64 };

	for (int i = 0; i < 3; i++) {
		struct tcpx_desc from[PIECES], to;
		struct rig r;
		tcpx_xfer *x;

		open_pair(&r, settings[i], TCPX_MEM_LEND);
		if (i)
			assert_ok(rig_move(&r, TCPX_OP_WRITE, 0, 0, MIB));
		for (int k = 0; k < PIECES; k++) /* each apart from its neighbour */
			from[k] = (struct tcpx_desc){ r.near.id, (uint64_t)k * (PIECE + 1), PIECE };
		to = (struct tcpx_desc){ r.far.far, 0, PIECE * PIECES };
		assert_ok(tcpx_write(r.to_b, from, PIECES, &to, 1, NULL, 0, &x));
		assert_ok(finish(x));
		assert_int_equal(lent(r.a), 0);
		rig_end(&r);
	}
}

TEST_WITH(a_peer_is_not_told, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	uint8_t plain[64], lends[64];
	size_t len[2] = { sizeof(plain), sizeof(lends) };
	struct mem m[2];
	uint64_t id;

	mem_open(&m[0], r->b, MIB, TCPX_MEM_REMOTE_READ);
	mem_open(&m[1], r->b, MIB, TCPX_MEM_REMOTE_READ | TCPX_MEM_LEND);
	assert_ok(tcpx_mem_export(r->b, m[0].id, plain, &len[0]));
	assert_ok(tcpx_mem_export(r->b, m[1].id, lends, &len[1]));
	assert_int_equal(len[0], len[1]);
	assert_ok(tcpx_mem_import(r->a, lends, len[1], &id));
	mem_close(&m[0]);
	mem_close(&m[1]);
}

/* Pages that a process may read and the kernel may not keep. */
TEST(what_cannot_be_lent_is_copied)
{
	int fd = (int)syscall(SYS_memfd_secret, 0);
	struct tcpx_channel_info c[4];
	size_t count = 4;
	struct mem secret;
	struct rig r;

	if (fd < 0) {
		print_message("# skipped: no memfd_secret() here\n");
		skip();
	}
	assert_int_equal(ftruncate(fd, MIB), 0);
	secret.at = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (secret.at == MAP_FAILED) { /* counts as locked memory */
		close(fd);
		print_message("# skipped: too little memory may be locked\n");
		skip();
	}
	open_pair(&r, (const char *const[]){ "TCPX_CHANNELS=1", NULL }, TCPX_MEM_LEND);
	fill(secret.at, MIB, 5);
	assert_ok(tcpx_mem_register(r.a, secret.at, MIB, TCPX_MEM_LEND, &secret.id));
	for (int i = 0; i < 3; i++) {
		struct tcpx_desc from = { secret.id, 0, MIB }, to = { r.far.far, 0, MIB };
		tcpx_xfer *x;

		assert_ok(tcpx_write(r.to_b, &from, 1, &to, 1, NULL, 0, &x));
		assert_ok(finish(x));
		assert_filled(r.far.at, MIB, 5);
		assert_int_equal(lent(r.a), i * (uint64_t)MIB);
		assert_ok(tcpx_query_channels(r.a, c, sizeof(c[0]), &count));
		for (size_t k = 0; k < count; k++)
			if (c[k].sending)
				assert_string_equal(c[k].tx_mode, "copy");
		assert_ok(rig_move(&r, TCPX_OP_WRITE, 0, 0, MIB)); /* and others are lent yet */
		assert_int_equal(lent(r.a), (i + 1) * (uint64_t)MIB);
		assert_filled(r.far.at, MIB, 1);
	}
	rig_end(&r);
	munmap(secret.at, MIB);
	close(fd);
}

/* ---- memory that is taken back while it is on its way --------------------------------- */

/* The sender closes its lane at any moment, and uses the memory. Returns how the receive ended. */
static int
take_back(struct rig *r, struct tcpx_rng *rng, uint32_t round)
{
	tcpx_lane *tx, *rx;
	tcpx_xfer *send, *recv;
	int rc;

	open_lane(r, &tx, &rx);
	fill(r->near.at, MIB, round);
	assert_ok(tcpx_lane_post(rx, r->far.id, 0, MIB, &recv));
	assert_ok(tcpx_lane_post(tx, r->near.id, 0, MIB, &send));
	for (uint64_t n = tcpx_rng_below(rng, 400); n; n--)
		sched_yield();
	tcpx_lane_close(tx);
	memset(r->near.at, 0xee, MIB);
	tcpx_xfer_free(send);
	rc = tcpx_wait(recv, -1);
	tcpx_xfer_free(recv);
	tcpx_lane_close(rx);
	return rc;
}

TEST(what_a_sender_has_taken_back_arrives_as_it_was_or_not_at_all)
{
	static const char *const settings[] = { "TCPX_CHANNELS=2", "TCPX_CHUNK=1M", NULL };
	struct tcpx_rng rng = tcpx_rng_seed(3);
	uint32_t arrived = 0, failed = 0;
	struct rig r;

	open_pair(&r, settings, TCPX_MEM_LEND);
	for (uint32_t round = 1; round < TAKEN || !arrived || !failed; round++)
		if (take_back(&r, &rng, round)) {
			failed++;
		} else {
			assert_filled(r.far.at, MIB, round);
			arrived++;
		}
	rig_end(&r);
}

/* ---- memory that is used again at once, and connections that are reset --------------- */

struct slot {
	tcpx_xfer *x;
	uint32_t round; /* of the message under way, from 1 */
};

struct storm {
	struct rig rig;
	struct slot slot[SLOTS];
	uint32_t begun, ended, resets;
	struct tcpx_rng rng;
};

/* Resets one connection of this process, whichever. */
static void
reset_one(struct storm *s)
{
	static const struct sockaddr off = { .sa_family = AF_UNSPEC };
	int fds[FDS], count = 0;

	for (int fd = 3; fd < FDS; fd++) {
		struct sockaddr_storage peer;
		socklen_t len = sizeof(peer);

		if (!getpeername(fd, (struct sockaddr *)&peer, &len) && peer.ss_family == AF_INET)
			fds[count++] = fd;
	}
	if (!count)
		return;
	(void)connect(fds[tcpx_rng_below(&s->rng, (uint64_t)count)], &off, sizeof(off));
	s->resets++;
}

static uint8_t *
far_of(struct storm *s, int i, uint32_t round)
{
	return s->rig.far.at + (size_t)(2 * i + round % 2) * MIB;
}

/* The bytes go to one of two places, so that the last ones are looked at again a round later. */
static void
begin(struct storm *s, int i)
{
	struct slot *t = &s->slot[i];
	struct tcpx_desc from = { s->rig.near.id, (uint64_t)i * MIB, MIB }, to = from;

	t->round++;
	fill(s->rig.near.at + (size_t)i * MIB, MIB, t->round);
	to.region = s->rig.far.far;
	to.offset = (uint64_t)(2 * i + t->round % 2) * MIB;
	assert_ok(tcpx_write(s->rig.to_b, &from, 1, &to, 1, NULL, 0, &t->x));
	s->begun++;
}

static void
end(struct storm *s, int i)
{
	struct slot *t = &s->slot[i];

	memset(s->rig.near.at + (size_t)i * MIB, 0xee, MIB); /* at once */
	assert_ok(tcpx_test(t->x));
	tcpx_xfer_free(t->x);
	t->x = NULL;
	s->ended++;
	assert_filled(far_of(s, i, t->round), MIB, t->round);
	if (t->round > 1)
		assert_filled(far_of(s, i, t->round - 1), MIB, t->round - 1);
}

/* Chunks have gone twice. */
static bool
is_enough(struct storm *s)
{
	return s->begun >= ROUNDS && counters_of(s->rig.a).chunks_resent > 2;
}

TEST(memory_of_what_ended_is_not_read_whatever_is_reset)
{
	static const char *const settings[] = { "TCPX_CHANNELS=3", "TCPX_CHUNK=256K", NULL };
	struct storm s = { .rng = tcpx_rng_seed(1) };

	rig_begin(&s.rig, settings, settings);
	mem_open(&s.rig.near, s.rig.a, SLOTS * (size_t)MIB, TCPX_MEM_LEND);
	mem_open(&s.rig.far, s.rig.b, 2 * SLOTS * (size_t)MIB, TCPX_MEM_REMOTE_WRITE);
	s.rig.far.far = mem_tell(&s.rig.far, s.rig.b, s.rig.a);
	while (s.ended < s.begun || !is_enough(&s)) {
		for (int i = 0; i < SLOTS; i++)
			if (!s.slot[i].x && !is_enough(&s))
				begin(&s, i);
			else if (s.slot[i].x && tcpx_wait(s.slot[i].x, 1) != -EAGAIN)
				end(&s, i);
		if (s.begun > s.resets * EACH)
			reset_one(&s);
	}
	rig_end(&s.rig);
}
