/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for messages that come and go in order: a ring of bytes, each message in one piece. */
#ifndef STRANGER_ROOM_H
#define STRANGER_ROOM_H

#include <stddef.h>
#include <stdint.h>

enum { ROOM_LIVE = 32 };

struct room {
	uint8_t *base; /* whole pages */
	size_t size;
	struct {
		size_t start, end;
	} live[ROOM_LIVE];
	unsigned head, tail;
};

/* Memory for messages to MAX bytes. 0, or -1 where there is none. */
int room_make(struct room *room, size_t max);
void room_free(struct room *room);

/* NEED bytes behind those given last, 1 at least. NULL: not before an older message has gone. */
uint8_t *room_take(struct room *room, size_t need);

/* The oldest message has gone. */
void room_drop(struct room *room);

#endif
