/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks on a new connection: strangers, connections led astray, bytes altered or said again. */
#include "scene.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/session/peer.h"
#include "core/session/session.h"
#include "proto/blob.h"

/* ---- strangers ---- */

/* A listening socket, into @at. */
static int
trap(struct tcpx_addr *at)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr = { htonl(0x7f000501) } };
	socklen_t len = sizeof(sa);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(fd, 4), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	*at = (struct tcpx_addr){ .family = 4, .ip = { 127, 0, 5, 1 }, .prefix = 8,
				  .port = ntohs(sa.sin_port) };
	return fd;
}

enum manner { IN_CLEAR, AFTER_START, UNDER_A_GUESS, MANNERS };

/* A stranger says that it is worker7 and where it listens. Is it answered as an engine? */
static bool
intrude(tcpx_engine *w, enum manner how, bool defended, const struct tcpx_addr *at)
{
	static const struct tcpx_seal_psk guess = { .id = { 1 }, .id_len = 16, .key = { 2 } };
	struct tcpx_hello h = foe_introduction("worker7");
	uint8_t payload[TCPX_FRAME_MAX];
	tcpx_peer *found;
	struct foe f;
	size_t len;
	bool met;

	h.nic[0].addr = *at;
	foe_dial(&f, "127.0.3.1", tcpx_port(w));
	foe_start(&f, how != IN_CLEAR, TCPX_START_NEW, 0);
	if (defended && how == UNDER_A_GUESS) {
		struct tcpx_seal_psk psk = guess;

		memcpy(psk.id, shared->psk[0].id, sizeof(psk.id)); /* everybody sees it */
		assert_false(foe_prove(&f, shared, &psk));
	}
	if (!(defended && how == UNDER_A_GUESS))
		foe_hello(&f, &h);
	met = foe_get(&f, TCPX_FR_HELLO, payload, &len);
	if (met) { /* the victim's application would find it by its name */
		assert_ok(tcpx_peer_find(w, "worker7", &found));
		tcpx_peer_free(found);
	}
	foe_close(&f);
	return met;
}

static void
a_stranger_is_nobody(void **state)
{
	struct tcpx_addr at;
	int fd = trap(&at);

	for (int on = 1; on >= 0; on--)
		for (int how = on ? IN_CLEAR : AFTER_START; how < MANNERS; how++) {
			tcpx_engine *w = open_with("victim", arm(on), NULL);
			tcpx_peer *found;

			assert_int_equal(intrude(w, how, on, &at), !on);
			if (on) {
				assert_code(tcpx_peer_find(w, "worker7", &found), -ENOENT);
				assert_int_equal(counters_of(w).sessions, 0);
				assert_null(session_of(w));
				assert_true(w->registry.peers.next == &w->registry.peers);
			}
			tcpx_close(w);
			/* nobody has come; see the next test for the other case */
			assert_int_equal(accept(fd, NULL, NULL), -1);
		}
	close(fd);
}

/* The reason is in the victim's own log alone where there is a secret. */
static void
a_stranger_reads_no_reason(void **state)
{
	for (int on = 1; on >= 0; on--) {
		tcpx_engine *w = open_with("victim", on ? shared : NULL, NULL);
		char text[TCPX_TEXT_MAX] = "";
		uint8_t payload[TCPX_FRAME_MAX];
		struct tcpx_hello h = foe_introduction("worker7");
		int32_t code = 0;
		struct tcpx_buf b;
		struct foe f;
		size_t len;

		h.expect = 5; /* another incarnation */
		foe_dial(&f, "127.0.3.1", tcpx_port(w));
		foe_start(&f, false, TCPX_START_NEW, 0);
		foe_hello(&f, &h);
		assert_true(foe_get(&f, TCPX_FR_REFUSE, payload, &len));
		tcpx_buf_init(&b, payload, len);
		assert_int_equal(tcpx_refuse_read(&b, &code, text, NULL), 0);
		assert_true(code < 0);
		assert_int_equal(text[0] == '\0', on);
		foe_close(&f);
		tcpx_close(w);
	}
}

