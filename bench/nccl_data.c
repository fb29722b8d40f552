/* SPDX-License-Identifier: Apache-2.0 */
#include "nccl_data.h"

#include <string.h>

const char *const verb_names[VERBS] = { "uni", "bi", "pingpong", "allreduce", "allgather", "reducescatter",
					"path", "pathbi" };

/* Eight bytes at word @i of rank @sender's data: no two places or senders are alike. */
static uint64_t
pattern(uint64_t i, int sender)
{
	uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u + (uint64_t)sender;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	return x ^ x >> 27;
}

void
data_fill(uint8_t *stage, uint64_t offset, int sender)
{
	for (uint64_t i = 0; i < STAGE_BYTES / 8; i++) {
		uint64_t word = pattern(offset / 8 + i, sender);

		memcpy(stage + 8 * i, &word, 8);
	}
}

/* What a sum makes of both ranks' data. */
static void
fill_sum(uint8_t *stage, uint64_t offset)
{
	for (uint64_t i = 0; i < STAGE_BYTES / 8; i++) {
		uint64_t a = pattern(offset / 8 + i, 0), b = pattern(offset / 8 + i, 1);
		uint32_t sum[2] = { (uint32_t)a + (uint32_t)b,
				    (uint32_t)(a >> 32) + (uint32_t)(b >> 32) };

		memcpy(stage + 8 * i, sum, 8);
	}
}

uint64_t
data_received(enum verb v, uint64_t size)
{
	return v == REDUCESCATTER ? size / 2 : size;
}

uint64_t
data_want(uint8_t *stage, enum verb v, uint64_t size, uint64_t at, int me)
{
	uint64_t half = size / 2, end = data_received(v, size);

	if (v == ALLGATHER) {
		data_fill(stage, at % half, at >= half);
		end = at >= half ? size : half;
	} else if (v == ALLREDUCE || v == REDUCESCATTER) {
		fill_sum(stage, at + (v == REDUCESCATTER && me ? half : 0));
	} else {
		data_fill(stage, at, 1 - me);
	}
	return end - at < STAGE_BYTES ? end - at : STAGE_BYTES;
}
