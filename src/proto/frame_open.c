/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OPEN and LIST: the announcement of a transfer. List operations belong to proto/runs; here
 * they are bytes whose length is filled in last.
 */
#include "proto/chunk.h"
#include "proto/wire.h"

#define OPEN_FLAGS (TCPX_OPEN_INLINE | TCPX_OPEN_NOTE | TCPX_OPEN_MORE)

/* Payload offsets of the fields that are filled in last. */
#define OPEN_FLAGS_AT    9
#define OPEN_NOTE_LEN_AT 34
#define OPEN_NOTE_AT     36 /* the note; then u16 list length, the list */
#define LIST_MORE_AT     8
#define LIST_LEN_AT      9

static uint16_t
u16_at(const struct tcpx_buf *b, size_t at)
{
	return (uint16_t)(b->data[at] << 8 | b->data[at + 1]);
}

/* Sets the list length at @at: the list reaches from behind it to the cursor. */
static void
patch_list_len(struct tcpx_buf *b, size_t at)
{
	size_t len = b->pos - (at + 2);

	b->bad |= len > UINT16_MAX;
	b->data[at] = (uint8_t)(len >> 8);
	b->data[at + 1] = (uint8_t)len;
}

void
tcpx_open_write(struct tcpx_buf *b, const struct tcpx_open *o)
{
	bool noted = o->flags & TCPX_OPEN_NOTE;

	tcpx_buf_put_u64(b, o->id);
	tcpx_buf_put_u8(b, o->op);
	tcpx_buf_put_u8(b, o->flags);
	tcpx_buf_put_u64(b, o->total);
	tcpx_buf_put_u32(b, o->chunk);
	tcpx_buf_put_u64(b, o->tag);
	tcpx_buf_put_u32(b, o->entry_count);
	tcpx_buf_put_u16(b, noted ? o->note_len : 0);
	if (noted)
		tcpx_buf_put_bytes(b, o->note, o->note_len);
	tcpx_buf_put_u16(b, 0);
}

void
tcpx_open_finish(struct tcpx_buf *b, uint8_t flags, const void *payload, uint16_t payload_len)
{
	if (b->bad)
		return;
	b->data[OPEN_FLAGS_AT] |= flags;
	patch_list_len(b, OPEN_NOTE_AT + u16_at(b, OPEN_NOTE_LEN_AT));
	tcpx_buf_put_bytes(b, payload, payload_len);
}

/* Do flags and counts fit together? */
static bool
open_sane(const struct tcpx_open *o)
{
	if (o->op < TCPX_WIRE_WRITE || o->op > TCPX_WIRE_SEND || o->flags & ~OPEN_FLAGS)
		return false;
	if (o->note_len > TCPX_NOTE_MAX || (o->note_len && !o->note))
		return false;
	if (o->op == TCPX_WIRE_READ && o->flags & TCPX_OPEN_INLINE)
		return false;
	if (o->op == TCPX_WIRE_SEND &&
	    (o->entry_count || o->list_len || o->flags & TCPX_OPEN_MORE))
		return false;
	/* inline payload needs no chunks */
	return o->flags & TCPX_OPEN_INLINE ||
	       tcpx_chunk_count(o->total, o->chunk) != UINT32_MAX;
}

int
tcpx_open_read(struct tcpx_buf *b, struct tcpx_open *o)
{
	struct tcpx_open v = { .id = tcpx_buf_get_u64(b) };
	const uint8_t *note;

	v.op = tcpx_buf_get_u8(b);
	v.flags = tcpx_buf_get_u8(b);
	v.total = tcpx_buf_get_u64(b);
	v.chunk = tcpx_buf_get_u32(b);
	v.tag = tcpx_buf_get_u64(b);
	v.entry_count = tcpx_buf_get_u32(b);
	v.note_len = tcpx_buf_get_u16(b);
	note = tcpx_buf_borrow(b, v.note_len);
	v.note = v.flags & TCPX_OPEN_NOTE ? note : NULL;
	v.list_len = tcpx_buf_get_u16(b);
	v.list = tcpx_buf_borrow(b, v.list_len);
	if (v.flags & TCPX_OPEN_INLINE)
		v.payload = tcpx_buf_borrow(b, v.total);
	if (tcpx_wire_end(b) || !open_sane(&v))
		return TCPX_EPROTO;
	*o = v;
	return 0;
}

void
tcpx_listframe_write(struct tcpx_buf *b, uint64_t id)
{
	tcpx_buf_put_u64(b, id);
	tcpx_buf_put_u8(b, 0);
	tcpx_buf_put_u16(b, 0);
}

void
tcpx_listframe_finish(struct tcpx_buf *b, bool more)
{
	if (b->bad)
		return;
	b->data[LIST_MORE_AT] = more;
	patch_list_len(b, LIST_LEN_AT);
}

int
tcpx_listframe_read(struct tcpx_buf *b, struct tcpx_listframe *l)
{
	struct tcpx_listframe v = { .id = tcpx_buf_get_u64(b) };

	v.more = tcpx_wire_get_bool(b);
	v.list_len = tcpx_buf_get_u16(b);
	v.list = tcpx_buf_borrow(b, v.list_len);
	if (tcpx_wire_end(b))
		return TCPX_EPROTO;
	*l = v;
	return 0;
}
