/* SPDX-License-Identifier: Apache-2.0 */
/* A connection that has not introduced itself yet, and which of too many goes. Lease of loop 0. */
#ifndef CORE_SESSION_PENDING_H
#define CORE_SESSION_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/session/line.h"
#include "core/session/rival.h"
#include "proto/ctrl.h"

#define START_MAX 128 /* bytes of START, with those of later versions */

struct pending_conn {
	struct source source;
	struct deferred deferred;
	struct tcpx_node node;
	struct loop *loop;
	struct line line;
	struct tcpx_ctrl *ctrl;
	struct tcpx_addr from, at;
	uint64_t deadline_ns, since_ns;
	bool known;              /* resumes a session of ours */
	uint8_t first[START_MAX];
	size_t first_len;
	bool started;            /* start is known                              */
	struct tcpx_start start;
	struct tcpx_hello *hello; /* owned; waits for its turn, a rival's answer or a twin; else NULL */
	bool let_in;             /* it has had its turn                         */
	bool answered;           /* our HELLO has been put                      */
	uint64_t turn_until_ns;  /* it waits no longer for that                 */
	uint32_t wait_ms;        /* a refusal says: again after so long; 0: nothing of that */
	struct rival rival;
	uint64_t twin_until_ns;  /* it waits for what becomes of a session of ours; 0: not yet */
};

/* Which of too many makes room for the next; NULL: all have just come. */
struct pending_conn *tcpx_pending_victim(struct tcpx_engine *e, uint64_t now_ns);
/* The other one whose HELLO waits for an answer of the same session, or NULL. */
struct pending_conn *tcpx_pending_waiter(const struct pending_conn *g);
/* Has none from the same address waited longer for its turn? */
bool tcpx_pending_is_first(const struct pending_conn *g);
/* Its HELLO waits: has its opener given it up, as it may wait on another? One that stood still finds both
 * at once, in any order. An opener says nothing between its HELLO and ours. */
bool tcpx_pending_is_given_up(const struct pending_conn *g);
/* Closes and frees it. */
void tcpx_pending_close(struct pending_conn *g);
/* ... after an answer: @why is for the log here. The other side reads @words, unless a secret is wanted
 * and it has not proved that it knows it: then it gets the code alone. */
void tcpx_pending_refuse(struct pending_conn *g, int code, const char *why, const char *words);
/* ... with the same words for both. */
void tcpx_pending_turn_away(struct pending_conn *g, int code, const char *why);

#endif
