/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks on a session that stands, and on its channels. */
#include "scene.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/session/session.h"
#include "net/sock/wire.h"

/* ---- resuming ---- */

/* Resumes the victim's session with the worker. Is it accepted? */
static bool
take_over(struct scene *s, const struct session *of, const struct tcpx_seal_psk *psk)
{
	struct tcpx_resume r = { .session = of->id, .incarnation = s->v->incarnation,
				 .expect = s->w->incarnation, .epoch = 1000,
				 .received = 0 };
	uint8_t room[256], payload[TCPX_FRAME_MAX];
	struct tcpx_buf b;
	struct foe f;
	bool met = false;
	size_t len;

	memcpy(r.token, of->resume.token, sizeof(r.token));
	r.received = tcpx_ctrl_received(session_of(s->v)->control.ctrl);
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_resume_write(&b, &r);
	foe_dial(&f, "127.0.3.1", tcpx_port(s->w));
	foe_start(&f, true, TCPX_START_RESUME, of->id);
	if (foe_prove(&f, shared, psk)) {
		foe_put(&f, TCPX_FR_RESUME, &b);
		met = foe_get(&f, TCPX_FR_RESUMED, payload, &len);
	}
	foe_close(&f);
	return met;
}

/* Another holder of the secret even has the session's id and token. */
static void
a_session_is_resumed_by_its_own_key_alone(void **state)
{
	const struct session *of;
	struct scene s;

	scene_open(&s, shared);
	of = session_of(s.w);
	assert_false(take_over(&s, of, &shared->psk[0]));
	assert_alive(&s);
	/* the defence is that key */
	assert_true(take_over(&s, of, &of->resume.key));
	scene_close(&s);
}

/* ---- without a secret ---- */

/* Says RESUME to @at, without its last @missing bytes. Returns the answer's code; 0: RESUMED. */
static int
say_resume(tcpx_engine *at, enum tcpx_start_kind kind, const struct tcpx_resume *r,
	   size_t missing)
{
	static const uint8_t answers[] = { TCPX_FR_RESUMED, TCPX_FR_REFUSE };
	uint8_t room[256], payload[TCPX_FRAME_MAX], type;
	char text[TCPX_TEXT_MAX];
	int32_t code = TCPX_EPEERGONE;
	struct tcpx_buf b;
	struct foe f;
	size_t len;

	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_resume_write(&b, r);
	b.pos -= missing;
	foe_dial(&f, "127.0.3.1", tcpx_port(at));
	foe_start(&f, false, kind, r->session);
	foe_put(&f, TCPX_FR_RESUME, &b);
	if (foe_get_one_of(&f, answers, sizeof(answers), &type, payload, &len)) {
		tcpx_buf_init_const(&b, payload, len);
		code = 0;
		if (type == TCPX_FR_REFUSE)
			assert_int_equal(tcpx_refuse_read(&b, &code, text, NULL), 0);
	}
	foe_close(&f);
	return code;
}

/* Makes the RESUME that the victim would say. */
static struct tcpx_resume
honest(const struct scene *s)
{
	struct session *of = session_of(s->w);
	struct tcpx_resume r = { .session = of->id, .incarnation = s->v->incarnation,
				 .expect = s->w->incarnation, .epoch = 1000 };

	memcpy(r.token, of->resume.token, sizeof(r.token));
	r.received = tcpx_ctrl_received(session_of(s->v)->control.ctrl);
	return r;
}

/* Gets the token of a session that has ended, of engines of the same names. */
static void
older_token(uint8_t token[16])
{
	struct scene s;

	scene_open(&s, NULL);
	memcpy(token, session_of(s.w)->resume.token, 16);
	scene_close(&s);
}

static void
without_a_secret_a_session_is_resumed_by_its_token_alone(void **state)
{
	static const char *const what[] = { "none", "first bit", "last bit",
					    "that of an ended session", "the session's id" };
	uint8_t token[5][16] = { { 0 } };
	struct tcpx_resume r;
	struct scene s;

	(void)state;
	older_token(token[3]);
	scene_open(&s, NULL);
	r = honest(&s);
	memcpy(token[1], r.token, 16);
	memcpy(token[2], r.token, 16);
	token[1][0] ^= 0x80;
	token[2][15] ^= 1;
	memcpy(token[4], &r.session, sizeof(r.session));
	for (size_t i = 0; i < (identity_is_checked ? 5 : 1); i++) {
		struct tcpx_resume lie = r;
		int rc;

		memcpy(lie.token, token[i], 16);
		rc = say_resume(s.w, TCPX_START_RESUME, &lie, 0);
		if (rc != (identity_is_checked ? TCPX_EAUTH : 0))
			fail_msg("token %s: %s", what[i], tcpx_strerror_name(rc));
	}
	if (identity_is_checked) {
		assert_code(say_resume(s.w, TCPX_START_RESUME, &r, 1), TCPX_EPROTO);
		assert_code(say_resume(s.w, TCPX_START_RESUME, &r, 16), TCPX_EPROTO);
		assert_alive(&s);
		assert_int_equal(counters_of(s.w).ctrl_resumes, 0);
		assert_int_equal(counters_of(s.v).ctrl_resumes, 0);
		r.received = tcpx_ctrl_received(session_of(s.v)->control.ctrl);
		/* the defence is the token */
		assert_code(say_resume(s.w, TCPX_START_RESUME, &r, 0), 0);
	}
	scene_close(&s);
}

