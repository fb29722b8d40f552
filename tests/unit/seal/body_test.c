/* SPDX-License-Identifier: Apache-2.0 */
/* What every body of the seal promises, whatever it is made of: see body.h. */
#include "seal_rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "body.h"

static struct tcpx_seal_lib *lib;
static const struct tcpx_seal_ops *ops;

static struct ends
pair(const char *opener, const char *acceptor, const char *second)
{
	return ends_open(ops, lib, opener, acceptor, second);
}

TEST(both_ends_prove_and_talk)
{
	struct ends e = pair("s", "s", NULL);

	assert_false(ops->proven(e.opener) || ops->proven(e.acceptor));
	assert_int_equal(shake(&e), 0);
	assert_true(ops->proven(e.opener) && ops->proven(e.acceptor));
	talk(&e, "hello");
	talk(&e, "and again");
	ends_close(&e);
	ops->end(NULL);
}

TEST(nothing_is_sealed_before_the_proof)
{
	struct ends e = pair("s", "s", NULL);
	static struct wire w;
	uint8_t out[32];

	assert_int_equal(ops->take(e.opener, "x", 1, w.bytes, sizeof(w.bytes)), TCPX_ESTATE);
	assert_int_equal(ops->take(e.acceptor, "x", 1, w.bytes, sizeof(w.bytes)), TCPX_ESTATE);
	assert_int_equal(ops->export(e.opener, "l", NULL, 0, out, 32), TCPX_ESTATE);
	assert_int_equal(ops->export(e.acceptor, "l", NULL, 0, out, 32), TCPX_ESTATE);
	assert_int_equal(shake(&e), 0);
	talk(&e, "now");
	ends_close(&e);
}

TEST(wrong_keys_and_identities_are_refused)
{
	struct tcpx_seal_psk good = psk_of("s"), bad = good;
	struct ends e = pair("other", "s", NULL);

	/* another identity */
	assert_int_equal(shake(&e), TCPX_EAUTH);
	assert_false(ops->proven(e.opener) || ops->proven(e.acceptor));
	ends_close(&e);
	/* the right identity and one bit of the key */
	bad.key[31] ^= 1;
	assert_int_equal(ops->start(lib, true, &bad, 1, &e.opener), 0);
	assert_int_equal(ops->start(lib, false, &good, 1, &e.acceptor), 0);
	assert_int_equal(shake(&e), TCPX_EAUTH);
	assert_false(ops->proven(e.opener) || ops->proven(e.acceptor));
	ends_close(&e);
}

TEST(an_acceptor_takes_either_of_two_keys)
{
	static const char *const names[] = { "old", "new" };

	for (int i = 0; i < 2; i++) {
		struct ends e = pair(names[i], "old", "new");

		assert_int_equal(shake(&e), 0);
		assert_true(ops->proven(e.opener) && ops->proven(e.acceptor));
		talk(&e, names[i]);
		ends_close(&e);
	}
}

TEST(every_fragmentation_does)
{
	static struct wire w;

	for (size_t step = 1; step <= 400; step++) {
		struct ends e = pair("s", "s", NULL);
		uint8_t out[64];

		for (int turn = 0; turn < 4; turn++) {
			struct tcpx_seal *from = turn % 2 ? e.acceptor : e.opener;
			struct tcpx_seal *to = turn % 2 ? e.opener : e.acceptor;
			ssize_t got = 0;

			w.len = 0;
			take(ops, from, "0123456789", turn > 1 ? 10 : 0, &w);
			for (size_t at = 0; at < w.len; at += step) {
				size_t n = w.len - at < step ? w.len - at : step;
				ssize_t rc = ops->feed(to, w.bytes + at, n, out + got, 64 - (size_t)got);

				assert_true(rc >= 0);
				got += rc;
			}
			assert_int_equal(got, turn > 1 ? 10 : 0);
		}
		assert_true(ops->proven(e.opener) && ops->proven(e.acceptor));
		ends_close(&e);
	}
}

