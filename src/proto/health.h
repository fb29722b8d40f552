/* SPDX-License-Identifier: Apache-2.0 */
/* When a silence is one, and when a peer has gone: judged without a clock of its own. */
#ifndef PROTO_HEALTH_H
#define PROTO_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A living engine listens all its life. So it has gone when each of its addresses refuses twice,
 * in two rounds apart. A firewall that restarts refuses for a while, too: after a connection that
 * was reset the rounds are further apart than after one that the peer's kernel closed. While a
 * link of ours is down a refusal may be anybody's: another route leads to another host.
 */
struct tcpx_refusals {
	uint32_t row;      /* refusals in a row that count; 0: none                   */
	uint64_t round_ns; /* when the first round was complete                       */
};

/* A process that ends closes all its connections at once. Those with bytes that it had not read
 * are reset all the same, but hardly ever all of them. Was a channel closed (0: never) when the
 * control stream was cut? */
bool tcpx_ended_together(uint64_t closed_ns, uint64_t cut_ns);
/* The least time between the rounds. @closed: one of the connections was. */
uint64_t tcpx_rounds_apart(bool closed, uint64_t stall_ns);
/* The next of @addresses, tried in turn, has refused. @ours_down: a link of ours is down. True: the
 * peer has gone. */
bool tcpx_refused_again(struct tcpx_refusals *r, uint32_t addresses, uint64_t apart_ns,
			bool ours_down, uint64_t now_ns);

/*
 * A peer that says nothing is asked by PING. While its kernel acknowledges that, the connection is
 * good and its process stands still, which is judged by a deadline of its own. Else the connection
 * is cut, in time for another to carry on: within an eighth of the stall deadline, or a quarter
 * where the kernel's part is not known.
 */
struct tcpx_patience {
	uint64_t idle_ns;    /* a silence before the peer of an idle session is asked */
	uint64_t look_ns;    /* ... of one in use, and between looks                  */
	uint64_t process_ns; /* UINT64_MAX: its process may stand still for ever      */
};

struct tcpx_silence {
	uint64_t heard_ns;  /* the last word                                          */
	uint64_t asked_ns;  /* the first PING since                                   */
	uint64_t pinged_ns; /* the last PING                                          */
	bool in_use;
};

enum tcpx_silence_verdict {
	TCPX_SILENCE_NONE,
	TCPX_SILENCE_ASK,     /* send PING                                            */
	TCPX_SILENCE_STOPPED, /* the process stands still: send PING again            */
	TCPX_SILENCE_CUT,     /* the connection                                       */
	TCPX_SILENCE_OVER     /* the process has stood still for too long             */
};

struct tcpx_patience tcpx_patience_of(uint64_t stall_ns, uint64_t keepalive_ns,
				      uint64_t process_ns);
/* Has PING waited for its answer so long that the peer's kernel matters? */
bool tcpx_silence_is_long(const struct tcpx_patience *p, const struct tcpx_silence *s,
			  uint64_t now_ns);
/* @kernel: 1: it has acknowledged all; 0: not; less: unknown. Looked at if the silence is long. */
enum tcpx_silence_verdict tcpx_silence_judge(const struct tcpx_patience *p,
					     const struct tcpx_silence *s, int kernel,
					     uint64_t now_ns);
/* When to judge again; or as soon as an idle session is used. */
uint64_t tcpx_silence_next(const struct tcpx_patience *p, const struct tcpx_silence *s,
			   uint64_t now_ns);

/*
 * A transfer that makes no progress. One of many on a slow wire may wait for its turn, so the
 * progress of others counts for chunks that no channel has taken. A chunk that a channel holds
 * waits for that channel alone.
 */
enum tcpx_stall {
	TCPX_STALL_NONE,
	TCPX_STALL_XFER,   /* it is stuck, and others move   */
	TCPX_STALL_SESSION /* nothing moves in its direction */
};

struct tcpx_stall_facts {
	uint64_t own_ns;  /* its own last progress, or its begin                      */
	uint64_t way_ns;  /* ... of any transfer in its direction                     */
	uint64_t held_ns; /* a channel that holds a chunk has brought nothing since; 0: none holds */
	bool owed;        /* all is in place: only the peer's word lacks              */
	uint64_t short_ns; /* it last waited for buffers that other sessions held; 0: never */
};

enum tcpx_stall tcpx_stall_judge(const struct tcpx_stall_facts *f, uint64_t limit_ns,
				 uint64_t now_ns);

#endif