/* With the defence off the victim connects to any address that a stranger names. */
static void
no_address_of_a_stranger_is_called(void **state)
{
	struct tcpx_hello h = foe_introduction("worker7");
	struct tcpx_addr at;
	struct pollfd p = { .fd = trap(&at), .events = POLLIN };
	tcpx_engine *w = open_with("victim", &no_secret, NULL);
	uint8_t payload[TCPX_FRAME_MAX];
	tcpx_peer *found;
	struct foe f;
	size_t len;

	h.nic[0].addr = at;
	foe_dial(&f, "127.0.3.1", tcpx_port(w));
	foe_start(&f, true, TCPX_START_NEW, 0);
	foe_hello(&f, &h);
	assert_true(foe_get(&f, TCPX_FR_HELLO, payload, &len));
	assert_ok(tcpx_peer_find(w, "worker7", &found));
	assert_ok(tcpx_notify(found, "to whom?", 8)); /* no session is open: it calls back */
	assert_int_equal(poll(&p, 1, WAIT_MS), 1);
	tcpx_peer_free(found);
	foe_close(&f);
	tcpx_close(w);
	close(p.fd);
}

/* A stranger is remembered where it comes from alone, without a secret, too. */
static void
a_strangers_other_addresses_are_not_remembered(void **state)
{
	for (int on = 0; on < 2; on++) {
		tcpx_engine *w = open_with("victim", on ? &no_secret : NULL, NULL);
		struct tcpx_hello h = foe_introduction("worker7");
		uint8_t payload[TCPX_FRAME_MAX];
		tcpx_peer *found;
		struct foe f;
		size_t len;

		h.nic_count = 3;
		for (uint8_t i = 0; i < 3; i++) {
			h.nic[i] = h.nic[0];
			h.nic[i].addr = (struct tcpx_addr){ .family = 4, .prefix = 8, .port = 7,
							    .ip = { 127, 0, 0, (uint8_t)(2 - i) } };
		}
		foe_dial(&f, "127.0.3.1", tcpx_port(w));
		foe_start(&f, on, TCPX_START_NEW, 0);
		foe_hello(&f, &h);
		assert_true(foe_get(&f, TCPX_FR_HELLO, payload, &len));
		assert_ok(tcpx_peer_find(w, "worker7", &found));
		assert_int_equal(found->addr_count, on ? 3 : 1);
		assert_int_equal(found->addr[0].ip[3], on ? 2 : 1);
		tcpx_peer_free(found);
		foe_close(&f);
		tcpx_close(w);
	}
}

/* ---- led astray ---- */

enum dialled { BY_ADDRESS, BY_NAME, BY_BLOB, DIALLED };

/* W's blob, as if it were at the relay. */
static tcpx_peer *
dial_by_blob(tcpx_engine *v, tcpx_engine *w, uint16_t port)
{
	uint8_t blob[4096];
	size_t len = sizeof(blob);
	struct tcpx_endpoint_blob ep;
	struct tcpx_buf b;
	tcpx_peer *p;

	assert_ok(tcpx_metadata(w, blob, &len));
	tcpx_buf_init_const(&b, blob, len);
	assert_int_equal(tcpx_endpoint_blob_read(&b, &ep), 0);
	ep.nic_count = 1;
	ep.nic[0].addr = (struct tcpx_addr){ .family = 4, .ip = { 127, 0, 4, 1 }, .prefix = 8,
					     .port = port };
	tcpx_buf_init(&b, blob, sizeof(blob));
	tcpx_endpoint_blob_write(&b, &ep);
	assert_ok(tcpx_peer_add(v, blob, b.pos, &p));
	return p;
}

static tcpx_peer *
dial_for(tcpx_engine *v, tcpx_engine *w, enum dialled how, uint16_t port)
{
	if (how == BY_BLOB)
		return dial_by_blob(v, w, port);
	return dial_by_name(v, how == BY_NAME ? "worker7" : "", port);
}

