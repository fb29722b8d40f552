/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NCCL asks a net plugin to carry, between two processes and without a GPU: the messages that
 * its proxies post, in their order and with what waits for what. One thread, as NCCL's progress
 * thread; it yields between two looks.
 */
#ifndef BENCH_NCCL_PATTERN_H
#define BENCH_NCCL_PATTERN_H

#include "pair.h"

enum { CHANNELS_MAX = 32, STREAM_CHANNELS = 4 };

enum pattern_kind {
	PATTERN_END,
	PATTERN_EXCHANGE, /* a message each way at once: a small all-reduce of two           */
	PATTERN_PINGPONG, /* one there, and one back                                         */
	PATTERN_STREAM,   /* messages one way, eight in flight on each of four channels      */
	PATTERN_SEND,     /* one way, cut as NCCL cuts a send: NCCL_P2P_NET_CHUNKSIZE        */
	PATTERN_RING,     /* an all-reduce of two: a send may wait for a receive of another  */
};

/* @bytes: of a message; of SEND and RING in all. @count: of messages or operations. */
struct pattern {
	enum pattern_kind kind;
	size_t bytes;
	unsigned count;
	bool checks;            /* fills and compares each message                            */
};

/* Connections of one process, and memory for one pattern. */
struct board {
	struct rank *rank;
	unsigned channels, open;        /* as NCCL makes them; in all                        */
	void *send[CHANNELS_MAX], *recv[CHANNELS_MAX];
	uint64_t wrong;         /* messages                                                   */
	/* of one pattern */
	const struct pattern *pattern;
	unsigned comms, depth;          /* that the memory is for                            */
	void *mhandle;
	uint8_t *memory;
	size_t memory_bytes, slot_bytes;
};

/* @channels 0: as many as devices, two at least. */
void board_open(struct board *b, struct rank *r, unsigned channels);
/* Both processes the same. Memory is made and registered before, outside of @us and @cpu_us. */
void board_play(struct board *b, const struct pattern *p, double *us, double *cpu_us);
void board_close(struct board *b);

#endif
