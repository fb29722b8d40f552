/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hub of a rendezvous: it gathers the ranks, starts each step of all together, and
 * collects what they measured. A state machine over messages; mesh_hub_run() gives it
 * connections.
 *
 *	rank			hub
 *	hello rank size job host local mem blob   ->
 *	               <-       table ranks            when all are here
 *	at step               ->
 *	               <-       go step                when all are at it
 *	done step pairs       ->
 *	               <-       next step              when all have done it
 *	...            <-       all pairs              to rank 0, after the last step
 *	               <-       bye                    to the others
 *	               <-       fail text signal       when a rank is lost or sends "fail"; to
 *	                                               rank 0 with the pairs so far
 *
 * A rank that cannot take part sends "fail rank size job host text" instead of its hello.
 * Ranks that come after a failure get it, too.
 */
#ifndef MEASURE_MESH_HUB_H
#define MEASURE_MESH_HUB_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum hub_stage { HUB_MEET, HUB_AT, HUB_DONE, HUB_OVER };

/* Sends @msg (its reference is taken) to the connection. A failure to send shows later, as
 * the loss of the connection. */
typedef void (*hub_send_fn)(void *arg, unsigned conn, const char *type, json_t *msg);

struct hub {
	unsigned size, steps;
	char job[128];
	hub_send_fn send;
	void *arg;
	enum hub_stage stage;
	unsigned step, here;   /* here: ranks whose message of this stage has come */
	int *conn;             /* of each rank; -1 none                            */
	bool *said;
	json_t *ranks, *pairs; /* hellos by rank; all pairs                        */
	unsigned came;         /* ranks that were ever present                     */
	bool failed;
	int signal;            /* that a rank got, which ended the mesh; 0 none    */
	char why[320];
};

/* -ENOMEM. */
TCPX_MUST_CHECK int hub_init(struct hub *h, unsigned size, unsigned steps, const char *job,
			     hub_send_fn send, void *arg);
void hub_fini(struct hub *h);
/* A message of a connection. 0; TCPX_EPROTO: not a rank of this job, to be closed; or the
 * mesh has failed and all ranks have been informed (h->failed). */
TCPX_MUST_CHECK int hub_take(struct hub *h, unsigned conn, const json_t *msg);
/* The connection is gone. */
void hub_lost(struct hub *h, unsigned conn);
/* Ends the mesh: sends the reason to all ranks. */
void hub_fail(struct hub *h, const char *text);

/* Serves on @listener (which it closes) until the mesh has ended and all ranks know it; or
 * for want of ranks after @meet_ms, or of any message after @idle_ms. 0 or a code. */
TCPX_MUST_CHECK int mesh_hub_run(int listener, unsigned size, unsigned steps, const char *job,
				 uint64_t meet_ms, uint64_t idle_ms);

#endif
