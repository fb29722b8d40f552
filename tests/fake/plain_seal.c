/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record is a TLS header of 5 bytes, the content, its kind, a counter and a keyed checksum. The
 * handshake is three records padded to the lengths of TLS's flights.
 */
#include "fake/plain_seal.h"

#include <endian.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum { HEAD = 5, TAIL = 17, RANDOM = 32, MAC = 32 };
enum kind { ALERT = 0x15, HANDSHAKE = 0x16, DATA = 0x17 };
enum { CLOSED = 0, NO_PROOF = 47, NO_SENSE = 50 }; /* alerts */
enum { PLAIN_ALERT = 7, ID_MAX = 32, FLIGHT_MAX = 512 };

struct tcpx_seal_lib {
	_Atomic uint64_t next;
};

struct key {
	uint64_t word[4];
};

struct tcpx_seal {
	struct tcpx_seal_psk psk[2];
	uint32_t count;
	bool opener, proven;
	int error;               /* the first */
	bool answered;           /* the acceptor waits for the proof       */
	uint64_t random;         /* number of this end                     */
	struct key shared;       /* of the key and all flights until now   */
	uint64_t sent, received; /* records since proven                   */
	uint8_t *in;             /* the connection's bytes                 */
	size_t in_len, in_at;    /* in_at: behind the records read         */
	size_t plain_at, plain_end; /* in in: what is left of a record     */
	uint8_t out[512];        /* flights and alerts                     */
	size_t out_len;
};

static uint64_t
mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15u;
	h ^= h >> 29;
	h *= 0xbf58476d1ce4e5b9u;
	return h ^ h >> 32;
}

static void
absorb(struct key *k, const void *data, size_t len)
{
	const uint8_t *bytes = data;

	for (int w = 0; w < 4; w++) {
		k->word[w] = mix(k->word[w], len + (uint64_t)w);
		for (size_t i = 0; i < len; i++)
			k->word[w] = mix(k->word[w], bytes[i]);
	}
}

static void
squeeze(const struct key *k, const char *what, uint8_t *out, size_t len)
{
	struct key own = *k;

	absorb(&own, what, strlen(what));
	for (size_t i = 0; i < len; i++) {
		if (i % 8 == 0)
			own.word[i / 8 % 4] = mix(own.word[i / 8 % 4], i);
		out[i] = (uint8_t)(own.word[i / 8 % 4] >> i % 8 * 8);
	}
}

static struct key
key_of(const struct tcpx_seal_psk *psk)
{
	struct key k = { { 1, 2, 3, 4 } };

	absorb(&k, psk->key, sizeof(psk->key));
	absorb(&k, psk->id, psk->id_len);
	return k;
}

static void
put_head(uint8_t *at, enum kind kind, size_t len)
{
	const uint8_t head[HEAD] = { kind, 3, 3, (uint8_t)(len >> 8), (uint8_t)len };

	memcpy(at, head, HEAD);
}

/* --- records --- */

static uint64_t
checksum(const struct tcpx_seal *s, bool of_opener, uint64_t number, const uint8_t *plain, size_t len,
	 enum kind kind)
{
	uint64_t h = mix(s->shared.word[of_opener], number), word;

	h = mix(h, len << 8 | kind);
	for (size_t i = 0; i < len; i += 8) {
		word = 0;
		memcpy(&word, plain + i, len - i < 8 ? len - i : 8);
		h = mix(h, word);
	}
	return h;
}

static size_t
put_record(struct tcpx_seal *s, enum kind kind, const void *plain, size_t len, uint8_t *at)
{
	uint64_t number = htobe64(s->sent), sum;

	put_head(at, DATA, len + TAIL);
	if (len)
		memcpy(at + HEAD, plain, len);
	sum = htobe64(checksum(s, s->opener, s->sent++, at + HEAD, len, kind));
	at += HEAD + len;
	*at++ = kind;
	memcpy(at, &number, 8);
	memcpy(at + 8, &sum, 8);
	return HEAD + len + TAIL;
}

/* Ends the connection with an error of ours. */
static int
fail(struct tcpx_seal *s, int code, const char *why)
{
	const uint8_t alert[2] = { 2, code == TCPX_EAUTH ? NO_PROOF : NO_SENSE };

	if (s->proven) {
		s->out_len += put_record(s, ALERT, alert, 2, s->out + s->out_len);
	} else {
		put_head(s->out + s->out_len, ALERT, 2);
		memcpy(s->out + s->out_len + HEAD, alert, 2);
		s->out_len += PLAIN_ALERT;
	}
	return tcpx_fail_known(code, "%s", why);
}