TEST(small_room_loses_nothing)
{
	struct ends e = pair("s", "s", NULL);
	static uint8_t sent[TCPX_SEAL_BLOCK], got[TCPX_SEAL_BLOCK + 1];
	static struct wire w;
	size_t at;
	ssize_t n;

	assert_int_equal(shake(&e), 0);
	for (size_t i = 0; i < sizeof(sent); i++)
		sent[i] = (uint8_t)(i * 7 + i / 256);
	for (size_t cap = 1; cap < sizeof(got); cap = cap * 3 + 1) {
		w.len = 0;
		take(ops, e.opener, sent, sizeof(sent), &w);
		n = ops->feed(e.acceptor, w.bytes, w.len, got, cap);
		for (at = 0; n == (ssize_t)cap; n = ops->feed(e.acceptor, NULL, 0, got + at, cap)) {
			at += (size_t)n;
			assert_true(at <= sizeof(sent));
		}
		assert_true(n >= 0);
		at += (size_t)n;
		assert_int_equal(at, sizeof(sent));
		assert_memory_equal(got, sent, sizeof(sent));
	}
	ends_close(&e);
}

/* feed() of bytes that are not the peer's: an error that stays, and an alert at most. */
static void
refused_for_ever(struct tcpx_seal *s)
{
	static struct wire w;
	uint8_t out[64];
	ssize_t rc = ops->feed(s, NULL, 0, out, sizeof(out));

	assert_true(rc < 0);
	assert_int_equal(ops->feed(s, "more", 4, out, sizeof(out)), rc);
	assert_false(ops->proven(s));
	assert_int_equal(ops->take(s, "x", 1, w.bytes, sizeof(w.bytes)), TCPX_ESTATE);
	assert_int_equal(ops->export(s, "l", NULL, 0, out, 32), TCPX_ESTATE);
}

TEST(a_record_comes_once_and_in_its_turn)
{
	static struct wire one, two;
	uint8_t out[64];

	for (int what = 0; what < 4; what++) {
		struct ends e = pair("s", "s", NULL);

		assert_int_equal(shake(&e), 0);
		one.len = two.len = 0;
		take(ops, e.opener, "first", 5, &one);
		take(ops, e.opener, "second", 6, &two);
		switch (what) {
		case 0: /* the second without the first */
			assert_int_equal(ops->feed(e.acceptor, two.bytes, two.len, out, 64), TCPX_EPROTO);
			break;
		case 1: /* the first twice */
			assert_int_equal(ops->feed(e.acceptor, one.bytes, one.len, out, 64), 5);
			assert_int_equal(ops->feed(e.acceptor, one.bytes, one.len, out, 64), TCPX_EPROTO);
			break;
		case 2: /* back to its sender */
			assert_int_equal(ops->feed(e.opener, one.bytes, one.len, out, 64), TCPX_EPROTO);
			refused_for_ever(e.opener);
			ends_close(&e);
			continue;
		default: /* cut at its end, the next behind it */
			/* by more than the next one's first bytes may make good */
			assert_int_equal(ops->feed(e.acceptor, one.bytes, one.len - 8, out, 64), 0);
			assert_int_equal(ops->feed(e.acceptor, two.bytes, two.len, out, 64), TCPX_EPROTO);
		}
		refused_for_ever(e.acceptor);
		ends_close(&e);
	}
}

TEST(records_of_another_connection_are_refused)
{
	struct ends e = pair("s", "s", NULL), f = pair("s", "s", NULL);
	static struct wire w;
	uint8_t out[64];

	assert_int_equal(shake(&e), 0);
	assert_int_equal(shake(&f), 0);
	w.len = 0;
	take(ops, e.opener, "mine", 4, &w);
	assert_int_equal(feed(ops, f.acceptor, &w, out, 64), TCPX_EPROTO);
	ends_close(&e);
	ends_close(&f);
}

TEST(a_flipped_byte_of_a_record_is_refused)
{
	static struct wire w;
	uint8_t out[64];

	for (size_t at = 0, len = 1; at < len; at++) {
		struct ends e = pair("s", "s", NULL);
		ssize_t rc;

		assert_int_equal(shake(&e), 0);
		w.len = 0;
		take(ops, e.opener, "a record", 8, &w);
		len = w.len;
		w.bytes[at] ^= 0x80;
		rc = feed(ops, e.acceptor, &w, out, sizeof(out));
		/* a length that says more waits for it, and no byte comes out */
		assert_true(rc == TCPX_EPROTO || (rc == 0 && (at == 3 || at == 4)));
		if (rc)
			refused_for_ever(e.acceptor);
		ends_close(&e);
	}
}

