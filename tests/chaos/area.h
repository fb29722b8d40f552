/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the processes of a run of chaos share: one mapping, made before they are started. A
 * process may be killed at any point, so each part has one writer, and what it has finished is
 * published by one atomic store.
 */
#ifndef CHAOS_AREA_H
#define CHAOS_AREA_H

#include <stdatomic.h>

#include "chaos/judge.h"
#include "tcpx/tcpx.h"

enum {
	CHAOS_DEPTH = 12,     /* transfers of a process at once                     */
	CHAOS_JOBS = CHAOS_DEPTH + CHAOS_HOSTS_MAX, /* and a receive from each peer */
	CHAOS_PLACES = 8,     /* for WRITEs of a pair; each life has half of them   */
	CHAOS_OUTCOMES = 1024,
	CHAOS_GAPS = 64,
};

/* How others reach a life of a process, and its memory. */
struct chaos_card {
	uint8_t blob[TCPX_METADATA_MAX], target[TCPX_BLOB_MAX], source[TCPX_BLOB_MAX];
	size_t blob_len, target_len, source_len;
};

struct chaos_pending {
	_Atomic uint64_t since_ns;  /* 0: none                                        */
	_Atomic uint64_t doomed_ns; /* when its peer was seen to have failed; 0: it lives */
	_Atomic uint32_t peer, kind;
};

struct chaos_gap {
	uint64_t from, to;
};

struct chaos_host {
	/* of the parent */
	_Atomic uint32_t life;           /* 1: the first */
	_Atomic bool leave;              /* close and exit */
	/* of the process */
	struct chaos_card card[2];       /* of life % 2 */
	_Atomic uint32_t ready;          /* the life whose card is there */
	_Atomic uint64_t beat_ns;        /* its loop ran */
	_Atomic uint64_t down_ns[CHAOS_HOSTS_MAX]; /* no session since; 0: there is one */
	struct chaos_pending pending[CHAOS_JOBS];
	_Atomic bool calm;               /* of its transfers only receives are left */
	_Atomic uint64_t done[CHAOS_KINDS], cancelled, bytes, wrong_notes, calls_late;
	_Atomic uint64_t outcomes, gaps; /* so many, the last of them in: */
	struct chaos_outcome outcome[CHAOS_OUTCOMES];
	struct chaos_gap gap[CHAOS_GAPS];
	char why[160];                   /* of a process that ended itself with code 1 */
};

enum chaos_phase { CHAOS_RUNS, CHAOS_LAST, CHAOS_ENDS };

struct chaos_area {
	unsigned hosts, nics;
	uint64_t seed;
	uint64_t stall_ms;
	_Atomic int phase; /* enum chaos_phase: of the parent */
	struct chaos_host host[CHAOS_HOSTS_MAX];
	uint8_t places[];  /* owner, writer, place: CHAOS_BYTES each */
};

static inline size_t
chaos_places_bytes(const struct chaos_area *a)
{
	return (size_t)a->hosts * CHAOS_PLACES * CHAOS_BYTES; /* of one owner */
}

/* Of @owner's memory: place @place of @writer. */
static inline size_t
chaos_place_offset(unsigned writer, unsigned place)
{
	return ((size_t)writer * CHAOS_PLACES + place) * CHAOS_BYTES;
}

#endif
