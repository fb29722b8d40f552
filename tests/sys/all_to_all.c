/* SPDX-License-Identifier: Apache-2.0 */
/*
 * all_to_all ENGINES: as many processes of one engine each, with every default. Each writes to
 * every other one, which compares every byte. Steps go by pipes, so a process that dies ends all.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tcpx/tcpx.h"

#define ENGINES_MAX 16
#define LEN         ((1u << 20) + 13) /* from each to each */

struct card {
	size_t metadata_len, region_len;
	uint8_t metadata[TCPX_METADATA_MAX], region[TCPX_BLOB_MAX];
};

struct child {
	int up[2], down[2];
};

static void
must(int rc, const char *what)
{
	char text[256];

	if (rc == 0)
		return;
	tcpx_last_error(NULL, text, sizeof(text));
	printf("# %s: %s (%s)\n", what, tcpx_strerror_name(rc), text);
	fflush(stdout);
	_exit(1);
}

/* Whole or not at all: the other end is gone. */
static int
get(int fd, void *data, size_t len)
{
	for (uint8_t *at = data; len;) {
		ssize_t n = read(fd, at, len);

		if (n <= 0)
			return -1;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

static int
put(int fd, const void *data, size_t len)
{
	for (const uint8_t *at = data; len;) {
		ssize_t n = write(fd, at, len);

		if (n <= 0)
			return -1;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

static uint8_t
byte_of(int from, int to, uint32_t k)
{
	return (uint8_t)((k * 2654435761u >> 16) + (uint32_t)(from * 31 + to * 7));
}

static void
send_to(tcpx_engine *e, const struct card *card, uint64_t mine, int from, int to)
{
	struct tcpx_desc local = { mine, (uint64_t)to * LEN, LEN }, remote = { 0 };
	tcpx_peer *peer;
	tcpx_xfer *x;

	must(tcpx_peer_add(e, card->metadata, card->metadata_len, &peer), "tcpx_peer_add");
	must(tcpx_mem_import(e, card->region, card->region_len, &remote.region), "tcpx_mem_import");
	remote.offset = (uint64_t)from * LEN;
	remote.len = LEN;
	must(tcpx_write(peer, &local, 1, &remote, 1, NULL, 0, &x), "tcpx_write");
	must(tcpx_wait(x, -1), "tcpx_wait");
	tcpx_xfer_free(x);
	tcpx_peer_free(peer);
}

static uint64_t
wrong_bytes(const uint8_t *in, int me, int count)
{
	uint64_t wrong = 0;

	for (int from = 0; from < count; from++)
		for (uint32_t k = 0; k < LEN && from != me; k++)
			wrong += in[(size_t)from * LEN + k] != byte_of(from, me, k);
	return wrong;
}

static void
engine(int me, int count, const struct child *c)
{
	struct card own = { TCPX_METADATA_MAX, TCPX_BLOB_MAX, { 0 }, { 0 } }, card[ENGINES_MAX];
	uint8_t *in = calloc((size_t)count, LEN), *out = malloc((size_t)count * LEN);
	uint64_t in_id, out_id, wrong;
	tcpx_engine *e;
	char go = 0;

	must(in && out ? 0 : -1, "memory");
	for (int to = 0; to < count; to++)
		for (uint32_t k = 0; k < LEN; k++)
			out[(size_t)to * LEN + k] = byte_of(me, to, k);
	must(tcpx_open(NULL, &e), "tcpx_open");
	must(tcpx_mem_register(e, in, (size_t)count * LEN, TCPX_MEM_REMOTE_WRITE, &in_id), "in");
	must(tcpx_mem_register(e, out, (size_t)count * LEN, TCPX_MEM_LOCAL, &out_id), "out");
	must(tcpx_metadata(e, own.metadata, &own.metadata_len), "tcpx_metadata");
	must(tcpx_mem_export(e, in_id, own.region, &own.region_len), "tcpx_mem_export");
	must(put(c->up[1], &own, sizeof(own)), "put");
	must(get(c->down[0], card, (size_t)count * sizeof(own)), "get");
	for (int k = 1; k < count; k++)
		send_to(e, &card[(me + k) % count], out_id, me, (me + k) % count);
	must(put(c->up[1], &go, 1), "put"); /* all is sent */
	must(get(c->down[0], &go, 1), "get"); /* by all */
	wrong = wrong_bytes(in, me, count);
	must(put(c->up[1], &wrong, sizeof(wrong)), "put");
	must(get(c->down[0], &go, 1), "get");
	tcpx_close(e);
	free(in);
	free(out);
	_exit(wrong != 0);
}

static int
all_say_go(const struct child *c, int count)
{
	char go = 0;
	int bad = 0;

	for (int i = 0; i < count; i++)
		bad |= put(c[i].down[1], &go, 1);
	return bad;
}

static int
direct(const struct child *c, int count)
{
	static struct card card[ENGINES_MAX];
	uint64_t wrong, sum = 0;
	char go;

	for (int i = 0; i < count; i++)
		if (get(c[i].up[0], &card[i], sizeof(card[i])))
			return 1;
	for (int i = 0; i < count; i++)
		if (put(c[i].down[1], card, (size_t)count * sizeof(card[0])))
			return 1;
	for (int i = 0; i < count; i++)
		if (get(c[i].up[0], &go, 1))
			return 1;
	if (all_say_go(c, count))
		return 1;
	for (int i = 0; i < count; i++) {
		if (get(c[i].up[0], &wrong, sizeof(wrong)))
			return 1;
		sum += wrong;
	}
	printf("%d engines: %llu bytes compared, %llu wrong\n", count,
	       (unsigned long long)count * (unsigned)(count - 1) * LEN, (unsigned long long)sum);
	return all_say_go(c, count) || sum;
}

int
main(int argc, char **argv)
{
	int count = argc == 2 ? atoi(argv[1]) : 0, bad, status;
	struct child c[ENGINES_MAX];

	if (count < 2 || count > ENGINES_MAX)
		return 2;
	for (int i = 0; i < count; i++) {
		if (pipe(c[i].up) || pipe(c[i].down))
			return 2;
		if (fork() == 0) {
			for (int k = 0; k <= i; k++) { /* so that ends are seen */
				close(c[k].up[0]);
				close(c[k].down[1]);
			}
			engine(i, count, &c[i]);
		}
		close(c[i].up[1]);
		close(c[i].down[0]);
	}
	bad = direct(c, count);
	for (int i = 0; i < count; i++) {
		close(c[i].up[0]);
		close(c[i].down[1]);
	}
	while (wait(&status) > 0)
		bad |= status != 0;
	return bad;
}
