/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of a stranger at both ends of the control stream's TLS, and of its stand-in: any bytes, and
 * a valid handshake with some of it changed. No end is proven by bytes that its peer did not send.
 *
 * The first byte chooses: body, end, and whether it is a change. A change is a list of 4 bytes:
 * position (2), what (1: put, drop, repeat, xor), value.
 */
#include "fuzz.h"

#include <string.h>

#include "fake/plain_seal.h"
#include "seal/tls.h"
#include "seal/tls_lib.h"

FUZZ_QUIETLY

enum { FLIGHTS = 4, FLIGHT_MAX = 2048 };

static const struct tcpx_seal_ops *ops;
static struct tcpx_seal_lib *lib;

static struct tcpx_seal *
start(bool opener)
{
	struct tcpx_seal_psk psk = { .id = "the one identity", .id_len = 16, .key = "a key" };
	struct tcpx_seal *s = NULL;

	promise(ops->start(lib, opener, &psk, 1, &s) == 0);
	return s;
}

/* Gives all of it, asks for all, and takes what there is to say. False: it has refused. */
static bool
feed(struct tcpx_seal *s, const uint8_t *data, size_t len, uint8_t *answer, size_t *answer_len)
{
	uint8_t out[512];
	ssize_t n = ops->feed(s, data, len, out, sizeof(out)), m;

	while (n == (ssize_t)sizeof(out))
		n = ops->feed(s, NULL, 0, out, sizeof(out));
	promise(n <= (ssize_t)sizeof(out));
	m = ops->take(s, NULL, 0, answer, FLIGHT_MAX);
	promise(m >= 0 && m <= FLIGHT_MAX);
	*answer_len = (size_t)m;
	if (n < 0) {
		promise(!ops->proven(s));
		promise(ops->feed(s, data, len, out, sizeof(out)) == n);
	}
	return n >= 0;
}

/* In two parts, cut anywhere. */
static void
any_bytes(const uint8_t *data, size_t len, bool opener)
{
	struct tcpx_seal *s = start(opener);
	uint8_t answer[FLIGHT_MAX];
	size_t cut = len ? data[0] % (len + 1) : 0, n;

	if (feed(s, data, cut, answer, &n))
		feed(s, data + cut, len - cut, answer, &n);
	promise(!ops->proven(s));
	ops->end(s);
}

static size_t
change(uint8_t *flight, size_t len, const uint8_t **data, size_t *left)
{
	while (*left >= 4 && len > 0) {
		size_t at = ((size_t)(*data)[0] << 8 | (*data)[1]) % len;
		uint8_t what = (*data)[2] % 5, value = (*data)[3];

		*data += 4;
		*left -= 4;
		if (what == 0) {
			flight[at] = value;
		} else if (what == 1) {
			memmove(flight + at, flight + at + 1, --len - at);
		} else if (what == 2 && len < FLIGHT_MAX) {
			memmove(flight + at + 1, flight + at, len++ - at);
		} else if (what == 3) {
			flight[at] ^= value;
		} else {
			return len; /* the rest is for the next flight */
		}
	}
	return len;
}

/* What both have in common must be the same, whatever was changed. */
static void
changed_flights(const uint8_t *data, size_t left)
{
	struct tcpx_seal *end[2] = { start(false), start(true) };
	uint8_t flight[FLIGHT_MAX], a[32], b[32];
	bool good = true;
	size_t len = 0;
	ssize_t n = ops->take(end[1], NULL, 0, flight, sizeof(flight));

	promise(n > 0);
	len = (size_t)n;
	for (int turn = 0; turn < FLIGHTS && good; turn++) {
		len = change(flight, len, &data, &left);
		good = feed(end[turn % 2], flight, len, flight, &len);
	}
	if (ops->proven(end[0]) && ops->proven(end[1])) {
		promise(ops->export(end[0], "l", NULL, 0, a, 32) == 0);
		promise(ops->export(end[1], "l", NULL, 0, b, 32) == 0);
		promise(!memcmp(a, b, 32));
	}
	ops->end(end[0]);
	ops->end(end[1]);
}

/* A record after the handshake, changed. What comes out of it is what went in, or nothing. */
static void
changed_record(const uint8_t *data, size_t left)
{
	static const char text[] = "what was sealed";
	struct tcpx_seal *end[2] = { start(false), start(true) };
	uint8_t flight[FLIGHT_MAX], same[FLIGHT_MAX], out[64];
	size_t len = 0;
	ssize_t n = ops->take(end[1], NULL, 0, flight, sizeof(flight));

	len = (size_t)n;
	for (int turn = 0; turn < 3; turn++)
		promise(feed(end[turn % 2], flight, len, flight, &len));
	promise(ops->proven(end[0]) && ops->proven(end[1]));
	n = ops->take(end[1], text, sizeof(text), flight, sizeof(flight));
	promise(n == sizeof(text) + 22);
	memcpy(same, flight, (size_t)n);
	len = change(flight, (size_t)n, &data, &left);
	n = ops->feed(end[0], flight, len, out, sizeof(out));
	if (n > 0)
		promise(n == sizeof(text) && !memcmp(out, text, sizeof(text)) &&
			!memcmp(same, flight, sizeof(text) + 22));
	ops->end(end[0]);
	ops->end(end[1]);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct tcpx_seal_lib *tls;
	struct tcpx_seal_lib *plain;

	if (len < 1)
		return 0;
	/* where OpenSSL is not, its stand-in alone */
	if (!tls && tcpx_tls_lib_open(&tls))
		tls = NULL;
	plain = plain_seal_open(1);
	promise(plain);
	ops = data[0] & 1 || !tls ? &tcpx_seal_plain_ops : &tcpx_seal_tls_ops;
	lib = data[0] & 1 || !tls ? plain : tls;
	if (data[0] & 2)
		any_bytes(data + 1, len - 1, data[0] & 4);
	else if (data[0] & 4)
		changed_flights(data + 1, len - 1);
	else
		changed_record(data + 1, len - 1);
	plain_seal_close(plain);
	return 0;
}
