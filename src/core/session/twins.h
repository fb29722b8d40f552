/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Twins: sessions between the same incarnations, one opened by each side; and sisters, both opened by this
 * side under two names of the peer. The rules which of them opens are in proto/twin.h. What was posted with
 * the other moves, as nothing of it has been said. No lock is needed unless noted; what decides runs with the
 * lease of loop 0, so no stage rises meanwhile.
 */
#ifndef CORE_SESSION_TWINS_H
#define CORE_SESSION_TWINS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/frame.h"

struct session;
struct tcpx_engine;

/* A session with that incarnation which fits, with a reference; NULL: none. */
struct session *tcpx_twins_find(struct tcpx_engine *e, uint64_t incarnation,
				bool (*fits)(const struct session *s));
/* Is there another that has not failed, @ours: one of ours? */
bool tcpx_twins_live(const struct session *s, bool ours);
/* Must the HELLO of a peer wait for what becomes of our own session? Lease. */
bool tcpx_twins_keep_hello(struct tcpx_engine *e, const struct tcpx_hello *h);
/* May READY be said on it? Lease, s->lock held. */
bool tcpx_twins_let_ready(const struct session *s);
/* Until when it does not dial, since the peer's is in the handshake, or a sister is there; 0: it dials. */
uint64_t tcpx_twins_rest(const struct session *s, uint64_t now_ns);
/* Moves what is posted with it to its twin or sister, if one is open, and ends it; hangs up, if a sister is
 * about to be. Lease, s->lock held. */
void tcpx_twins_give_way(struct session *s, uint64_t now_ns);
/* It has begun, opened, resumed or ended, or its peer is known now: its twins look again. Lease. */
void tcpx_twins_stir(struct session *s);

#endif
