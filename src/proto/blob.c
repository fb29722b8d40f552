/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoint and region blobs: u32 magic, u16 version, the fields, u32 CRC-32 of everything
 * before it. A blob fills the rest of its cursor: the check ends it.
 */
#include "proto/blob.h"

#include "proto/wire.h"

#define ENDPOINT_MAGIC 0x54435845u /* "TCXE" */
#define REGION_MAGIC   0x54435852u /* "TCXR" */
#define BLOB_VERSION   1
#define BLOB_FRAME     10u         /* magic, version, check */

/* One bit at a time: a blob has a few hundred bytes and is read once. */
static uint32_t
crc32(const uint8_t *data, size_t len)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < len; i++) {
		crc ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

/* Returns the offset of the blob's first byte. */
static size_t
blob_begin(struct tcpx_buf *b, uint32_t magic)
{
	size_t at = b->pos;

	tcpx_buf_put_u32(b, magic);
	tcpx_buf_put_u16(b, BLOB_VERSION);
	return at;
}

static void
blob_finish(struct tcpx_buf *b, size_t at)
{
	if (!b->bad)
		tcpx_buf_put_u32(b, crc32(b->data + at, b->pos - at));
}

/* Checks magic, version and CRC. Then *fields is a cursor over the fields and b is used up. */
static int
blob_open(struct tcpx_buf *b, uint32_t magic, enum tcpx_subsys sub, const char *what,
	  struct tcpx_buf *fields)
{
	size_t len = tcpx_buf_left(b);
	const uint8_t *data = tcpx_buf_borrow(b, len);
	struct tcpx_buf head, tail;
	uint16_t version;

	if (!data || len < BLOB_FRAME)
		return tcpx_fail(sub, TCPX_EBLOB,
				 "%s blob has %zu bytes; at least %u are needed", what, len,
				 BLOB_FRAME);
	tcpx_buf_init_const(&head, data, len - 4);
	tcpx_buf_init_const(&tail, data + len - 4, 4);
	if (tcpx_buf_get_u32(&head) != magic)
		return tcpx_fail(sub, TCPX_EBLOB, "these %zu bytes are no %s blob", len, what);
	version = tcpx_buf_get_u16(&head);
	if (version != BLOB_VERSION)
		return tcpx_fail(sub, TCPX_EBLOB,
				 "%s blob is of version %u; this is version %u", what, version,
				 BLOB_VERSION);
	if (tcpx_buf_get_u32(&tail) != crc32(data, len - 4))
		return tcpx_fail(sub, TCPX_EBLOB,
				 "%s blob of %zu bytes was changed or cut on its way", what, len);
	*fields = head;
	return 0;
}

void
tcpx_endpoint_blob_write(struct tcpx_buf *b, const struct tcpx_endpoint_blob *e)
{
	size_t at = blob_begin(b, ENDPOINT_MAGIC);

	tcpx_wire_put_text(b, e->name, sizeof(e->name));
	tcpx_buf_put_u64(b, e->incarnation);
	tcpx_buf_put_u16(b, e->nic_count);
	b->bad |= e->nic_count > TCPX_NICS_MAX;
	for (uint16_t i = 0; !b->bad && i < e->nic_count; i++)
		tcpx_wire_put_nic(b, &e->nic[i]);
	blob_finish(b, at);
}

int
tcpx_endpoint_blob_read(struct tcpx_buf *b, struct tcpx_endpoint_blob *e)
{
	struct tcpx_endpoint_blob v = { .nic_count = 0 };
	struct tcpx_buf f;
	int rc = blob_open(b, ENDPOINT_MAGIC, TCPX_SUB_BOOT, "endpoint", &f);

	if (rc)
		return rc;
	tcpx_wire_get_name(&f, v.name, sizeof(v.name));
	v.incarnation = tcpx_buf_get_u64(&f);
	v.nic_count = tcpx_buf_get_u16(&f);
	f.bad |= v.nic_count > TCPX_NICS_MAX;
	for (uint16_t i = 0; !f.bad && i < v.nic_count; i++)
		tcpx_wire_get_nic(&f, &v.nic[i]);
	if (tcpx_wire_end(&f))
		return tcpx_fail(TCPX_SUB_BOOT, TCPX_EBLOB,
				 "endpoint blob of %zu bytes is malformed", b->cap);
	*e = v;
	return 0;
}

void
tcpx_region_blob_write(struct tcpx_buf *b, const struct tcpx_region_blob *r)
{
	size_t at = blob_begin(b, REGION_MAGIC);

	tcpx_buf_put_u64(b, r->id);
	tcpx_buf_put_bytes(b, r->key, sizeof(r->key));
	tcpx_buf_put_u64(b, r->addr);
	tcpx_buf_put_u64(b, r->len);
	tcpx_buf_put_u8(b, r->access);
	tcpx_buf_put_u8(b, r->kind);
	blob_finish(b, at);
}

int
tcpx_region_blob_read(struct tcpx_buf *b, struct tcpx_region_blob *r)
{
	struct tcpx_region_blob v;
	struct tcpx_buf f;
	int rc = blob_open(b, REGION_MAGIC, TCPX_SUB_XFER, "region", &f);

	if (rc)
		return rc;
	v.id = tcpx_buf_get_u64(&f);
	tcpx_buf_get_bytes(&f, v.key, sizeof(v.key));
	v.addr = tcpx_buf_get_u64(&f);
	v.len = tcpx_buf_get_u64(&f);
	v.access = tcpx_buf_get_u8(&f);
	v.kind = tcpx_buf_get_u8(&f);
	if (tcpx_wire_end(&f) || !v.len || v.addr + v.len < v.addr || v.access > 3)
		return tcpx_fail(TCPX_SUB_XFER, TCPX_EBLOB,
				 "region blob of %zu bytes is malformed", b->cap);
	*r = v;
	return 0;
}
