/* SPDX-License-Identifier: Apache-2.0 */
#include "nccl_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const verb_names[VERBS] = { "uni", "bi", "pingpong", "allreduce", "allgather",
					       "reducescatter", "alltoall", "path", "pathbi" };

/* ---- commands and answers -------------------------------------------------------- */

bool
command_parse(const char *line, struct command *c)
{
	unsigned long long size, count, group = 1;
	char word[16];

	if (sscanf(line, "%15s %llu %llu %llu", word, &size, &count, &group) < 3)
		return false;
	*c = (struct command){ VERBS, size, count, group };
	for (int v = 0; v < VERBS; v++)
		if (!strcmp(word, verb_names[v]))
			c->verb = (enum verb)v;
	if (verb_is_collective(c->verb) && size % (c->verb == ALLREDUCE ? 4 : 16))
		return false;
	return c->verb != VERBS && size > 0 && size <= 1ull << 36 && count > 0 && group > 0 &&
	       count <= (c->verb == PINGPONG ? ROUND_TRIPS : 1u << 24);
}

void
command_refuse(void)
{
	printf("{\"error\": \"allowed are ");
	for (int v = 0; v < VERBS; v++)
		printf("%s%s", v ? "|" : "", verb_names[v]);
	printf(" SIZE COUNT [GROUP], of pingpong at most %d, and quit\"}\n", ROUND_TRIPS);
	fflush(stdout);
}

void
answer_print(const struct command *c, double seconds, double cpu_s, uint64_t wrong)
{
	double bytes = (double)c->size * (double)c->count;
	double moved = c->verb == UNI || c->verb == PATH ? bytes : 2 * bytes;

	printf("{\"op\": \"%s\", \"size\": %llu, \"count\": %llu, \"group\": %llu, "
	       "\"seconds\": %.6f, \"GBps\": %.4f, \"message_us\": %.3f, \"cpu_s_per_GB\": %.4f, "
	       "\"wrong\": %llu", verb_names[c->verb], (unsigned long long)c->size,
	       (unsigned long long)c->count, (unsigned long long)c->group, seconds,
	       bytes / seconds / 1e9, seconds / (double)c->count * 1e6, cpu_s / (moved / 1e9),
	       (unsigned long long)wrong);
}

static int
by_value(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

void
round_trips_print(float *us, uint64_t count)
{
	float sum = 0;

	for (uint64_t i = 0; i < count; i++)
		sum += us[i];
	qsort(us, count, sizeof(*us), by_value);
	printf(", \"half_rtt_us\": {\"min\": %.2f, \"p50\": %.2f, \"p99\": %.2f, \"mean\": %.2f}",
	       us[0], us[(count - 1) / 2], us[(count * 99 + 99) / 100 - 1], sum / (float)count);
}

/* ---- data ------------------------------------------------------------------------ */

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
	} else if (v == ALLTOALL) {
		data_fill(stage, at % half + (me ? half : 0), at >= half);
		end = at >= half ? size : half;
	} else if (v == ALLREDUCE || v == REDUCESCATTER) {
		fill_sum(stage, at + (v == REDUCESCATTER && me ? half : 0));
	} else {
		data_fill(stage, at, 1 - me);
	}
	return end - at < STAGE_BYTES ? end - at : STAGE_BYTES;
}
