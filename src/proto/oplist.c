/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kept operations. All cells but the last have TCPX_OPLIST_CELL bytes, of which the last
 * few are unused; the last one ends where memory does.
 */
#include "proto/oplist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HEAD sizeof(uint16_t)

/* At the start of a cell: so many bytes of operations follow. */
static void
set_head(struct tcpx_oplist *o)
{
	uint16_t len = (uint16_t)(o->pos - o->cell - HEAD);

	memcpy(o->data + o->cell, &len, HEAD);
}

static void
begin_cell(struct tcpx_oplist *o, size_t at)
{
	o->cell = at;
	o->pos = at + HEAD;
}

void
tcpx_oplist_init(struct tcpx_oplist *o, void *room, size_t bytes)
{
	*o = (struct tcpx_oplist){ .data = room, .first = room, .cap = bytes };
	tcpx_runs_write_init(&o->writer);
	begin_cell(o, 0);
}

void
tcpx_oplist_fini(struct tcpx_oplist *o)
{
	if (o->data != o->first)
		free(o->data);
	o->data = o->first = NULL;
}

static int
grow(struct tcpx_oplist *o)
{
	size_t cap = (2 * o->cap + TCPX_OPLIST_CELL - 1) / TCPX_OPLIST_CELL * TCPX_OPLIST_CELL;
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
cell_end(const struct tcpx_oplist *o)
{
	size_t end = o->cell + TCPX_OPLIST_CELL;

	return end < o->cap ? end : o->cap;
}

/* Room for an operation: in the next cell, or in more memory. */
static int
make_room(struct tcpx_oplist *o)
{
	size_t next = o->cell + TCPX_OPLIST_CELL;

	if (o->pos + TCPX_RUNS_ROOM <= next)
		return grow(o); /* the cell is cut short by the end of memory */
	if (next + HEAD + TCPX_RUNS_ROOM > o->cap && grow(o) != 0)
		return -ENOMEM;
	set_head(o);
	begin_cell(o, next);
	return 0;
}

int
tcpx_oplist_add(struct tcpx_oplist *o, const struct tcpx_region_ref *regions,
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
tcpx_oplist_copy(const struct tcpx_oplist *o, size_t *at, struct tcpx_buf *b)
{
	uint16_t len;

	for (; *at <= o->cell; *at += TCPX_OPLIST_CELL) {
		memcpy(&len, o->data + *at, HEAD);
		if (len > tcpx_buf_left(b))
			return false;
		tcpx_buf_put_bytes(b, o->data + *at + HEAD, len);
	}
	return true;
}