/* One byte of one flight is another: no end takes it for the peer's, and if it believes itself
 * proven, then with bytes that the other end never reads. */
static void
flip(unsigned flight, size_t at, uint8_t mask, size_t *len)
{
	struct ends e = pair("s", "s", NULL);
	static struct wire w;
	uint8_t out[64], a[32], b[32];
	ssize_t rc = 0;

	for (unsigned turn = 0; turn < 3 && rc == 0; turn++) {
		w.len = 0;
		take(ops, turn % 2 ? e.acceptor : e.opener, NULL, 0, &w);
		if (turn == flight) {
			*len = w.len;
			w.bytes[at] ^= mask;
		}
		rc = feed(ops, turn % 2 ? e.opener : e.acceptor, &w, out, sizeof(out));
		assert_true(rc <= 0);
	}
	if (ops->proven(e.opener) && ops->proven(e.acceptor)) {
		/* only a byte that no side reads may change: the two have the same state */
		assert_int_equal(ops->export(e.opener, "l", NULL, 0, a, 32), 0);
		assert_int_equal(ops->export(e.acceptor, "l", NULL, 0, b, 32), 0);
		assert_memory_equal(a, b, 32);
		assert_true(body_ignores(flight, at));
	}
	ends_close(&e);
}

TEST(a_flipped_byte_of_a_handshake_proves_nothing)
{
	for (unsigned flight = 0; flight < 3; flight++) {
		for (size_t at = 0, len = 1; at < len; at++) {
			flip(flight, at, 0x01, &len);
			flip(flight, at, 0x80, &len);
		}
	}
}

TEST(a_cut_handshake_proves_nothing)
{
	static struct wire flights[3];
	struct ends e = pair("s", "s", NULL);
	uint8_t none[64];

	record_flights(&e, flights);
	ends_close(&e);
	for (size_t cut = 0; cut < flights[0].len; cut++) {
		e = pair("s", "s", NULL);
		assert_int_equal(ops->feed(e.acceptor, flights[0].bytes, cut, none, 64), 0);
		assert_false(ops->proven(e.acceptor));
		ends_close(&e);
	}
}

TEST(recorded_flights_prove_nothing)
{
	static struct wire flights[3], w;
	struct ends e = pair("s", "s", NULL), f;
	uint8_t none[64];

	record_flights(&e, flights);
	assert_true(ops->proven(e.acceptor) && ops->proven(e.opener));
	ends_close(&e);
	/* the opener's, to a fresh acceptor */
	f = pair("s", "s", NULL);
	assert_int_equal(ops->feed(f.acceptor, flights[0].bytes, flights[0].len, none, 64), 0);
	assert_true(ops->feed(f.acceptor, flights[2].bytes, flights[2].len, none, 64) < 0);
	refused_for_ever(f.acceptor);
	/* the acceptor's, to a fresh opener */
	assert_true(ops->feed(f.opener, flights[1].bytes, flights[1].len, none, 64) < 0);
	refused_for_ever(f.opener);
	ends_close(&f);
	/* its own hello, to the opener */
	f = pair("s", "s", NULL);
	w.len = 0;
	take(ops, f.opener, NULL, 0, &w);
	assert_true(feed(ops, f.opener, &w, none, 64) < 0);
	ends_close(&f);
}

static void
material(struct tcpx_seal *s, const char *label, const char *context, uint8_t out[32])
{
	assert_int_equal(ops->export(s, label, context, strlen(context), out, 32), 0);
}

