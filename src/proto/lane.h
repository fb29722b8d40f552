/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lane: an ordered one-way pipe of messages whose receives are announced beforehand. The rules
 * of both ends, without memory or sockets: numbers, limits, and what has arrived. A small message may
 * go before its receive is known, too: in one frame, or by a channel in one chunk. A message is named
 * by a word that takes the place of a transfer's id:
 *
 *	bit 63: the session's acceptor opened the lane   bit 62: set
 *	20 bits: the lane's number, from 1               42 bits: the message's, from 1
 *
 * Its chunks are named by their offset in units of 4 KiB; the top bit marks the last one, and the next
 * the only one of a message that was sent on credit (proto/eager.h).
 */
#ifndef PROTO_LANE_H
#define PROTO_LANE_H

#include <stdbool.h>
#include <stdint.h>

#define TCPX_LANE_BIT   (1ull << 62)
#define TCPX_LANES_MAX  ((1u << 20) - 1)    /* in the life of a session, each way       */
#define TCPX_LANE_SEQ   ((1ull << 42) - 1)  /* the greatest number of a message         */
#define TCPX_LANE_SLOTS 64u   /* messages from the oldest unfinished to the newest      */
#define TCPX_LANE_FEW   2u    /* sends open beyond which a lane streams                 */
#define TCPX_LANE_UNIT  4096u
/* Handing a message of up to this size to another thread, and back at the peer, takes longer than its copies:
 * half a round trip of 64 KiB 55 us in place of 95. */
#define TCPX_LANE_LARGE (64u << 10)
#define TCPX_LANE_LAST  (1u << 31)
#define TCPX_LANE_EARLY (1u << 30)
#define TCPX_LANE_LEN_MAX ((uint64_t)TCPX_LANE_UNIT << 30)
#define TCPX_LANE_UNKNOWN UINT64_MAX

static inline bool
tcpx_lane_is(uint64_t word)
{
	return word & TCPX_LANE_BIT;
}

/* The lane's own word, without a message. */
static inline uint64_t
tcpx_lane_word(bool acceptor, uint32_t number)
{
	return (uint64_t)acceptor << 63 | TCPX_LANE_BIT | (uint64_t)number << 42;
}

static inline uint32_t
tcpx_lane_number(uint64_t word)
{
	return (uint32_t)(word >> 42) & TCPX_LANES_MAX;
}

static inline uint64_t
tcpx_lane_seq(uint64_t word)
{
	return word & TCPX_LANE_SEQ;
}

/* The messages of one end. Posts get numbers in order, and may finish in any. */
struct tcpx_lane_ring {
	uint64_t posted;   /* the newest                                                */
	uint64_t done;     /* all up to here are finished                               */
	uint64_t finished; /* bit seq % 64: finished before an older one                */
};
/* 0 and *seq; TCPX_ELIMIT: TCPX_LANE_SLOTS are posted, or the numbers are used up. */
int tcpx_lane_ring_post(struct tcpx_lane_ring *r, uint64_t *seq);
void tcpx_lane_ring_finish(struct tcpx_lane_ring *r, uint64_t seq);
/* How many are posted and not finished? */
uint32_t tcpx_lane_ring_open(const struct tcpx_lane_ring *r);
/* Is it posted and not finished? */
bool tcpx_lane_ring_has(const struct tcpx_lane_ring *r, uint64_t seq);

/* The sender's end. */
struct tcpx_lane_tx {
	struct tcpx_lane_ring ring;
	uint64_t announced; /* receives up to here are known                            */
	uint64_t launched;  /* messages up to here have gone, perhaps beyond @announced  */
	bool streams;       /* more than TCPX_LANE_FEW were open since none was         */
	uint64_t room[TCPX_LANE_SLOTS]; /* lengths of the receives (launched, announced]  */
};
/* Posts a message. As tcpx_lane_ring_post(). */
int tcpx_lane_send(struct tcpx_lane_tx *t, uint64_t *seq);
/* The peer's receives from @first on. TCPX_EPROTO: out of turn, or too many. */
int tcpx_lane_announced(struct tcpx_lane_tx *t, uint64_t first, const uint64_t *len,
			uint32_t count);
