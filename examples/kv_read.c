/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetching a cache in blocks. One engine holds the cache; the other reads the blocks of a
 * request into blocks of its own, in one transfer. The lists are prepared once, and the
 * transfer is posted for each request. A note reports that the blocks are free.
 */
#include <string.h>

#include "example.h"

#define BLOCK    (16u << 10)
#define BLOCKS   1024u /* in each cache           */
#define WANTED   300u  /* blocks of one request   */
#define REQUESTS 3u

/* The peer's block, and ours, for the k-th block of the request. */
static uint64_t
far_block(uint64_t k)
{
	return k * 7 % BLOCKS;
}
static uint64_t
near_block(uint64_t k)
{
	return k * 11 % BLOCKS;
}

static void
fill(unsigned char *cache, unsigned request)
{
	for (uint64_t b = 0; b < BLOCKS; b++)
		memset(cache + b * BLOCK, (int)(b * 13 + request), BLOCK);
}

static unsigned
wrong_blocks(const unsigned char *near, const unsigned char *far)
{
	unsigned wrong = 0;

	for (uint64_t k = 0; k < WANTED; k++)
		wrong += memcmp(near + near_block(k) * BLOCK, far + far_block(k) * BLOCK,
				BLOCK) != 0;
	return wrong;
}

static tcpx_list *
prepare(tcpx_engine *engine, uint64_t region, uint64_t (*block)(uint64_t))
{
	struct tcpx_desc desc[WANTED];
	tcpx_list *list;

	for (uint64_t k = 0; k < WANTED; k++)
		desc[k] = (struct tcpx_desc){ region, block(k) * BLOCK, BLOCK };
	must(tcpx_list_prepare(engine, desc, WANTED, &list), "tcpx_list_prepare");
	return list;
}

int
main(void)
{
	tcpx_engine *prefill = open_engine("prefill"), *decode = open_engine("decode");
	unsigned char *far = malloc((size_t)BLOCKS * BLOCK);
	unsigned char *near = calloc(BLOCKS, BLOCK);
	uint64_t cache, mine, theirs;
	tcpx_list *from, *to;
	tcpx_peer *peer;
	tcpx_xfer *read;
	tcpx_note *note;

	must(tcpx_mem_register(prefill, far, (size_t)BLOCKS * BLOCK, TCPX_MEM_REMOTE_READ, &cache),
	     "tcpx_mem_register");
	must(tcpx_mem_register(decode, near, (size_t)BLOCKS * BLOCK, TCPX_MEM_LOCAL, &mine),
	     "tcpx_mem_register");

	struct invitation inv = invite(prefill, cache);

	must(tcpx_peer_add(decode, inv.engine, inv.engine_len, &peer), "tcpx_peer_add");
	must(tcpx_mem_import(decode, inv.region, inv.region_len, &theirs), "tcpx_mem_import");
	from = prepare(decode, theirs, far_block);
	to = prepare(decode, mine, near_block);
	must(tcpx_xfer_prepare(peer, TCPX_OP_READ, to, from, &read), "tcpx_xfer_prepare");

	for (unsigned request = 1; request <= REQUESTS; request++) {
		fill(far, request);
		must(tcpx_xfer_post(read, &request, sizeof(request)), "tcpx_xfer_post");
		must(tcpx_wait(read, 30000), "tcpx_wait");
		must(tcpx_note_wait(prefill, 30000, &note), "tcpx_note_wait");
		tcpx_note_free(note); /* the blocks of this request may be filled again */
		printf("request %u: %u blocks of %u KiB, %u wrong\n", request, WANTED, BLOCK >> 10,
		       wrong_blocks(near, far));
		must(wrong_blocks(near, far) ? TCPX_EDATA : 0, "data");
	}
	tcpx_xfer_free(read);
	tcpx_list_free(from);
	tcpx_list_free(to);
	tcpx_peer_free(peer);
	tcpx_close(decode);
	tcpx_close(prefill);
	free(near);
	free(far);
	return 0;
}
