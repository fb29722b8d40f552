/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a channel's path counts as dead or as too slow, and when a lost channel is opened again.
 * Pure: times and bytes in, decisions out.
 */
#ifndef PROTO_PATH_H
#define PROTO_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A sending channel with messages in flight. */
struct tcpx_path {
	uint64_t since_ns;  /* its newest acknowledgement, or the first message in flight after it */
	uint64_t oldest_ns; /* its oldest message in flight was picked                           */
	uint64_t clear_ns;  /* newest look that found nothing under way: the peer's kernel had all  */
	uint64_t heard_ns;  /* its kernel last heard from the other end                          */
	bool known;         /* its rate is                                                       */
};

/* The rest of its session. */
struct tcpx_path_others {
	uint64_t moved_ns; /* newest acknowledgement of another channel                          */
	uint64_t alive_ns; /* the peer was last heard; 0 where no other channel is idle          */
	uint64_t bytes;    /* waiting and in flight, this channel's included                     */
	uint64_t Bps;      /* sum of the other channels' known rates                             */
};

#define TCPX_PATH_PARTS 6 /* no path is given up before a sixth of the stall deadline */

/*
 * tcpx_path_is_lost - is the channel to be given up, so that others carry what it holds?
 * @stall_ns: the stall deadline
 *
 * Bytes of it are under way to the other end's kernel, and either
 * - nothing came back for a sixth of @stall_ns, while for half of that time or longer another channel
 *   moved, or was idle beside a peer that answers. Where all are silent, none is to blame; or
 * - its oldest message takes that long, which is also twice as long as the other channels need for
 *   all that the session has. With an unknown rate it has twice that time.
 * What its rate promises does not count: one message that took long makes it low, as when the peer's
 * process had no CPU.
 */
bool tcpx_path_is_lost(const struct tcpx_path *p, const struct tcpx_path_others *o,
		       uint64_t stall_ns, uint64_t now_ns);

/* When a silence of it may count, as far as is known now. */
uint64_t tcpx_path_due_ns(const struct tcpx_path *p, uint64_t stall_ns);

/* The oldest packet of a connection that its other end's kernel has not acknowledged. */
struct tcpx_packet {
	uint32_t bytes;    /* with its headers                                               */
	uint32_t resent;   /* it was sent again so often, in vain                            */
	uint64_t stuck_ns; /* from the first time to the newest                              */
	uint64_t heard_ns; /* since the peer was last heard, in small packets                */
	bool carried;      /* as many bytes came through this connection before              */
	bool same;         /* the peer is heard between the same two NICs                    */
};

/*
 * tcpx_path_carries - the size of packets to try instead
 *
 * Some paths pass packets up to a size, and swallow what is larger without a word: an MTU in the
 * middle that is less than that of both ends. What is large is then sent again and again while
 * the peer is heard in small packets. A packet counts as too large after two repeats and
 * 600 ms, or a twelfth of @stall_ns where that is less: before its path counts as silent.
 * On a connection that has carried as much before, the peer must be heard between the same two NICs.
 *
 * Return: 0: it is not that; else 1500, 1280 or 576, the next below.
 */
uint16_t tcpx_path_carries(const struct tcpx_packet *p, uint64_t stall_ns);
#define TCPX_PACKET_ANY 1280 /* passes everywhere (RFC 8200); a shorter MTU of IPv4 is not met any more */

/* The opening of one lost channel again. All zero: lost for the first time, at once. */
struct tcpx_heal {
	uint64_t at_ns;  /* not before                                                       */
	uint32_t failed; /* attempts in a row that did not connect                           */
	uint32_t wasted; /* connections in a row that delivered nothing                      */
	bool proven;     /* this connection has delivered                                    */
};

#define TCPX_HEAL_ATTEMPT_NS 1000000000ull /* an attempt takes so long at most: the first repeat
					    * of a lost SYN comes then, and later ones slower */
#define TCPX_REST_ATTEMPT_NS 5000000000ull /* ... of a channel that rested: none is missed, and under load
					    * its peer may be slow to answer */

/* The connection is lost. One that delivered is opened again at once; one that did not, after
 * 1 s, 2 s, and so on to 32 s: a path may pass the handshake and no data (MTU). */
void tcpx_heal_lost(struct tcpx_heal *h, uint64_t now_ns);
/* An attempt failed: the next after 100 ms, 200 ms, and so on to 1 s. */
void tcpx_heal_failed(struct tcpx_heal *h, uint64_t now_ns);
/* Nothing moves in its direction: the next attempt is an eighth of the stall deadline away at most. */
void tcpx_heal_urgent(struct tcpx_heal *h, uint64_t stall_ns, uint64_t now_ns);
#define TCPX_LOOK_MAX_NS 1000000000ull
/* How long until the next look at an attempt, of which nothing is reported, that has run for so long:
 * an eighth of that, and 0.2 ms to 1 s. The longer ones are whole milliseconds: many then share a turn. */
uint64_t tcpx_heal_look_ns(uint64_t running_ns);

#endif