/* V means W; a man without the secret leads it to X, which has it. */
static void
a_connection_meant_for_another_is_refused(void **state)
{
	for (int how = 0; how < DIALLED; how++) {
		tcpx_engine *v = open_with("victim", shared, NULL), *none;
		tcpx_engine *w = open_with("worker7", shared, NULL);
		/* by blob even one of W's name */
		tcpx_engine *x = open_with(how == BY_BLOB ? "worker7" : "third", shared, NULL);
		struct relay r;
		tcpx_peer *p;

		relay_open(&r, x);
		p = dial_for(v, w, how, r.port);
		if (identity_is_checked) {
			assert_code(tcpx_peer_wait(p, WAIT_MS), TCPX_EAUTH);
			assert_code(tcpx_peer_find(x, "victim", (tcpx_peer **)&none), -ENOENT);
			assert_int_equal(counters_of(x).sessions, 0);
		} else {
			assert_ok(tcpx_peer_wait(p, WAIT_MS));
			assert_ok(tcpx_notify(p, "for worker7 alone", 17));
			assert_note(x, "victim", "for worker7 alone");
		}
		tcpx_peer_free(p);
		tcpx_close(v);
		tcpx_close(w);
		tcpx_close(x);
		relay_close(&r);
	}
}

static void
a_hello_that_comes_back_is_refused(void **state)
{
	tcpx_engine *v = open_with("victim", shared, NULL);
	struct relay r;
	tcpx_peer *p;

	relay_open(&r, v);
	for (int how = BY_ADDRESS; how <= BY_NAME; how++) {
		p = dial_for(v, v, how, r.port);
		if (identity_is_checked) {
			assert_code(tcpx_peer_wait(p, WAIT_MS), TCPX_EAUTH);
		} else {
			assert_ok(tcpx_peer_wait(p, WAIT_MS));
			assert_ok(tcpx_notify(p, "me", 2));
			assert_note(v, "victim", "me");
		}
		tcpx_peer_free(p);
		if (!identity_is_checked)
			break; /* the second would meet the first */
	}
	tcpx_close(v);
	relay_close(&r);
}

/* ---- on the path ---- */

#define SUM "a note that is longer than frames without: send all of them 10"

static void
a_spoilt_record_costs_a_connection_and_no_byte(void **state)
{
	struct scene s;

	for (int how = FLIP; how < SPOILS; how++) {
		scene_open(&s, shared);
		assert_alive(&s); /* all of the handshake has passed */
		s.r.spoil = how;
		assert_ok(tcpx_notify(s.p, SUM "0", sizeof(SUM)));
		assert_note(s.w, "victim", SUM "0");
		wait_resumes(s.v, 1);
		assert_alive(&s); /* the next note: the other came once */
		scene_close(&s);
	}
	scene_open(&s, &no_secret);
	assert_alive(&s);
	s.r.spoil = FLIP;
	assert_ok(tcpx_notify(s.p, SUM "0", sizeof(SUM)));
	assert_note(s.w, "victim", SUM "1");
	scene_close(&s);
}

/* Behind START no byte of the handshake may be another; the version in the head of the first
 * record is not looked at (RFC 8446, 5.1). */
static void
no_byte_of_the_handshake_can_be_altered(void **state)
{
	tcpx_engine *w = open_with("worker7", shared, "TCPX_HANDSHAKE_MS=300");

	for (int way = 0; way < 2; way++)
		for (int at = way ? 0 : WHOLE_START; at < 420; at += 31) {
			tcpx_engine *v = open_with("victim", shared, "TCPX_HANDSHAKE_MS=300");
			struct relay r;
			tcpx_peer *p;
			int rc;

			relay_open(&r, w);
			r.flip_way = way;
			r.flip_at = at;
			p = dial_by_name(v, "worker7", r.port);
			rc = tcpx_peer_wait(p, WAIT_MS);
			assert_int_equal(r.flip_at, -1);
			if (rc == 0) /* the opener began again, and that went as it was sent */
				assert_true(r.seen > 1);
			else
				assert_in_range(-rc, 12, 1 << 20);
			tcpx_peer_free(p);
			tcpx_close(v);
			relay_close(&r);
		}
	tcpx_close(w);
}

