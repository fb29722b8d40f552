/* SPDX-License-Identifier: Apache-2.0 */
/* See scene.h. */
#include "scene.h"

#include <stdio.h>

struct tcpx_secret *shared;

const struct tcpx_secret *
arm(int on)
{
	return on ? shared : &no_secret;
}

tcpx_peer *
dial_by_name(tcpx_engine *from, const char *name, uint16_t port)
{
	char at[128];
	tcpx_peer *p;

	snprintf(at, sizeof(at), "%s%s127.0.4.1:%u", name, name[0] ? "@" : "", port);
	assert_ok(tcpx_peer_connect(from, at, &p));
	return p;
}

void
scene_open(struct scene *s, const struct tcpx_secret *secret)
{
	s->v = open_with("victim", secret, NULL);
	s->w = open_with("worker7", secret, NULL);
	relay_open(&s->r, s->w);
	s->p = dial_by_name(s->v, "worker7", s->r.port);
	assert_ok(tcpx_peer_wait(s->p, WAIT_MS));
}

void
scene_close(struct scene *s)
{
	tcpx_peer_free(s->p);
	tcpx_close(s->v);
	tcpx_close(s->w);
	relay_close(&s->r);
}

void
assert_alive(struct scene *s)
{
	assert_ok(tcpx_notify(s->p, "still here", 10));
	assert_note(s->w, "victim", "still here");
}

static int
have_secret(void **state)
{
	shared = secret_of("a secret of many engines, and some bytes more", 0);
	return shared ? 0 : -1;
}

static int
drop_secret(void **state)
{
	tcpx_secret_close(shared);
	return 0;
}

int
run_attacks(const struct CMUnitTest *tests, size_t count)
{
	if (have_secret(NULL) != 0) {
		print_message("1..0 # SKIP no OpenSSL here\n");
		return 0;
	}
	drop_secret(NULL);
	return _cmocka_run_group_tests("attacks", tests, count, have_secret, drop_secret);
}
