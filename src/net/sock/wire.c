/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes that the sock provider puts on the wire, big-endian: message header, trailer,
 * acknowledgement, channel preamble, handle. Parsing checks the form; the caller checks that
 * the values fit the channel.
 */
#include <string.h>

#include "base/buf.h"
#include "base/crc32c.h"
#include "net/sock/wire.h"

#define HEAD_MAGIC     0x7c50u
#define TAIL_MAGIC     0x7c50e17du
#define TAIL_GONE      0x7c50ab0du /* summed, and abandoned */
#define PREAMBLE_MAGIC 0x54435850u /* "TCXP" */
#define HANDLE_MAGIC   0x54435848u /* "TCXH" */
#define WIRE_VERSION   1

#define ID_OPENER_SENDS 1
#define HEAD_SUMMED     1
#define HEAD_LENT       2

const uint8_t tcpx_sock_answer[TCPX_SOCK_ANSWER_BYTES] = { 'T', 'C', 'X', 'A' };

/* Detects a stream that has lost its place; it is no protection against an attacker. */
static uint32_t
head_check(const uint8_t head[TCPX_SOCK_HEAD_BYTES])
{
	uint64_t mix = 0x9e3779b97f4a7c15ull;
	struct tcpx_buf b;

	tcpx_buf_init_const(&b, head, 32);
	for (int i = 0; i < 4; i++) {
		mix = (mix ^ tcpx_buf_get_u64(&b)) * 0xff51afd7ed558ccdull;
		mix ^= mix >> 32;
	}
	return (uint32_t)mix;
}

void
tcpx_sock_head_format(const struct tcpx_head *h, uint8_t out[TCPX_SOCK_HEAD_BYTES])
{
	struct tcpx_buf b;

	tcpx_buf_init(&b, out, TCPX_SOCK_HEAD_BYTES);
	tcpx_buf_put_u16(&b, HEAD_MAGIC);
	tcpx_buf_put_u16(&b, (h->summed ? HEAD_SUMMED : 0) | (h->lent ? HEAD_LENT : 0));
	tcpx_buf_put_u16(&b, h->channel);
	tcpx_buf_put_u16(&b, h->generation);
	tcpx_buf_put_u64(&b, h->xfer);
	tcpx_buf_put_u32(&b, h->chunk);
	tcpx_buf_put_u32(&b, h->len);
	tcpx_buf_put_u64(&b, h->seq);
	tcpx_buf_put_u32(&b, head_check(out));
	tcpx_buf_put_u32(&b, 0);
}

bool
tcpx_sock_head_parse(const uint8_t in[TCPX_SOCK_HEAD_BYTES], struct tcpx_head *h)
{
	uint32_t magic, flags, check, pad;
	struct tcpx_head head = { 0 };
	struct tcpx_buf b;

	tcpx_buf_init_const(&b, in, TCPX_SOCK_HEAD_BYTES);
	magic = tcpx_buf_get_u16(&b);
	flags = tcpx_buf_get_u16(&b);
	head.channel = tcpx_buf_get_u16(&b);
	head.generation = tcpx_buf_get_u16(&b);
	head.xfer = tcpx_buf_get_u64(&b);
	head.chunk = tcpx_buf_get_u32(&b);
	head.len = tcpx_buf_get_u32(&b);
	head.seq = tcpx_buf_get_u64(&b);
	check = tcpx_buf_get_u32(&b);
	pad = tcpx_buf_get_u32(&b);
	if (magic != HEAD_MAGIC || flags > (HEAD_SUMMED | HEAD_LENT) || pad || check != head_check(in))
		return false;
	head.summed = flags & HEAD_SUMMED;
	head.lent = flags & HEAD_LENT;
	*h = head;
	return true;
}

/* The second word is the sum, or where there is none whether the message is abandoned. */
void
tcpx_sock_tail_format(const struct tcpx_head *h, bool abandoned,
		      uint8_t out[TCPX_SOCK_TAIL_BYTES])
{
	struct tcpx_buf b;

	tcpx_buf_init(&b, out, TCPX_SOCK_TAIL_BYTES);
	tcpx_buf_put_u32(&b, (h->summed && abandoned ? TAIL_GONE : TAIL_MAGIC) ^ (uint32_t)h->seq);
	tcpx_buf_put_u32(&b, h->summed ? h->sum : abandoned);
}

bool
tcpx_sock_tail_parse(const uint8_t in[TCPX_SOCK_TAIL_BYTES], const struct tcpx_head *h,
		     bool *abandoned, uint32_t *sum)
{
	uint32_t magic, word;
	struct tcpx_buf b;

	tcpx_buf_init_const(&b, in, TCPX_SOCK_TAIL_BYTES);
	magic = tcpx_buf_get_u32(&b) ^ (uint32_t)h->seq;
	word = tcpx_buf_get_u32(&b);
	if (magic != TAIL_MAGIC && (magic != TAIL_GONE || !h->summed))
		return false;
	if (!h->summed && word > 1)
		return false;
	*abandoned = h->summed ? magic == TAIL_GONE : word;
	*sum = word;
	return true;
}

/* Summed: applied is the distance below received, and the sum of both stands behind it. */
void
tcpx_sock_ack_format(const struct tcpx_ack *ack, bool summed, uint8_t out[TCPX_SOCK_ACK_BYTES])
{
	struct tcpx_buf b;

	tcpx_buf_init(&b, out, TCPX_SOCK_ACK_BYTES);
	tcpx_buf_put_u64(&b, ack->received);
	if (!summed) {
		tcpx_buf_put_u64(&b, ack->applied);
		return;
	}
	tcpx_buf_put_u32(&b, (uint32_t)(ack->received - ack->applied));
	tcpx_buf_put_u32(&b, tcpx_crc32c(0, out, TCPX_SOCK_ACK_BYTES - 4));
}

