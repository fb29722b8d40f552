/* SPDX-License-Identifier: Apache-2.0 */
/* Messages over one comm: a sender that cuts them into requests, a receiver that puts them together
 * and looks at every byte. */
#ifndef STRANGER_STREAM_H
#define STRANGER_STREAM_H

#include "link.h"
#include "room.h"

#include <stdbool.h>

struct stream_plan {
	uint64_t seed;
	uint64_t messages; /* on each way */
	size_t max;	   /* bytes of a message */
	size_t piece;	   /* bytes of a request */
};

struct tally {
	uint64_t messages, requests, fragments, bytes;
};

/* The message that is being cut into requests. */
struct cut {
	uint8_t *data; /* NULL: none */
	size_t size, at;
	uint64_t seq, key;
};

struct flight {
	void *request;
	uint8_t *data;
	size_t size, posted;
	bool last; /* of its message */
};

struct stream {
	const struct link *link;
	const struct stream_plan *plan;
	unsigned way;
	void *mr;
	struct room room;
	struct cut cut;
	struct flight flight[SLOTS];
	uint64_t head, done, tail; /* consumed <= done <= posted */
	uint64_t turns, left;	   /* messages that have not come, or not gone, whole */
	/* a receiver's: */
	uint8_t *whole; /* where the oldest message began */
	uint64_t seq;
	struct tally tally;
};

/* A stream over LINK's sender, or its receiver. 0 or -1. */
int stream_open(struct stream *s, const struct link *link, const struct stream_plan *plan,
		unsigned way, bool sends);

/* Goes as far as can be without waiting: 1 something moved, 0 nothing, -1 failed. */
int stream_send(struct stream *s);
int stream_receive(struct stream *s);

/* Deregisters and frees. */
int stream_close(struct stream *s, bool sends);

#endif
