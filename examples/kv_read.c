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

static int
prepare(tcpx_engine *engine, uint64_t region, uint64_t (*block)(uint64_t), tcpx_list **list)
{
	struct tcpx_desc desc[WANTED];

	for (uint64_t k = 0; k < WANTED; k++)
		desc[k] = (struct tcpx_desc){ region, block(k) * BLOCK, BLOCK };
	DO(tcpx_list_prepare(engine, desc, WANTED, list));
	return 0;
}

static int
open_caches(struct side *prefill, struct side *decode)
{
	struct invitation inv;

	if (open_engine(prefill, "prefill") || open_engine(decode, "decode"))
		return 1;
	prefill->memory = malloc((size_t)BLOCKS * BLOCK);
	decode->memory = calloc(BLOCKS, BLOCK);
	DO(tcpx_mem_register(prefill->engine, prefill->memory, (size_t)BLOCKS * BLOCK,
			     TCPX_MEM_REMOTE_READ, &prefill->mine));
	DO(tcpx_mem_register(decode->engine, decode->memory, (size_t)BLOCKS * BLOCK,
			     TCPX_MEM_LOCAL, &decode->mine));
	return invite(prefill, &inv) || accept_invitation(decode, &inv);
}

static int
read_blocks(struct side *prefill, struct side *decode)
{
	unsigned wrong = 0;

	if (prepare(decode->engine, decode->mine, near_block, &decode->local) ||
	    prepare(decode->engine, decode->theirs, far_block, &decode->remote))
		return 1;
	DO(tcpx_xfer_prepare(decode->peer, TCPX_OP_READ, decode->local, decode->remote,
			     &decode->xfer));
	for (unsigned request = 1; request <= REQUESTS && !wrong; request++) {
		fill(prefill->memory, request);
		DO(tcpx_xfer_post(decode->xfer, &request, sizeof(request)));
		DO(tcpx_wait(decode->xfer, 30000));
		DO(tcpx_note_wait(prefill->engine, 30000, &prefill->note));
		tcpx_note_free(prefill->note);
		prefill->note = NULL; /* the blocks of this request may be filled again */
		wrong = wrong_blocks(decode->memory, prefill->memory);
		printf("request %u: %u blocks of %u KiB, %u wrong\n", request, WANTED,
		       BLOCK >> 10, wrong);
	}
	return wrong > 0;
}

int
main(void)
{
	struct side prefill = { 0 }, decode = { 0 };
	int rc = open_caches(&prefill, &decode) || read_blocks(&prefill, &decode);

	give_back(&decode);
	give_back(&prefill);
	return rc;
}