/* Is there a next message? *seq: its number, *room: the length of its receive, or TCPX_LANE_UNKNOWN. */
bool tcpx_lane_next(const struct tcpx_lane_tx *t, uint64_t *seq, uint64_t *room);
/* Can the receiver keep it, if its receive is not known? */
bool tcpx_lane_near(const struct tcpx_lane_tx *t, uint64_t seq);
/* The next message has gone. */
void tcpx_lane_launched(struct tcpx_lane_tx *t);
/* Sets *there to the ring of a receiver that has finished @done messages, and those of @finished behind
 * them. TCPX_EPROTO: not all of them have gone. */
int tcpx_lane_finished(const struct tcpx_lane_tx *t, uint64_t done, uint64_t finished,
		       struct tcpx_lane_ring *there);

/* One receive: whole applied chunks are counted, never bytes as they come. */
struct tcpx_lane_slot {
	uint64_t len;   /* posted                                                       */
	uint64_t total; /* of the message; TCPX_LANE_UNKNOWN: its last chunk has not come */
	uint64_t got;
};

/* The receiver's end. */
struct tcpx_lane_rx {
	struct tcpx_lane_ring ring;
	uint64_t announced; /* receives up to here                                      */
	uint64_t kept;  /* bit seq % 64: it has come, or is coming, before its receive  */
	uint32_t small; /* so many in a row came in a frame                             */
	uint32_t large; /* so many in a row were longer than TCPX_LANE_LARGE, by channels */
	struct tcpx_lane_slot slot[TCPX_LANE_SLOTS];
};
/* Posts a receive. -EINVAL: longer than a message can be. */
int tcpx_lane_receive(struct tcpx_lane_rx *r, uint64_t len, uint64_t *seq);
/* Are the receives not yet announced worth a frame? Few wait while the sender has enough, and those of
 * small messages can wait: their sender does not. */
enum tcpx_lane_when { TCPX_LANE_NOT, TCPX_LANE_SOON, TCPX_LANE_NOW };
enum tcpx_lane_when tcpx_lane_due(const struct tcpx_lane_rx *r);
/* Has it had large messages lately, and no others? */
bool tcpx_lane_is_large(const struct tcpx_lane_rx *r);
/* Takes all that are not announced: their number, from *first on, and lengths. */
uint32_t tcpx_lane_tell(struct tcpx_lane_rx *r, uint64_t *first, uint64_t len[TCPX_LANE_SLOTS]);
/* Does a chunk of @len bytes fit its receive, which is announced if it was not sent on credit? 0;
 * TCPX_EFRAME; TCPX_ELENGTH: the message is longer than the receive. */
int tcpx_lane_fits(const struct tcpx_lane_rx *r, uint64_t seq, uint32_t chunk, uint32_t len);
/* A message has come in one frame; @known: its sender knew of its receive. Without a receive it is kept.
 * TCPX_EPROTO: it has come, a part of it has, or it is too far ahead. */
int tcpx_lane_early(struct tcpx_lane_rx *r, uint64_t seq, bool known);
/* The same of one that begins to come by a channel on credit. */
int tcpx_lane_begins(struct tcpx_lane_rx *r, uint64_t seq);
/* Is it kept? */
bool tcpx_lane_keeps(const struct tcpx_lane_rx *r, uint64_t seq);
/* It is kept no longer: its receive has taken it, or it is to come again. */
void tcpx_lane_forget(struct tcpx_lane_rx *r, uint64_t seq);
/* It is in place. 1: the message is whole; 0; TCPX_EFRAME. */
int tcpx_lane_applied(struct tcpx_lane_rx *r, uint64_t seq, uint32_t chunk, uint32_t len);

/* The chunk that begins at @offset, as the header names it. */
static inline uint32_t
tcpx_lane_chunk(uint64_t offset, bool last)
{
	return (uint32_t)(offset / TCPX_LANE_UNIT) | (last ? TCPX_LANE_LAST : 0);
}

static inline uint64_t
tcpx_lane_offset(uint32_t chunk)
{
	return (uint64_t)(chunk & ~(TCPX_LANE_LAST | TCPX_LANE_EARLY)) * TCPX_LANE_UNIT;
}

#endif