TEST(keying_material_is_of_connection_label_and_context)
{
	struct ends e = pair("s", "s", NULL), f = pair("s", "s", NULL);
	uint8_t a[32], b[32];

	assert_int_equal(shake(&e), 0);
	assert_int_equal(shake(&f), 0);
	material(e.opener, "label", "context", a);
	material(e.acceptor, "label", "context", b);
	assert_memory_equal(a, b, 32);
	talk(&e, "in between");
	material(e.acceptor, "label", "context", b);
	assert_memory_equal(a, b, 32);
	material(e.acceptor, "Label", "context", b);
	assert_memory_not_equal(a, b, 32);
	material(e.acceptor, "label", "context2", b);
	assert_memory_not_equal(a, b, 32);
	material(e.acceptor, "label", "", b);
	assert_memory_not_equal(a, b, 32);
	material(f.opener, "label", "context", b);
	assert_memory_not_equal(a, b, 32);
	ends_close(&e);
	ends_close(&f);
}

/* A key made of a connection's material, as a resumed control stream uses it. */
TEST(resumption_is_of_one_connection)
{
	struct ends e = pair("s", "s", NULL), f = pair("s", "s", NULL), r;
	struct tcpx_seal_psk mine = { .id_len = 8 }, same = mine, other = mine;

	memcpy(mine.id, "session1", 8);
	same = other = mine;
	assert_int_equal(shake(&e), 0);
	assert_int_equal(shake(&f), 0);
	material(e.opener, "resume", "", mine.key);
	material(e.acceptor, "resume", "", same.key);
	material(f.opener, "resume", "", other.key);
	r.ops = ops;
	assert_int_equal(ops->start(lib, true, &mine, 1, &r.opener), 0);
	assert_int_equal(ops->start(lib, false, &same, 1, &r.acceptor), 0);
	assert_int_equal(shake(&r), 0);
	talk(&r, "resumed");
	ends_close(&r);
	assert_int_equal(ops->start(lib, true, &other, 1, &r.opener), 0);
	assert_int_equal(ops->start(lib, false, &same, 1, &r.acceptor), 0);
	assert_int_equal(shake(&r), TCPX_EAUTH);
	ends_close(&r);
	ends_close(&e);
	ends_close(&f);
}

TEST(lengths_are_those_that_are_stated)
{
	static struct wire flights[3], w;
	static const uint8_t block[TCPX_SEAL_BLOCK];
	struct ends e = pair("s", "s", NULL);

	record_flights(&e, flights);
	print_message("# flights of %zu, %zu, %zu bytes\n", flights[0].len, flights[1].len,
		      flights[2].len);
	assert_int_equal(flights[0].len, BODY_FLIGHT_0);
	assert_int_equal(flights[1].len, BODY_FLIGHT_1);
	assert_int_equal(flights[2].len, BODY_FLIGHT_2);
	for (size_t len = 1; len <= TCPX_SEAL_BLOCK; len = len * 2 + (len & 1)) {
		w.len = 0;
		take(ops, e.opener, block, len, &w);
		assert_int_equal(w.len, len + 22);
	}
	assert_int_equal(ops->take(e.opener, block, TCPX_SEAL_BLOCK, w.bytes,
				   TCPX_SEAL_BLOCK + TCPX_SEAL_ROOM - 1), -EINVAL);
	assert_int_equal(ops->take(e.opener, block, TCPX_SEAL_BLOCK + 1, w.bytes, sizeof(w.bytes)),
			 -EINVAL);
	ends_close(&e);
}

TEST(keys_are_counted)
{
	struct tcpx_seal_psk psk[3] = { psk_of("a"), psk_of("b"), psk_of("c") };
	struct tcpx_seal *s = NULL;

	assert_int_equal(ops->start(lib, true, psk, 0, &s), -EINVAL);
	assert_int_equal(ops->start(lib, true, psk, 2, &s), -EINVAL);
	assert_int_equal(ops->start(lib, false, psk, 0, &s), -EINVAL);
	assert_int_equal(ops->start(lib, false, psk, 3, &s), -EINVAL);
	assert_null(s);
}

int
main(void)
{
	int rc;

	ops = body_open(&lib);
	if (!ops) {
		print_message("1..0 # SKIP no OpenSSL here\n");
		return 0;
	}
	rc = run_cases(NULL, NULL);
	body_close(lib);
	return rc;
}
