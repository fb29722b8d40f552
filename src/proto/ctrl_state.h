/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a numbered control stream. Private to proto/ctrl: ctrl.c writes, ctrl_in.c reads. */
#ifndef PROTO_CTRL_STATE_H
#define PROTO_CTRL_STATE_H

#include "proto/byteq.h"
#include "proto/ctrl.h"
#include "proto/inbox.h"

#define NO_ACK UINT64_MAX
#define JOINED 4096u /* raw and numbered bytes that one call writes */

enum { LENT_NOTHING, LENT_LOG, LENT_RAW, LENT_BOTH = LENT_LOG | LENT_RAW };

struct tcpx_ctrl {
	bool sums;                 /* frames are summed, both ways               */
	/* out */
	struct tcpx_byteq log;    /* numbered frames from acked + 1 on          */
	struct tcpx_byteq queue;  /* bulk frames without a number yet           */
	struct tcpx_byteq raw;    /* unnumbered frames, dropped as written      */
	struct tcpx_byteq bulk;   /* u64 numbers of bulk frames not yet written */
	uint64_t next;             /* number of the next frame to enter the log  */
	uint64_t acked;            /* all up to here are received by the peer    */
	uint64_t sent;             /* log offset of the next byte to write       */
	uint64_t mark;             /* log offset <= sent: end of the written whole frames */
	uint64_t mark_number;      /* number of the last frame before mark       */
	uint64_t written;          /* highest mark_number ever                   */
	uint64_t bulk_put, bulk_written;
	uint64_t raw_ack;          /* raw offset of the newest ACK, NO_ACK none  */
	bool held;                 /* cut and not resumed                        */
	struct tcpx_loan loan;
	unsigned lent;
	uint64_t lent_at;          /* log offset                                 */
	size_t lent_raw;           /* bytes of raw, before those of the log      */
	/* in */
	uint64_t received;
	uint64_t ack_sent;         /* of received, the number in our last ACK    */
	uint64_t unacked_bytes;
	struct tcpx_inbox in;
	uint8_t joined[JOINED];
};

#endif