bool
tcpx_sock_ack_parse(const uint8_t in[TCPX_SOCK_ACK_BYTES], bool summed, struct tcpx_ack *ack)
{
	struct tcpx_buf b;

	tcpx_buf_init_const(&b, in, TCPX_SOCK_ACK_BYTES);
	ack->received = tcpx_buf_get_u64(&b);
	ack->applied = summed ? ack->received - tcpx_buf_get_u32(&b) : tcpx_buf_get_u64(&b);
	return !summed || tcpx_buf_get_u32(&b) == tcpx_crc32c(0, in, TCPX_SOCK_ACK_BYTES - 4);
}

/* version, direction, session, channel, generation: the same in preamble and handle */
static void
id_put(struct tcpx_buf *b, const struct tcpx_chan_id *id)
{
	tcpx_buf_put_u16(b, WIRE_VERSION);
	tcpx_buf_put_u16(b, id->sending_side_is_opener ? ID_OPENER_SENDS : 0);
	tcpx_buf_put_u64(b, id->session);
	tcpx_buf_put_u16(b, id->channel);
	tcpx_buf_put_u16(b, id->generation);
}

static bool
id_get(struct tcpx_buf *b, struct tcpx_chan_id *id)
{
	uint32_t version = tcpx_buf_get_u16(b);
	uint32_t flags = tcpx_buf_get_u16(b);

	*id = (struct tcpx_chan_id){ .sending_side_is_opener = flags & ID_OPENER_SENDS };
	id->session = tcpx_buf_get_u64(b);
	id->channel = tcpx_buf_get_u16(b);
	id->generation = tcpx_buf_get_u16(b);
	return version == WIRE_VERSION && flags <= ID_OPENER_SENDS;
}

bool
tcpx_sock_id_same(const struct tcpx_chan_id *a, const struct tcpx_chan_id *b)
{
	return a->session == b->session && a->channel == b->channel &&
	       a->generation == b->generation &&
	       !a->sending_side_is_opener == !b->sending_side_is_opener;
}

void
tcpx_sock_preamble_format(const struct tcpx_chan_id *id,
			  uint8_t out[TCPX_SOCK_PREAMBLE_BYTES])
{
	struct tcpx_buf b;

	tcpx_buf_init(&b, out, TCPX_SOCK_PREAMBLE_BYTES);
	tcpx_buf_put_u32(&b, PREAMBLE_MAGIC);
	id_put(&b, id);
	tcpx_buf_put_bytes(&b, id->token, sizeof(id->token));
	tcpx_buf_put_u32(&b, 0);
}

bool
tcpx_sock_preamble_parse(const uint8_t in[TCPX_SOCK_PREAMBLE_BYTES], struct tcpx_chan_id *id)
{
	struct tcpx_chan_id got;
	struct tcpx_buf b;
	bool ours;

	tcpx_buf_init_const(&b, in, TCPX_SOCK_PREAMBLE_BYTES);
	ours = tcpx_buf_get_u32(&b) == PREAMBLE_MAGIC;
	ours &= id_get(&b, &got);
	tcpx_buf_get_bytes(&b, got.token, sizeof(got.token));
	ours &= tcpx_buf_get_u32(&b) == 0;
	if (ours)
		*id = got;
	return ours;
}

bool
tcpx_sock_preamble_begins(const uint8_t *in, size_t got)
{
	uint8_t magic[4];
	struct tcpx_buf b;

	tcpx_buf_init(&b, magic, sizeof(magic));
	tcpx_buf_put_u32(&b, PREAMBLE_MAGIC);
	return !memcmp(in, magic, got < sizeof(magic) ? got : sizeof(magic));
}

/* The token is not part of it: both sides have it in their id, and others may read a handle
 * on its way. */
void
tcpx_sock_handle_format(const struct tcpx_addr *addr, const struct tcpx_chan_id *id,
			uint8_t out[TCPX_HANDLE_BYTES])
{
	struct tcpx_buf b;

	memset(out, 0, TCPX_HANDLE_BYTES);
	tcpx_buf_init(&b, out, TCPX_HANDLE_BYTES);
	tcpx_buf_put_u32(&b, HANDLE_MAGIC);
	id_put(&b, id);
	tcpx_buf_put_u16(&b, addr->family);
	tcpx_buf_put_u16(&b, addr->port);
	tcpx_buf_put_bytes(&b, addr->ip, sizeof(addr->ip));
}

bool
tcpx_sock_handle_parse(const uint8_t in[TCPX_HANDLE_BYTES], struct tcpx_addr *addr,
		       struct tcpx_chan_id *id)
{
	struct tcpx_addr to = { 0 };
	struct tcpx_chan_id got;
	struct tcpx_buf b;
	uint32_t family;
	bool ours;

	tcpx_buf_init_const(&b, in, TCPX_HANDLE_BYTES);
	ours = tcpx_buf_get_u32(&b) == HANDLE_MAGIC;
	ours &= id_get(&b, &got);
	family = tcpx_buf_get_u16(&b);
	to.family = (uint8_t)family;
	to.port = tcpx_buf_get_u16(&b);
	tcpx_buf_get_bytes(&b, to.ip, sizeof(to.ip));
	if (!ours || (family != 4 && family != 6) || !to.port)
		return false;
	*addr = to;
	*id = got;
	return true;
}