/* START is in clear, so it can be altered: then there is no session, or one that is sealed. */
static void
an_altered_start_does_not_lead_into_the_clear(void **state)
{
	tcpx_engine *v = open_with("victim", shared, "TCPX_HANDSHAKE_MS=300");
	tcpx_engine *w = open_with("worker7", shared, "TCPX_HANDSHAKE_MS=300");

	for (int at = 0; at < WHOLE_START; at++)
		for (int bits = 1; bits < 8; bits *= 2) {
			struct relay r;
			tcpx_peer *p;

			relay_open(&r, w);
			r.flip_bits = bits;
			r.flip_at = at;
			p = dial_by_name(v, "worker7", r.port);
			if (tcpx_peer_wait(p, WAIT_MS) == 0) {
				assert_non_null(p->out->control.line.seal);
				assert_ok(tcpx_notify(p, "sealed", 6));
				assert_note(w, "victim", "sealed");
			}
			tcpx_peer_free(p);
			relay_close(&r);
		}
	tcpx_close(v);
	tcpx_close(w);
}

/* The bytes of a handshake, said again. Is there an answer to its HELLO? */
static bool
replay(struct scene *s)
{
	uint8_t payload[TCPX_FRAME_MAX];
	struct foe f;
	size_t len;
	bool met;

	foe_dial(&f, "127.0.3.1", tcpx_port(s->w));
	foe_say(&f, s->r.heard, (size_t)s->r.heard_len);
	met = foe_get(&f, TCPX_FR_HELLO, payload, &len);
	foe_close(&f);
	return met;
}

static void
a_handshake_cannot_be_said_again(void **state)
{
	struct scene s;

	scene_open(&s, shared);
	assert_false(replay(&s));
	assert_int_equal(counters_of(s.w).sessions, 1);
	assert_alive(&s);
	scene_close(&s);
	scene_open(&s, &no_secret);
	assert_true(replay(&s));
	scene_close(&s);
}

/* The victim's HELLO to another, led here: the peer that is known here may be between sessions. */
static void
a_refused_hello_leaves_the_peer_as_it_was(void **state)
{
	tcpx_engine *w = open_with("worker7", shared, NULL);
	struct tcpx_hello h = foe_introduction("victim");
	uint8_t payload[TCPX_FRAME_MAX];
	struct tcpx_peer *known;
	struct foe f;
	size_t len;

	assert_ok(tcpx_peer_new(w, "victim", h.incarnation, &known));
	snprintf(h.expect_name, sizeof(h.expect_name), "another");
	h.nic[0].addr.port = 7;
	foe_dial(&f, "127.0.3.1", tcpx_port(w));
	foe_start(&f, true, TCPX_START_NEW, 0);
	assert_true(foe_prove(&f, shared, &shared->psk[0]));
	foe_hello(&f, &h);
	if (identity_is_checked) {
		assert_true(foe_get(&f, TCPX_FR_REFUSE, payload, &len));
		assert_int_equal(counters_of(w).sessions, 0);
		assert_int_equal(known->gone, 0);
		assert_int_equal(known->addr_count, 0);
	} else {
		assert_true(foe_get(&f, TCPX_FR_HELLO, payload, &len));
		assert_int_equal(known->addr_count, 1);
	}
	foe_close(&f);
	tcpx_peer_put(known);
	tcpx_close(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stranger_is_nobody),
		cmocka_unit_test(a_stranger_reads_no_reason),
		cmocka_unit_test(no_address_of_a_stranger_is_called),
		cmocka_unit_test(a_strangers_other_addresses_are_not_remembered),
		cmocka_unit_test(a_connection_meant_for_another_is_refused),
		cmocka_unit_test(a_hello_that_comes_back_is_refused),
		cmocka_unit_test(a_spoilt_record_costs_a_connection_and_no_byte),
		cmocka_unit_test(no_byte_of_the_handshake_can_be_altered),
		cmocka_unit_test(an_altered_start_does_not_lead_into_the_clear),
		cmocka_unit_test(a_handshake_cannot_be_said_again),
		cmocka_unit_test(a_refused_hello_leaves_the_peer_as_it_was),
	};

	return run_attacks(tests, sizeof(tests) / sizeof(tests[0]));
}
