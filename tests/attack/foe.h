/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attackers: one speaks the protocol by hand over a connection of its own, one stands between two
 * engines. And the engines that they attack, with a secret proved by TLS, or by a body that proves
 * and seals nothing: that is the defence switched off.
 */
#ifndef ATTACK_FOE_H
#define ATTACK_FOE_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>

#include "core/context/context.h"
#include "proto/frame.h"
#include "seal/secret.h"
#include "unit/core/rig.h"

/* False in the program whose identity.c accepts everything. */
extern const bool identity_is_checked;

#define WHOLE_START 34 /* bytes of a START frame */

/* A secret of that text; its engines' TLS changes keys each so many records, 0: as always. */
struct tcpx_secret *secret_of(const char *text, uint64_t records_max);
/* Everybody knows it, nothing is sealed. */
extern const struct tcpx_secret no_secret;

/* At 127.0.1.1, but with control at 127.0.3.1 alone: no HELLO names that address. */
tcpx_engine *open_with(const char *name, const struct tcpx_secret *secret, const char *setting);
/* The engine's only session, or NULL. */
struct session *session_of(tcpx_engine *e);
/* Waits until @e has seen so many resumes of its control streams. */
void wait_resumes(tcpx_engine *e, uint64_t count);

/* ---- by hand ---- */

struct foe {
	int fd;
	const struct tcpx_seal_ops *how;
	struct tcpx_seal *seal;
	uint8_t in[4 * TCPX_FRAME_MAX];
	size_t have;
};

void foe_dial(struct foe *f, const char *ip, uint16_t port);
void foe_start(struct foe *f, bool sealed, enum tcpx_start_kind kind, uint64_t session);
/* Shows that it knows the key. False: refused. */
bool foe_prove(struct foe *f, const struct tcpx_secret *with, const struct tcpx_seal_psk *psk);
void foe_say(struct foe *f, const void *data, size_t len);
void foe_put(struct foe *f, uint8_t type, const struct tcpx_buf *b);
void foe_hello(struct foe *f, const struct tcpx_hello *h);
/* The next frame of this type, others are passed over. False: the connection has ended. */
bool foe_get(struct foe *f, uint8_t type, uint8_t *payload, size_t *len);
bool foe_get_one_of(struct foe *f, const uint8_t *types, size_t count, uint8_t *type, uint8_t *payload,
		    size_t *len);
void foe_close(struct foe *f);
struct tcpx_hello foe_introduction(const char *name);

/* ---- in between ---- */

enum relay_mode {
	RELAY_ON,     /* passes bytes to its target                           */
	RELAY_MIRROR, /* gives them back, RESUME as RESUMED                   */
	RELAY_SPEAK   /* says its own, and hangs up when it is spoken to      */
};

enum spoil { LEAVE, FLIP, CUT_SHORT, SAY_TWICE, SPOILS };

struct relay {
	int listener, near, far;
	uint16_t port;
	_Atomic int target_port, mode, seen; /* seen: connections                   */
	_Atomic int flip_way, flip_at;       /* offset in that way; -1 none         */
	_Atomic int flip_bits;
	_Atomic int spoil;                   /* enum spoil: the next note of way 0  */
	_Atomic bool cut, stop;
	int passed[2];                       /* bytes of this connection            */
	uint8_t heard[8192];                 /* way 0 of the first connection       */
	_Atomic int heard_len;
	const uint8_t *words;
	size_t word_count;
	pthread_t thread;
};

/* At 127.0.4.1; the target is at 127.0.3.1. */
void relay_open(struct relay *r, tcpx_engine *target);
void relay_close(struct relay *r);
/* Cuts what it carries, and waits until it has seen so many connections more. */
void relay_cut(struct relay *r);
void relay_wait(struct relay *r, int more, tcpx_engine *e);

#endif