static int
alerted(const struct tcpx_seal *s, uint8_t alert)
{
	if (alert == CLOSED)
		return tcpx_fail_known(TCPX_EPEERGONE, "the peer has closed the connection");
	return tcpx_fail_known(!s->proven && alert == NO_PROOF ? TCPX_EAUTH : TCPX_EPROTO,
			       "the peer ends it: alert %u", alert);
}

/* --- the handshake --- */

static void
put_flight(struct tcpx_seal *s, const char *what, const void *content, size_t len, size_t total)
{
	uint8_t *at = s->out + s->out_len;
	struct key own;

	memset(at, 0, total);
	put_head(at, HANDSHAKE, total - HEAD);
	if (len)
		memcpy(at + HEAD, content, len);
	own = s->shared;
	absorb(&own, at, total - MAC);
	squeeze(&own, what, at + total - MAC, MAC);
	absorb(&s->shared, at, total);
	s->out_len += total;
}

static bool
read_flight(struct tcpx_seal *s, const char *what, const uint8_t *at, size_t total)
{
	struct key own = s->shared;
	uint8_t mac[MAC];

	absorb(&own, at, total - MAC);
	squeeze(&own, what, mac, MAC);
	absorb(&s->shared, at, total);
	return memcmp(mac, at + total - MAC, MAC) == 0;
}

static void
put_random(const struct tcpx_seal *s, uint8_t random[RANDOM])
{
	struct key k = { { s->random, s->random, s->random, s->random } };

	squeeze(&k, "random", random, RANDOM);
}

static void
put_hello(struct tcpx_seal *s)
{
	const struct tcpx_seal_psk *psk = &s->psk[0];
	uint8_t content[1 + ID_MAX + RANDOM];

	content[0] = psk->id_len;
	memcpy(content + 1, psk->id, psk->id_len);
	put_random(s, content + 1 + psk->id_len);
	s->shared = key_of(psk);
	put_flight(s, "hello", content, 1u + psk->id_len + RANDOM, PLAIN_SEAL_HELLO + psk->id_len);
}

static int
read_hello(struct tcpx_seal *s, const uint8_t *at, size_t total)
{
	uint8_t random[RANDOM];
	size_t id_len = at[HEAD];

	if (id_len > ID_MAX || total != PLAIN_SEAL_HELLO + id_len)
		return fail(s, TCPX_EPROTO, "a hello of another length");
	for (uint32_t i = 0; i < s->count; i++) {
		if (s->psk[i].id_len != id_len || memcmp(s->psk[i].id, at + HEAD + 1, id_len))
			continue;
		s->shared = key_of(&s->psk[i]);
		if (!read_flight(s, "hello", at, total))
			return fail(s, TCPX_EAUTH, "the peer does not prove the secret");
		put_random(s, random);
		put_flight(s, "answer", random, RANDOM, PLAIN_SEAL_ANSWER);
		s->answered = true;
		return 0;
	}
	return fail(s, TCPX_EAUTH, "no common key");
}

static int
read_handshake(struct tcpx_seal *s, const uint8_t *at, size_t total)
{
	bool right;

	if (!s->opener && !s->answered)
		return read_hello(s, at, total);
	if (total != (s->opener ? PLAIN_SEAL_ANSWER : PLAIN_SEAL_PROOF))
		return fail(s, TCPX_EPROTO, "a flight of another length");
	right = read_flight(s, s->opener ? "answer" : "proof", at, total);
	if (!right)
		return fail(s, TCPX_EAUTH, "the peer does not prove the secret");
	if (s->opener)
		put_flight(s, "proof", NULL, 0, PLAIN_SEAL_PROOF);
	s->proven = true;
	return 0;
}

/* --- what comes in --- */

static int
read_data(struct tcpx_seal *s, size_t at, size_t total)
{
	const uint8_t *tail = s->in + at + total - TAIL, *plain = s->in + at + HEAD;
	size_t len = total - HEAD - TAIL;
	uint64_t number, sum;

	memcpy(&number, tail + 1, 8);
	memcpy(&sum, tail + 9, 8);
	if (be64toh(number) != s->received ||
	    be64toh(sum) != checksum(s, !s->opener, s->received, plain, len, tail[0]) ||
	    (tail[0] != DATA && !(tail[0] == ALERT && len == 2)))
		return fail(s, TCPX_EPROTO, "a record that the peer did not send now");
	s->received++;
	if (tail[0] == ALERT)
		return alerted(s, plain[1]);
	s->plain_at = at + HEAD;
	s->plain_end = s->plain_at + len;
	return 0;
}

