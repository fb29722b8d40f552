/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens in a run of chaos, from a seed alone: faults one after the other, and transfers.
 * Numbers in, numbers out; no time, no system call.
 */
#ifndef CHAOS_PLAN_H
#define CHAOS_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"

enum {
	CHAOS_HOSTS_MAX = 8,
	CHAOS_NICS_MAX = 4,
	CHAOS_BYTES = 256 * 1024, /* the longest transfer                               */
	CHAOS_EDGE = 64,          /* bytes beside a transfer that must stay as they are */
};

enum chaos_fault {
	CHAOS_LINK,     /* a NIC goes down and up           */
	CHAOS_ADDRESS,  /* its address vanishes             */
	CHAOS_RATE,     /* its rate changes                 */
	CHAOS_ALL_NICS, /* all NICs of a host go down       */
	CHAOS_RESET,    /* all connections of a process     */
	CHAOS_FREEZE,   /* the process is stopped           */
	CHAOS_KILL,     /* it is killed, and started again  */
	CHAOS_RESTART,  /* it closes, and is started again  */
	CHAOS_FAULTS
};

/* The name of a fault, for people and for JSON. */
extern const char *const chaos_fault_names[CHAOS_FAULTS];

struct chaos_event {
	uint64_t at_ns, for_ns; /* since the start of the run; 0 for_ns: a moment */
	enum chaos_fault fault;
	unsigned host, nic;
	uint64_t rate_bps;      /* CHAOS_RATE */
};

struct chaos_plan {
	struct tcpx_rng rng;
	unsigned hosts, nics;
	uint64_t stall_ns, rate_bps;
	uint64_t now_ns;                     /* of the last event                        */
	uint64_t free_ns[CHAOS_HOSTS_MAX];   /* a host has one fault at a time           */
	unsigned given;
};

void chaos_plan_init(struct chaos_plan *p, uint64_t seed, unsigned hosts, unsigned nics,
		     uint64_t stall_ns, uint64_t rate_bps);
/* The next fault; events come in the order of their time. */
void chaos_plan_next(struct chaos_plan *p, struct chaos_event *e);

enum chaos_kind {
	CHAOS_WRITE,
	CHAOS_READ,
	CHAOS_SEND,
	CHAOS_RECV,
	CHAOS_NOTE,
	CHAOS_SESSION, /* with a peer: it opens, lives and ends */
	CHAOS_KINDS
};
extern const char *const chaos_kind_names[CHAOS_KINDS];

struct chaos_work {
	enum chaos_kind kind;   /* CHAOS_WRITE, _READ, _SEND or _NOTE       */
	unsigned to;            /* another host                             */
	uint32_t offset, len;   /* offset >= CHAOS_EDGE                     */
	uint32_t cut;           /* bytes of the local list's first piece    */
	uint32_t note_len;      /* 0: none; of a note itself: its length    */
	uint32_t cancel_us;     /* 0: not cancelled                         */
};
void chaos_work_next(struct tcpx_rng *rng, unsigned hosts, unsigned me, struct chaos_work *w);

/* Bytes that belong to transfer @id, from its byte 0 on. */
void chaos_fill(uint8_t *at, size_t len, uint64_t id);
/* How many of @len bytes are not those of @id from its byte @first on. */
size_t chaos_wrong_from(const uint8_t *at, size_t len, uint64_t id, size_t first);

#endif
