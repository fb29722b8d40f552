/* SPDX-License-Identifier: Apache-2.0 */
/*
 * all_to_all ENGINES: as many processes of one engine each, with every default. Each writes to
 * every other one, which compares every byte.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "crowd.h"
#include "tcpx/tcpx.h"

#define LEN         ((1u << 20) + 13) /* from each to each */

struct card {
	size_t metadata_len, region_len;
	uint8_t metadata[TCPX_METADATA_MAX], region[TCPX_BLOB_MAX];
};

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
engine(const struct crowd *c, void *arg)
{
	struct card own = { TCPX_METADATA_MAX, TCPX_BLOB_MAX, { 0 }, { 0 } }, card[CROWD_MAX];
	int me = c->me, count = c->count;
	uint8_t *in = calloc((size_t)count, LEN), *out = malloc((size_t)count * LEN);
	uint64_t in_id, out_id, wrong, all[CROWD_MAX];
	tcpx_engine *e;

	(void)arg;
	must(in && out ? 0 : -1, "memory");
	for (int to = 0; to < count; to++)
		for (uint32_t k = 0; k < LEN; k++)
			out[(size_t)to * LEN + k] = byte_of(me, to, k);
	must(tcpx_open(NULL, &e), "tcpx_open");
	must(tcpx_mem_register(e, in, (size_t)count * LEN, TCPX_MEM_REMOTE_WRITE, &in_id), "in");
	must(tcpx_mem_register(e, out, (size_t)count * LEN, TCPX_MEM_LOCAL, &out_id), "out");
	must(tcpx_metadata(e, own.metadata, &own.metadata_len), "tcpx_metadata");
	must(tcpx_mem_export(e, in_id, own.region, &own.region_len), "tcpx_mem_export");
	crowd_say(c, &own, sizeof(own), card);
	for (int k = 1; k < count; k++)
		send_to(e, &card[(me + k) % count], out_id, me, (me + k) % count);
	crowd_meet(c); /* all is sent */
	wrong = wrong_bytes(in, me, count);
	crowd_say(c, &wrong, sizeof(wrong), all);
	for (int i = 0; i < count; i++)
		wrong += i == me ? 0 : all[i];
	if (me == 0)
		printf("%d engines: %llu bytes compared, %llu wrong\n", count,
		       (unsigned long long)count * (unsigned)(count - 1) * LEN, (unsigned long long)wrong);
	tcpx_close(e);
	free(in);
	free(out);
	must(wrong ? TCPX_EDATA : 0, "bytes");
}

int
main(int argc, char **argv)
{
	int count = argc == 2 ? atoi(argv[1]) : 0;

	return count < 2 || count > CROWD_MAX ? 2 : crowd_run(count, engine, NULL);
}
