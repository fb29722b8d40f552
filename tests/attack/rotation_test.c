/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets are exchanged while engines run: OLD, then OLD,NEW and NEW,OLD side by side, then NEW.
 * Nobody is refused who has a secret in common. And TLS changes its keys under the frames.
 */
#include "foe.h"

#include <stdlib.h>
#include <string.h>

#include "seal/tls_lib.h"

#define LEN   200000
#define NOTES 300
#define JOINS 12

static struct tcpx_secret *old, *new, *old_new, *new_old;

/* The keys of two secrets: openers use the first, acceptors take both. */
static struct tcpx_secret *
both(const char *first, const struct tcpx_secret *second)
{
	struct tcpx_secret *s = secret_of(first, 4); /* records under one key */

	if (s)
		s->psk[s->count++] = second->psk[0];
	return s;
}

/* Writes and notes on one session, until the others have joined. */
struct load {
	tcpx_engine *from, *to;
	tcpx_peer *p;
	struct mem near, far;
	pthread_t thread;
	int rounds;
	_Atomic bool enough;
};

static void *
run_load(void *arg)
{
	struct load *l = arg;
	struct tcpx_desc near = { l->near.id, 0, LEN }, far = { l->far.far, 0, LEN };
	tcpx_xfer *x;

	while (!l->enough || l->rounds < NOTES) {
		if ((l->rounds < NOTES && tcpx_notify(l->p, "note", 4) != 0) ||
		    tcpx_write(l->p, &near, 1, &far, 1, NULL, 0, &x) != 0 || finish(x) != 0)
			return l;
		l->rounds++;
	}
	return NULL;
}

static void
load_start(struct load *l, tcpx_engine *from, tcpx_engine *to)
{
	memset(l, 0, sizeof(*l));
	l->from = from;
	l->to = to;
	l->p = rig_add(from, to);
	assert_ok(tcpx_peer_wait(l->p, WAIT_MS));
	mem_open(&l->near, from, LEN, TCPX_MEM_LOCAL);
	mem_open(&l->far, to, LEN, TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE);
	l->far.far = mem_tell(&l->far, to, from);
	fill(l->near.at, LEN, 5);
	assert_int_equal(pthread_create(&l->thread, NULL, run_load, l), 0);
}

static void
load_end(struct load *l)
{
	void *failed;

	l->enough = true;
	pthread_join(l->thread, &failed);
	assert_null(failed);
	assert_filled(l->far.at, LEN, 5);
	for (int i = 0; i < NOTES; i++)
		assert_note(l->to, "from", "note");
	assert_no_note(l->to);
	assert_int_equal(counters_of(l->from).ctrl_resumes, 0); /* on one connection */
	tcpx_peer_free(l->p);
}

static void
join_and_leave(tcpx_engine *to, const struct tcpx_secret *secret, int code)
{
	tcpx_engine *e = open_with("joins", secret, "TCPX_PORT=0");
	tcpx_peer *p = rig_add(e, to);

	assert_code(tcpx_peer_wait(p, WAIT_MS), code);
	tcpx_peer_free(p);
	tcpx_close(e);
}

TEST(nobody_is_refused_while_secrets_change)
{
	tcpx_engine *from = open_with("from", old_new, NULL), *to = open_with("to", new_old, NULL);
	struct load l;

	load_start(&l, from, to);
	for (int i = 0; i < JOINS; i++) {
		const struct tcpx_secret *theirs[] = { old, new, old_new, new_old };

		join_and_leave(i % 2 ? from : to, theirs[i / 2 % 4], 0);
	}
	assert_int_equal(counters_of(from).refused + counters_of(to).refused, 0);
	load_end(&l);
	tcpx_close(from);
	tcpx_close(to);
	mem_close(&l.near);
	mem_close(&l.far);
}

/* Who has the old secret alone is refused where it has been given up. */
TEST(an_old_secret_ends_with_the_last_that_takes_it)
{
	tcpx_engine *to = open_with("to", new, NULL);

	join_and_leave(to, old, TCPX_EAUTH);
	join_and_leave(to, old_new, TCPX_EAUTH); /* an opener shows its first */
	join_and_leave(to, new_old, 0);
	tcpx_close(to);
}

int
main(void)
{
	int rc;

	old = secret_of("the old secret of all engines", 4);
	if (!old) {
		print_message("1..0 # SKIP no OpenSSL here\n");
		return 0;
	}
	new = secret_of("the new secret of all engines", 4);
	old_new = both("the old secret of all engines", new);
	new_old = both("the new secret of all engines", old);
	rc = run_cases(NULL, NULL);
	tcpx_secret_close(old);
	tcpx_secret_close(new);
	tcpx_secret_close(old_new);
	tcpx_secret_close(new_old);
	return rc;
}
