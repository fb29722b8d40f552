/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time of the control stream's TLS, both ends in one thread: docs/decisions/029-control-tls.md. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "seal/tls.h"
#include "seal/tls_lib.h"

static const struct tcpx_seal_ops *const ops = &tcpx_seal_tls_ops;
static struct tcpx_seal_lib *lib;

static int64_t
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Carries at most so many flights; the last error. */
static int
shake(struct tcpx_seal *opener, struct tcpx_seal *acceptor, int flights)
{
	struct tcpx_seal *end[2] = { opener, acceptor };
	uint8_t bytes[TCPX_SEAL_ROOM], none[16];
	ssize_t n = 0;

	for (int i = 0; i < flights && n >= 0; i++) {
		n = ops->take(end[i % 2], NULL, 0, bytes, sizeof(bytes));
		if (n >= 0)
			n = ops->feed(end[(i + 1) % 2], bytes, (size_t)n, none, sizeof(none));
	}
	return (int)n;
}

static void
start(const char *key, struct tcpx_seal **opener, struct tcpx_seal **acceptor)
{
	struct tcpx_seal_psk psk = { .id = "one identity for", .id_len = 16, .key = "a key" };

	if (acceptor && ops->start(lib, false, &psk, 1, acceptor))
		exit(1);
	snprintf((char *)psk.key, sizeof(psk.key), "%s", key);
	if (ops->start(lib, true, &psk, 1, opener))
		exit(1);
}

static double
handshakes_us(int times)
{
	int64_t begin = now_ns();

	for (int i = 0; i < times; i++) {
		struct tcpx_seal *a, *b;

		start("a key", &a, &b);
		if (shake(a, b, 3))
			exit(1);
		ops->end(a);
		ops->end(b);
	}
	return (double)(now_ns() - begin) / 1e3 / times;
}

/* The acceptor's part alone: a hello in, a refusal out. */
static double
refusals_us(int times)
{
	int64_t spent = 0;

	for (int i = 0; i < times; i++) {
		struct tcpx_seal *a, *b;
		uint8_t hello[TCPX_SEAL_ROOM], none[16];
		int64_t begin;
		ssize_t n;

		start("another key", &a, &b);
		n = ops->take(a, NULL, 0, hello, sizeof(hello));
		begin = now_ns();
		if (ops->feed(b, hello, (size_t)n, none, sizeof(none)) >= 0)
			exit(1);
		spent += now_ns() - begin;
		ops->end(a);
		ops->end(b);
	}
	return (double)spent / 1e3 / times;
}

static double
records_us(size_t len, int times)
{
	static uint8_t plain[TCPX_SEAL_BLOCK], bytes[TCPX_SEAL_BLOCK + TCPX_SEAL_ROOM];
	struct tcpx_seal *a, *b;
	int64_t begin;

	start("a key", &a, &b);
	if (shake(a, b, 3))
		exit(1);
	begin = now_ns();
	for (int i = 0; i < times; i++) {
		ssize_t n = ops->take(a, plain, len, bytes, len + TCPX_SEAL_ROOM);

		if (n < 0 || ops->feed(b, bytes, (size_t)n, plain, sizeof(plain)) != (ssize_t)len)
			exit(1);
	}
	begin = now_ns() - begin;
	ops->end(a);
	ops->end(b);
	return (double)begin / 1e3 / times;
}

static double
kilobytes_each(void)
{
	enum { COUNT = 100 };
	struct tcpx_seal *ends[2 * COUNT];
	size_t before = mallinfo2().uordblks, after;

	for (int i = 0; i < COUNT; i++) {
		start("a key", &ends[2 * i], &ends[2 * i + 1]);
		if (shake(ends[2 * i], ends[2 * i + 1], 3))
			exit(1);
	}
	after = mallinfo2().uordblks;
	for (int i = 0; i < 2 * COUNT; i++)
		ops->end(ends[i]);
	return (double)(after - before) / 1024 / (2 * COUNT);
}

int
main(void)
{
	if (tcpx_tls_lib_open(&lib))
		return 1;
	handshakes_us(100);
	for (int round = 0; round < 5; round++)
		printf("handshake, both ends %.0f us; wrong binder refused %.0f us; record of 100 bytes, "
		       "sealed and opened %.2f us, of 16384 bytes %.1f us; %.1f KiB an end\n",
		       handshakes_us(1000), refusals_us(1000), records_us(100, 200000),
		       records_us(TCPX_SEAL_BLOCK, 20000), kilobytes_each());
	tcpx_tls_lib_close(lib);
	return 0;
}
