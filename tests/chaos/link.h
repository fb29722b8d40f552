/* SPDX-License-Identifier: Apache-2.0 */
/* A process of a run of chaos, and its sessions with the others. */
#ifndef CHAOS_LINK_H
#define CHAOS_LINK_H

#include "chaos/area.h"

struct job {
	tcpx_xfer *xfer;       /* NULL: free */
	struct chaos_work work;
	uint64_t id;           /* of its bytes */
	uint64_t posted_ns, cancel_ns;
	bool cancelled;
	unsigned place;        /* CHAOS_WRITE */
	uint32_t peer_life;
};

struct link {
	tcpx_peer *peer;       /* NULL: none */
	uint32_t life;         /* of the peer */
	uint64_t target, source; /* imported */
	bool failed;           /* it is freed as soon as its transfers have ended */
	uint64_t added_ns, again_ns;
	uint32_t number;       /* sessions with this host so far */
	uint64_t notes;        /* sent in this one */
	uint64_t place_free_ns[CHAOS_PLACES];
	/* of the other's notes: its life, its session and the last number */
	uint32_t from_life, from_number;
	uint64_t from_notes;
};

struct worker {
	struct chaos_area *area;
	struct chaos_host *own;
	unsigned me;
	uint32_t life;
	tcpx_engine *engine;
	struct tcpx_rng rng;
	uint64_t now, ids, post_ns;
	uint64_t target, source_region, local; /* regions */
	uint8_t *theirs, *mine, *source, *buffers;
	struct link link[CHAOS_HOSTS_MAX];
	struct job job[CHAOS_JOBS]; /* the last ones are receives */
};

/* To the parent, which judges it; nothing while this process or all of them end. */
void chaos_tell(struct worker *w, const struct chaos_outcome *o);
/* Opens the session with @b, or what is left of a failed one is given back. */
void chaos_link_keep(struct worker *w, unsigned b);

#endif