/* The token is right, and the incarnations, the session or the epoch are not. */
static void
a_token_serves_its_two_engines_and_the_next_connection(void **state)
{
	struct tcpx_resume r, lie;
	struct scene s;

	(void)state;
	if (!identity_is_checked)
		return;
	scene_open(&s, NULL);
	lie = r = honest(&s);
	lie.incarnation ^= 1;
	assert_code(say_resume(s.w, TCPX_START_RESUME, &lie, 0), TCPX_EAUTH);
	lie = r;
	lie.expect ^= 1;
	assert_code(say_resume(s.w, TCPX_START_RESUME, &lie, 0), TCPX_EAUTH);
	lie = r;
	lie.session ^= 1;
	assert_code(say_resume(s.w, TCPX_START_RESUME, &lie, 0), TCPX_ESTALLED);
	lie = r;
	lie.epoch = session_of(s.w)->control.epoch;
	assert_code(say_resume(s.w, TCPX_START_RESUME, &lie, 0), TCPX_EAUTH);
	assert_alive(&s);
	assert_int_equal(counters_of(s.w).ctrl_resumes, 0);
	scene_close(&s);
}

/* An acceptor may say that the stream is cut, with the token and the epoch. */
static void
a_stranger_cuts_no_stream_by_asking(void **state)
{
	struct tcpx_resume r;
	struct scene s;

	(void)state;
	scene_open(&s, NULL);
	r = honest(&s);
	r.incarnation = s.w->incarnation;
	r.expect = s.v->incarnation;
	r.epoch = session_of(s.v)->control.epoch;
	r.token[7] ^= 4;
	assert_code(say_resume(s.v, TCPX_START_ASK, &r, 0), TCPX_EAUTH);
	if (identity_is_checked) {
		r.token[7] ^= 4;
		r.epoch++;
		assert_code(say_resume(s.v, TCPX_START_ASK, &r, 0), TCPX_EAUTH);
		assert_alive(&s);
		assert_int_equal(counters_of(s.v).ctrl_resumes, 0);
		r.epoch--;
		assert_code(say_resume(s.v, TCPX_START_ASK, &r, 0), TCPX_EAUTH);
	}
	wait_resumes(s.v, 1); /* the defence is the token, and the epoch */
	assert_alive(&s);
	scene_close(&s);
}

/* ---- many at the door ---- */

