/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scripted network of tests: engines of one thread joined by a fabric that delays,
 * shortens, breaks and holds what they send. There are no descriptors and no sleeping.
 * Things happen only in a call, at a time that only tcpx_fabric_advance() moves. The same
 * seed, script and calls give the same run.
 */
#ifndef FABRIC_LOOP_H
#define FABRIC_LOOP_H

#include "net/net.h"

struct tcpx_fabric;

/* Payload goes directly from and to user memory, chunks up to 1 MiB. */
extern const struct tcpx_net_ops tcpx_net_loop;
/* The same, and payload in the engine's own memory is read from there when it arrives. */
extern const struct tcpx_net_ops tcpx_net_loop_lend;
/* As providers over a plugin are: payload is sent from slots of the channel and lands in
 * slots, 16 a channel, cut at random into pages that are overwritten when released; headers
 * and acknowledgements come by the control stream; who receives listens. Chunks up to
 * 512 KiB. */
extern const struct tcpx_net_ops tcpx_net_loop_comm;

enum tcpx_fabric_kind { TCPX_FABRIC_CONTROL, TCPX_FABRIC_DATA, TCPX_FABRIC_KINDS };

enum tcpx_fabric_fault_kind {
	TCPX_FABRIC_CUT_CONTROL,
	TCPX_FABRIC_BREAK_CHANNEL,
	TCPX_FABRIC_NIC_DOWN,
	TCPX_FABRIC_NIC_UP,
	TCPX_FABRIC_HOLD_CONTROL,
	TCPX_FABRIC_HOLD_DATA
};

/* Something that happens once. */
struct tcpx_fabric_fault {
	enum tcpx_fabric_fault_kind kind;
	uint64_t at_ns;         /* when; ignored where at_bytes is not 0               */
	uint64_t at_bytes;      /* BREAK: when the channel has been given so many      */
	uint32_t index;         /* CUT, BREAK: the n-th open then; with at_bytes the
	                         * n-th ever made; from 0                              */
	struct tcpx_addr addr;  /* NIC_*                                               */
	uint64_t for_ns;        /* HOLD_*                                              */
};

/* Rates are in millionths; a delay is drawn for every segment. All 0: a network without
 * delay or limits that takes everything whole. */
struct tcpx_fabric_script {
	uint64_t delay_min_ns[TCPX_FABRIC_KINDS], delay_max_ns[TCPX_FABRIC_KINDS];
	uint32_t segment_max;   /* longest segment, bytes; 0: 64 KiB                   */
	uint32_t buffer_bytes;  /* each way of a connection holds; 0: 4 MiB, least 80   */
	uint32_t short_ppm;     /* sends and receives that take only a part            */
	uint32_t fragment_max;  /* comms: 1..4096; 0: 4096                             */
	uint64_t nic_Bps;       /* each NIC, each way; 0: no limit                     */
	uint32_t cut_ppm;       /* per control segment read: it is cut                 */
	uint32_t break_ppm;     /* per data segment read: the channel breaks           */
	uint32_t refuse_ppm;    /* per connection: refused                             */
	uint32_t hold_ppm;      /* per segment read: its kind is held                  */
	uint64_t hold_max_ns;
	const struct tcpx_fabric_fault *faults; /* copied */
	uint32_t fault_count;
};

/* NULL when memory is short; script NULL: all 0. */
struct tcpx_fabric *tcpx_fabric_new(uint64_t seed, const struct tcpx_fabric_script *script);
/* After every tcpx_net on it is closed. */
void tcpx_fabric_free(struct tcpx_fabric *f);

/* Its time, as a clock for the engines. Borrowed. */
const struct tcpx_clock *tcpx_fabric_clock(struct tcpx_fabric *f);
uint64_t tcpx_fabric_now(const struct tcpx_fabric *f);
/* Moves time to now_ns, never back, and lets the scripted faults up to then happen. */
void tcpx_fabric_advance(struct tcpx_fabric *f, uint64_t now_ns);
/* The next moment after now at which something becomes ready or a fault happens;
 * UINT64_MAX: never. */
uint64_t tcpx_fabric_next_ns(const struct tcpx_fabric *f);

/* Grows whenever a connection is made or bytes move: unchanged over a few turns of every
 * engine, nothing is left to do at this time. */
uint64_t tcpx_fabric_activity(const struct tcpx_fabric *f);

/* Connections of that kind that stand at both ends. */
uint32_t tcpx_fabric_count(const struct tcpx_fabric *f, enum tcpx_fabric_kind kind);
/* Breaks the n-th of them (from 0): one end sees it now, the other a delay later, and
 * what is on its way or unread is lost. -ENOENT. */
int tcpx_fabric_cut_control(struct tcpx_fabric *f, uint32_t n);
int tcpx_fabric_break_channel(struct tcpx_fabric *f, uint32_t n);
/* Breaks all of both kinds: reset, as by a firewall, or closed, as by the end of a process. */
void tcpx_fabric_break_all(struct tcpx_fabric *f, bool reset);
/* Nothing of that kind is delivered for so long. */
void tcpx_fabric_hold(struct tcpx_fabric *f, enum tcpx_fabric_kind kind, uint64_t for_ns);
/* A NIC that is down carries nothing; its connections stand and wait. New ones from or to
 * it are refused or wait, by chance. */
int tcpx_fabric_set_nic_up(struct tcpx_fabric *f, const struct tcpx_addr *nic, bool up);
/* From now on every new connection is refused, as where nobody listens; or no more. */
void tcpx_fabric_refuse_all(struct tcpx_fabric *f, bool all);
/* Stops all random faults: from now on the network only delays. */
void tcpx_fabric_calm(struct tcpx_fabric *f);

/* From now on a bit is wrong in so many millionths of what is read of payload, or of control
 * streams that have had 2 KiB: more than a handshake has. */
void tcpx_fabric_set_flips(struct tcpx_fabric *f, enum tcpx_fabric_kind kind, uint32_t ppm);
/* Such bits so far. */
uint64_t tcpx_fabric_flips(const struct tcpx_fabric *f);
/* Says that this range must never be lent or be a slot; at most 64 of them. */
int tcpx_fabric_forbid(struct tcpx_fabric *f, const void *addr, size_t len);
/* How often an engine broke a rule of net.h, and the first one in words ("" if none). */
uint32_t tcpx_fabric_violations(const struct tcpx_fabric *f);
const char *tcpx_fabric_violation(const struct tcpx_fabric *f);

#endif
