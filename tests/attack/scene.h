/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the attacks begin with. Each must fail, and each succeeds when its defence is off: with
 * no_secret in place of TLS, with weak_identity.c in place of the real one, or when the attacker is
 * given the key. So their programs are linked twice: see meson.build.
 */
#ifndef ATTACK_SCENE_H
#define ATTACK_SCENE_H

#include "foe.h"

/* Of all engines. */
extern struct tcpx_secret *shared;

/* The shared secret, or the defence off. */
const struct tcpx_secret *arm(int on);
/* Connects to the relay's port; @name "": by address alone. */
tcpx_peer *dial_by_name(tcpx_engine *from, const char *name, uint16_t port);

/* Two engines, and a man between. */
struct scene {
	tcpx_engine *v, *w;
	struct relay r;
	tcpx_peer *p;
};

void scene_open(struct scene *s, const struct tcpx_secret *secret);
void scene_close(struct scene *s);
/* The session is the one of the beginning, and carries what is said. */
void assert_alive(struct scene *s);

int run_attacks(const struct CMUnitTest *tests, size_t count);

#endif