/* Silent connections from the same address take all places. Each of them closes the oldest. */
static void
a_session_resumes_while_all_places_are_taken(void **state)
{
	enum { SILENT = 64 };
	struct rlimit files, few;
	struct foe own, silent;
	int fd[SILENT];
	uint8_t payload[TCPX_FRAME_MAX], room[256];
	struct tcpx_resume r;
	struct tcpx_buf b;
	struct scene s;
	size_t len;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	few = (struct rlimit){ 128, files.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	scene_open(&s, shared);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	r = honest(&s);
	foe_dial(&own, "127.0.3.1", tcpx_port(s.w));
	foe_start(&own, true, TCPX_START_RESUME, r.session);
	for (int i = 0; i < SILENT; i++) {
		foe_dial(&silent, "127.0.3.1", tcpx_port(s.w));
		fd[i] = silent.fd;
	}
	for (int patience = WAIT_MS; counters_of(s.w).refused < SILENT / 2; patience--) {
		tcpx_note *n;

		assert_true(patience);
		assert_code(tcpx_note_wait(s.w, 1, &n), -EAGAIN);
	}
	assert_true(foe_prove(&own, shared, &session_of(s.w)->resume.key));
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_resume_write(&b, &r);
	foe_put(&own, TCPX_FR_RESUME, &b);
	assert_true(foe_get(&own, TCPX_FR_RESUMED, payload, &len));
	for (int i = 0; i < SILENT; i++)
		close(fd[i]);
	foe_close(&own);
	scene_close(&s);
}

/* ---- by others ---- */

static void
a_resume_that_comes_back_is_not_believed(void **state)
{
	struct scene s;

	/* either defence is enough */
	for (int on = 1; on >= (identity_is_checked ? 1 : 0); on--) {
		scene_open(&s, arm(on));
		assert_alive(&s); /* each side has sent two frames, so the numbers fit */
		s.r.mode = RELAY_MIRROR;
		relay_cut(&s.r);
		if (on) {
			relay_wait(&s.r, 3, s.v);
			assert_int_equal(counters_of(s.v).ctrl_resumes, 0);
			s.r.mode = RELAY_ON;
			wait_resumes(s.v, 1);
			assert_alive(&s);
		} else {
			wait_resumes(s.v, 1);
			assert_int_equal(counters_of(s.w).ctrl_resumes, 0);
		}
		scene_close(&s);
	}
}

/* Without a secret the session ends: it is not the peer that answers so. */
static void
a_wrong_answer_to_a_resume_ends_the_session(void **state)
{
	struct session *of;
	struct scene s;

	(void)state;
	if (!identity_is_checked)
		return;
	scene_open(&s, NULL);
	assert_alive(&s);
	of = session_of(s.v);
	tcpx_session_get(of);
	s.r.mode = RELAY_MIRROR;
	relay_cut(&s.r);
	while (atomic_load(&of->state) != SESS_FAILED)
		sched_yield();
	pthread_mutex_lock(&of->lock);
	assert_code(of->cause, TCPX_EAUTH);
	pthread_mutex_unlock(&of->lock);
	tcpx_session_put(of);
	assert_int_equal(counters_of(s.v).ctrl_resumes, 0);
	scene_close(&s);
}

/* Frames in clear in front of a connection that is to be resumed. */
static void
nothing_in_clear_ends_a_session(void **state)
{
	static const uint8_t types[] = { TCPX_FR_ACK, TCPX_FR_HELLO, TCPX_FR_RESUMED, TCPX_FR_BYE,
					 TCPX_FR_REFUSE, TCPX_FR_PING };
	uint8_t words[64] = { 0 };
	struct scene s;

	scene_open(&s, shared);
	s.r.words = words;
	for (size_t i = 0; i < sizeof(types); i++) {
		uint64_t before = counters_of(s.v).ctrl_resumes;

		tcpx_frame_head_write(words, types[i], types[i] >= TCPX_FR_HANDLES, 8);
		s.r.word_count = TCPX_FRAME_HEAD + 8;
		s.r.mode = RELAY_SPEAK;
		relay_cut(&s.r);
		relay_wait(&s.r, 2, s.v);
		s.r.mode = RELAY_ON;
		wait_resumes(s.v, before + 1);
		assert_alive(&s);
	}
	scene_close(&s);
}

/* On resuming, a third holder of the secret is asked whether the session is known. */
static void
only_the_engine_that_is_meant_says_that_a_session_has_ended(void **state)
{
	tcpx_engine *x = open_with("third", shared, NULL);
	struct scene s;

	scene_open(&s, shared);
	s.r.target_port = tcpx_port(x);
	relay_cut(&s.r);
	if (identity_is_checked) {
		relay_wait(&s.r, 5, s.v);
		s.r.target_port = tcpx_port(s.w);
		wait_resumes(s.v, 1);
		assert_alive(&s);
	} else {
		tcpx_note *n;

		for (int patience = WAIT_MS; session_of(s.v); patience--) {
			assert_true(patience);
			assert_code(tcpx_note_wait(s.v, 1, &n), -EAGAIN);
		}
		assert_code(tcpx_peer_wait(s.p, WAIT_MS), TCPX_EPEERGONE);
	}
	scene_close(&s);
	tcpx_close(x);
}

/* ---- channels ---- */

static bool
is_welcome(const struct tcpx_addr *at, const struct tcpx_chan_id *id)
{
	uint8_t preamble[TCPX_SOCK_PREAMBLE_BYTES], got[TCPX_SOCK_ANSWER_BYTES];
	char ip[INET_ADDRSTRLEN];
	struct foe f;
	ssize_t n;

	tcpx_sock_preamble_format(id, preamble);
	foe_dial(&f, inet_ntop(AF_INET, at->ip, ip, sizeof(ip)), at->port);
	foe_say(&f, preamble, sizeof(preamble));
	n = recv(f.fd, got, sizeof(got), MSG_WAITALL);
	foe_close(&f);
	return n == sizeof(got) && !memcmp(got, tcpx_sock_answer, sizeof(got));
}

static void
token_of(const struct foe *f, const struct tcpx_chan_id *id, uint8_t token[16])
{
	const uint8_t room[5] = { id->sending_side_is_opener, (uint8_t)(id->channel >> 8),
				  (uint8_t)id->channel, (uint8_t)(id->generation >> 8),
				  (uint8_t)id->generation };

	assert_int_equal(f->how->export(f->seal, "EXPERIMENTAL tcpx-p2p channel", room, 5, token, 16), 0);
}

/* A session of its own, up to HANDLES. */
static void
join(struct foe *f, tcpx_engine *w, uint64_t session, struct tcpx_handles *h)
{
	struct tcpx_hello hello = foe_introduction("foe");
	uint8_t payload[TCPX_FRAME_MAX];
	struct tcpx_buf b;
	size_t len;

	hello.session = session;
	hello.incarnation = session;
	foe_dial(f, "127.0.3.1", tcpx_port(w));
	foe_start(f, true, TCPX_START_NEW, 0);
	assert_true(foe_prove(f, shared, &shared->psk[0]));
	hello.dialled = (struct tcpx_addr){ .family = 4, .ip = { 127, 0, 3, 1 }, .port = tcpx_port(w) };
	foe_hello(f, &hello);
	assert_true(foe_get(f, TCPX_FR_HANDLES, payload, &len));
	tcpx_buf_init_const(&b, payload, len);
	assert_int_equal(tcpx_handles_read(&b, h), 0);
}

/* A channel takes its own token alone: of this session, direction and channel. */
static void
tokens_cannot_be_guessed_or_carried_over(void **state)
{
	tcpx_engine *w = open_with("worker7", shared, NULL);
	struct tcpx_handles h, h2;
	struct tcpx_chan_id id, other;
	struct tcpx_addr at;
	struct foe f, g;
	uint8_t bad[5][16] = { { 0 } };

	join(&f, w, 1001, &h);
	join(&g, w, 1002, &h2);
	assert_true(tcpx_sock_handle_parse(h.handle[0], &at, &id));
	other = id;
	other.channel ^= 1;
	token_of(&f, &other, bad[1]);
	other = id;
	other.sending_side_is_opener = !id.sending_side_is_opener;
	token_of(&f, &other, bad[2]);
	token_of(&g, &id, bad[3]);
	memcpy(bad[4], h.seed, 16);
	for (size_t i = 0; i < 5; i++) {
		memcpy(id.token, bad[i], 16);
		assert_false(is_welcome(&at, &id));
	}
	token_of(&f, &id, id.token);
	assert_true(is_welcome(&at, &id)); /* the defence is the token */
	foe_close(&f);
	foe_close(&g);
	tcpx_close(w);
}

/* Without a secret everybody on the path reads preambles: the token of RESUME is not in them. */
static void
a_preamble_does_not_tell_the_token_of_the_session(void **state)
{
	struct tcpx_hello hello = foe_introduction("foe");
	tcpx_engine *w = open_with("worker7", NULL, NULL);
	uint8_t payload[TCPX_FRAME_MAX];
	struct tcpx_handles h;
	struct tcpx_chan_id id;
	struct tcpx_addr at;
	struct tcpx_buf b;
	struct foe f;
	size_t len;

	foe_dial(&f, "127.0.3.1", tcpx_port(w));
	foe_start(&f, false, TCPX_START_NEW, 0);
	foe_hello(&f, &hello);
	assert_true(foe_get(&f, TCPX_FR_HANDLES, payload, &len));
	tcpx_buf_init_const(&b, payload, len);
	assert_int_equal(tcpx_handles_read(&b, &h), 0);
	assert_true(tcpx_sock_handle_parse(h.handle[0], &at, &id));
	memcpy(id.token, h.token, 16);
	assert_false(is_welcome(&at, &id));
	/* only the first five bytes of the seed are altered */
	assert_memory_not_equal(h.token + 5, h.seed + 5, 11);
	foe_close(&f);
	tcpx_close(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_session_is_resumed_by_its_own_key_alone),
		cmocka_unit_test(without_a_secret_a_session_is_resumed_by_its_token_alone),
		cmocka_unit_test(a_token_serves_its_two_engines_and_the_next_connection),
		cmocka_unit_test(a_stranger_cuts_no_stream_by_asking),
		cmocka_unit_test(a_session_resumes_while_all_places_are_taken),
		cmocka_unit_test(a_resume_that_comes_back_is_not_believed),
		cmocka_unit_test(a_wrong_answer_to_a_resume_ends_the_session),
		cmocka_unit_test(nothing_in_clear_ends_a_session),
		cmocka_unit_test(only_the_engine_that_is_meant_says_that_a_session_has_ended),
		cmocka_unit_test(tokens_cannot_be_guessed_or_carried_over),
		cmocka_unit_test(a_preamble_does_not_tell_the_token_of_the_session),
	};

	return run_attacks(tests, sizeof(tests) / sizeof(tests[0]));
}
