/* SPDX-License-Identifier: Apache-2.0 */
/* Two engines of several NICs on a scripted network: without threads, and the test moves the clock. */
#ifndef UNIT_CORE_NIC_LAB_H
#define UNIT_CORE_NIC_LAB_H

#include "rig.h"

#include "base/clock.h"
#include "core/engine/engine.h"
#include "core/engine/step.h"
#include "fabric/loop.h"

#define NICS 4
#define MOVE_BYTES (6u << 20)

struct lab {
	struct tcpx_fabric *fabric;
	tcpx_engine *a, *b;
	tcpx_peer *p;
	struct tcpx_nic nic[2][NICS];
	char last[256];
	uint32_t warnings, stalled; /* of both engines; those that say ESTALLED */
};

/* A write under way, each byte its own. */
struct move {
	struct mem from, to;
	tcpx_xfer *x;
};

extern const char *const lab_settings[];

void lab_open_on(struct lab *t, const struct tcpx_net_ops *net, const char *const *settings,
		 const struct tcpx_fabric_script *script);
void lab_open_two(struct lab *t, const struct tcpx_net_ops *net, const char *const *of_a,
		  const char *const *of_b);
void lab_open(struct lab *t, const struct tcpx_net_ops *net, const char *const *settings);
void lab_close(struct lab *t);
/* The second engine ends, and another of its name takes its place. */
void lab_restart(struct lab *t, const struct tcpx_net_ops *net, const char *const *settings);
/* The first engine, which opened the session, does the same; break its connections before. */
void lab_restart_opener(struct lab *t, const struct tcpx_net_ops *net, const char *const *settings);
/* Turns both engines, and the clock when they rest, until done says so or the time is up. */
bool run_until(struct lab *t, bool (*done)(void *), void *arg, uint64_t limit_ns);
/* Turns @e alone: the other stands still, or is no more. The virtual time that it took. */
uint64_t run_alone(struct lab *t, tcpx_engine *e, bool (*done)(void *), void *arg, uint64_t limit_ns);
/* For run_until(): the transfer @arg has ended. */
bool over(void *arg);
bool never(void *arg); /* until the time is up */
struct tcpx_peer_info lab_info(struct lab *t);
/* Has the peer's session opened or failed? */
bool is_decided(void *lab);
/* Do all of four channels each way stand? */
bool is_whole(void *lab);
/* The newest session. */
struct session *session_of(tcpx_engine *e);
/* The first engine adds the second, as t->p; their session is open or has failed. */
void meet(struct lab *t);
/* Of MOVE_BYTES, from the first engine to the second. It has ended with success: what came is compared. */
void lab_move_begin(struct lab *t, struct move *m);
void lab_move_end(struct move *m);

#endif