/* The next whole record. -EAGAIN: there is none. */
static int
read_record(struct tcpx_seal *s)
{
	size_t left = s->in_len - s->in_at, total;
	const uint8_t *head;

	if (left < HEAD)
		return -EAGAIN;
	head = s->in + s->in_at;
	total = HEAD + (size_t)(head[3] << 8 | head[4]);
	if (head[1] != 3 || head[2] != 3 || total > HEAD + TCPX_SEAL_BLOCK + TAIL)
		return fail(s, TCPX_EPROTO, "no record");
	if (!s->proven && (head[0] == DATA || total > FLIGHT_MAX))
		return fail(s, TCPX_EPROTO, "no flight");
	if (left < total)
		return -EAGAIN;
	s->in_at += total;
	if (s->proven && head[0] == DATA && total >= HEAD + TAIL)
		return read_data(s, s->in_at - total, total);
	if (!s->proven && head[0] == HANDSHAKE && total > HEAD + MAC)
		return read_handshake(s, head, total);
	if (!s->proven && head[0] == ALERT && total == PLAIN_ALERT)
		return alerted(s, head[6]);
	return fail(s, TCPX_EPROTO, "a record out of its turn");
}

static int
put_in(struct tcpx_seal *s, const void *in, size_t len)
{
	uint8_t *more;

	if (len == 0)
		return 0;
	/* what has been read goes first, so nothing points there */
	if (s->in_at && s->plain_at == s->plain_end) {
		memmove(s->in, s->in + s->in_at, s->in_len - s->in_at);
		s->in_len -= s->in_at;
		s->in_at = s->plain_at = s->plain_end = 0;
	}
	more = realloc(s->in, s->in_len + len);
	if (!more)
		return -ENOMEM;
	s->in = more;
	memcpy(s->in + s->in_len, in, len);
	s->in_len += len;
	return 0;
}

static ssize_t
plain_feed(struct tcpx_seal *s, const void *in, size_t len, void *out, size_t cap)
{
	size_t got = 0, n;
	int rc = 0;

	if (s->error)
		return s->error;
	s->error = put_in(s, in, len);
	while (!s->error && rc == 0) {
		n = s->plain_end - s->plain_at < cap - got ? s->plain_end - s->plain_at : cap - got;
		if (n)
			memcpy((uint8_t *)out + got, s->in + s->plain_at, n);
		got += n;
		s->plain_at += n;
		if (s->plain_at < s->plain_end)
			break;
		rc = read_record(s);
		if (rc && rc != -EAGAIN)
			s->error = rc;
	}
	return got ? (ssize_t)got : s->error;
}

/* --- the table --- */

static int
plain_start(struct tcpx_seal_lib *lib, bool opener, const struct tcpx_seal_psk *psk, uint32_t count,
	    struct tcpx_seal **out)
{
	struct tcpx_seal *s;

	if (count < 1 || count > (opener ? 1 : 2))
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	memcpy(s->psk, psk, count * sizeof(*psk));
	s->count = count;
	s->opener = opener;
	s->random = atomic_fetch_add_explicit(&lib->next, 1, memory_order_relaxed);
	if (opener)
		put_hello(s);
	*out = s;
	return 0;
}

static void
plain_end(struct tcpx_seal *s)
{
	if (!s)
		return;
	free(s->in);
	free(s);
}

static ssize_t
plain_take(struct tcpx_seal *s, const void *plain, size_t len, void *out, size_t cap)
{
	size_t n = s->out_len;

	if (len > TCPX_SEAL_BLOCK || cap < len + TCPX_SEAL_ROOM)
		return -EINVAL;
	if (len && (s->error || !s->proven))
		return TCPX_ESTATE;
	memcpy(out, s->out, n);
	s->out_len = 0;
	if (len)
		n += put_record(s, DATA, plain, len, (uint8_t *)out + n);
	return (ssize_t)n;
}

static void
plain_rest(struct tcpx_seal *s)
{
	(void)s;
}

static bool
plain_proven(const struct tcpx_seal *s)
{
	return s->proven && !s->error;
}

static int
plain_export(struct tcpx_seal *s, const char *label, const void *context, size_t context_len,
	     void *out, size_t out_len)
{
	struct key own = s->shared;

	if (!plain_proven(s))
		return TCPX_ESTATE;
	absorb(&own, context, context_len);
	squeeze(&own, label, out, out_len);
	return 0;
}

const struct tcpx_seal_ops tcpx_seal_plain_ops = {
	.name = "plain",
	.start = plain_start,
	.end = plain_end,
	.feed = plain_feed,
	.take = plain_take,
	.rest = plain_rest,
	.proven = plain_proven,
	.export = plain_export,
};

struct tcpx_seal_lib *
plain_seal_open(uint64_t seed)
{
	struct tcpx_seal_lib *lib = calloc(1, sizeof(*lib));

	if (lib)
		lib->next = mix(1, seed);
	return lib;
}

void
plain_seal_close(struct tcpx_seal_lib *lib)
{
	free(lib);
}
