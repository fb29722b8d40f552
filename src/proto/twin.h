/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two engines that dial each other at once have two sessions: twins. One of them opens, the other gives
 * way, and nobody says so: both sides come to the same by the rule here. The one of the smaller
 * incarnation decides, since READY is twice said on one session before it is open at both ends. It says
 * READY on one alone: on its own if that is as far, else on the one that its peer has opened, so one that
 * cannot connect does not stand in the way. The other side says it on both, and drops its own when the
 * twin opens.
 */
#ifndef PROTO_TWIN_H
#define PROTO_TWIN_H

#include <stdbool.h>

/* How far a session is here. */
enum tcpx_stage {
	TCPX_STAGE_NONE,   /* there is none, or its connection is cut           */
	TCPX_STAGE_SILENT, /* this side dials, and has said nothing yet         */
	TCPX_STAGE_TALKS,  /* in the handshake, before this side's READY        */
	TCPX_STAGE_READY,  /* the opener's READY has been said, the other's not */
	TCPX_STAGE_OPEN
};

/* @smaller: this side has the smaller incarnation. */

/* Does the HELLO of their session wait, as ours may do? @known: it names this side's incarnation, so the
 * peer knows the twin when that opens. */
bool tcpx_twin_keeps_hello(bool smaller, enum tcpx_stage ours, bool known);
/* May our session say READY, with theirs that far? */
bool tcpx_twin_may_ask(enum tcpx_stage theirs);
/* May their session be answered READY, with ours that far? */
bool tcpx_twin_may_answer(bool smaller, enum tcpx_stage ours);
/* Does our session give way to theirs? No peer can have opened it then. */
bool tcpx_twin_gives_way(bool smaller, enum tcpx_stage ours, enum tcpx_stage theirs);

/* A side that knows one peer by two names, as by a blob and by an address that the blob has not, dials it
 * twice, and learns from HELLO that it has a sister: a session of its own with the same incarnation. */
enum tcpx_sisters {
	TCPX_SISTERS_PART, /* each goes on                                      */
	TCPX_SISTERS_WAIT, /* this one hangs up until the sister opens or fails */
	TCPX_SISTERS_JOIN  /* this one gives way to the sister                  */
};

/* @sister: the stage of one that the peer has begun to serve, else NONE; @stands: so does its connection. */
enum tcpx_sisters tcpx_sisters_judge(enum tcpx_stage ours, enum tcpx_stage sister, bool stands);

#endif
