/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed lists. Every cell but the last has TCPX_PACKED_CELL bytes, of which the last few
 * are unused; the last cell ends with the memory.
 */
#include "proto/packed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HEAD sizeof(uint16_t)

/* Writes the head of the current cell: the number of bytes of its operations. */
static void
set_head(struct tcpx_packed *o)
{
	uint16_t len = (uint16_t)(o->pos - o->cell - HEAD);

	memcpy(o->data + o->cell, &len, HEAD);
}

static void
begin_cell(struct tcpx_packed *o, size_t at)
{
	o->cell = at;
	o->pos = at + HEAD;
}

void
tcpx_packed_init(struct tcpx_packed *o, void *room, size_t bytes)
{
	*o = (struct tcpx_packed){ .data = room, .first = room, .cap = bytes };
	tcpx_runs_write_init(&o->writer);
	begin_cell(o, 0);
}

void
tcpx_packed_fini(struct tcpx_packed *o)
{
	if (o->data != o->first)
		free(o->data);
	o->data = o->first = NULL;
}

static int
grow(struct tcpx_packed *o)
{
	size_t cap = (2 * o->cap + TCPX_PACKED_CELL - 1) / TCPX_PACKED_CELL * TCPX_PACKED_CELL;
	uint8_t *data = realloc(o->data == o->first ? NULL : o->data, cap);

	if (!data)
		return -ENOMEM;
	if (o->data == o->first)
		memcpy(data, o->first, o->pos);
	o->data = data;
	o->cap = cap;
	return 0;
}

static size_t
cell_end(const struct tcpx_packed *o)
{
	size_t end = o->cell + TCPX_PACKED_CELL;

	return end < o->cap ? end : o->cap;
}

/* Makes room for an operation: in the next cell, or in more memory. */
static int
make_room(struct tcpx_packed *o)
{
	size_t next = o->cell + TCPX_PACKED_CELL;

	if (o->pos + TCPX_RUNS_ROOM <= next)
		return grow(o); /* the end of memory cuts the cell short */
	if (next + HEAD + TCPX_RUNS_ROOM > o->cap && grow(o) != 0)
		return -ENOMEM;
	set_head(o);
	begin_cell(o, next);
	return 0;
}

int
tcpx_packed_add(struct tcpx_packed *o, const struct tcpx_region_ref *regions,
		const struct tcpx_run_entry *e)
{
	for (;;) {
		uint8_t *at = o->data + o->pos;
		bool taken = tcpx_runs_write(&o->writer, regions, e, &at, o->data + cell_end(o));

		o->pos = (size_t)(at - o->data);
		if (taken)
			break;
		if (make_room(o) != 0)
			return -ENOMEM;
	}
	if (!e)
		set_head(o);
	return 0;
}

bool
tcpx_packed_copy(const struct tcpx_packed *o, size_t *at, struct tcpx_buf *b)
{
	uint16_t len;

	for (; *at <= o->cell; *at += TCPX_PACKED_CELL) {
		memcpy(&len, o->data + *at, HEAD);
		if (len > tcpx_buf_left(b))
			return false;
		tcpx_buf_put_bytes(b, o->data + *at + HEAD, len);
	}
	return true;
}
