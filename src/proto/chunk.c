/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunk arithmetic. Two sides that agree on total and chunk size agree on every chunk.
 */
#include "proto/chunk.h"

#define CHUNK_ALIGN 4096u

static uint64_t
clamp(uint64_t v, uint64_t low, uint64_t high)
{
	v = v < low ? low : v;
	return v > high ? high : v; /* high wins: it is the provider's limit */
}

uint32_t
tcpx_chunk_size(uint64_t total, uint32_t channels, uint32_t min, uint32_t max,
		uint32_t forced, uint64_t slowest_Bps)
{
	uint64_t share = total / (2 * (channels ? (uint64_t)channels : 1));
	uint64_t quick = slowest_Bps / 1000 * (TCPX_CHUNK_NS / 1000000);

	if (forced)
		return (uint32_t)clamp(forced, CHUNK_ALIGN, max);
	if (slowest_Bps && share > quick)
		share = quick;
	share = clamp(share, min, max);
	share = (share + CHUNK_ALIGN - 1) / CHUNK_ALIGN * CHUNK_ALIGN;
	return (uint32_t)clamp(share, 0, max);
}

#define LITTLE         (1u << 20)
#define LITTLE_ONE_WAY (4u << 20)
#define LARGE          (512u << 10)

uint64_t
tcpx_chunk_lane(uint64_t bytes, uint32_t channels, bool one_way)
{
	bool little = bytes <= (one_way ? LITTLE_ONE_WAY : LITTLE);
	uint64_t least = 2ull * (channels ? channels : 1) * (little ? TCPX_CHUNK_LITTLE : LARGE);

	return bytes > least ? bytes : least;
}

uint64_t
tcpx_chunk_lane_Bps(uint64_t slowest_Bps, uint64_t mean_Bps)
{
	uint64_t Bps = slowest_Bps / 1000 * TCPX_CHUNK_UNEVEN_NS / (TCPX_CHUNK_NS / 1000);

	if (slowest_Bps >= mean_Bps / 2)
		return slowest_Bps;
	return Bps ? Bps : 1; /* 0 is unknown */
}

uint32_t
tcpx_chunk_count(uint64_t total, uint32_t chunk)
{
	uint64_t count;

	if (!total)
		return 0;
	if (!chunk)
		return UINT32_MAX;
	count = (total - 1) / chunk + 1;
	return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

uint32_t
tcpx_chunk_len(uint64_t total, uint32_t chunk, uint32_t k)
{
	uint64_t off = (uint64_t)k * chunk;

	if (off >= total)
		return 0;
	return total - off < chunk ? (uint32_t)(total - off) : chunk;
}

bool
tcpx_chunkmap_set(struct tcpx_chunkmap *m, uint32_t k)
{
	if (k >= m->count || tcpx_chunkmap_get(m, k))
		return false;
	m->words[k / 64] |= 1ull << k % 64;
	m->set++;
	return true;
}

bool
tcpx_chunkmap_get(const struct tcpx_chunkmap *m, uint32_t k)
{
	return k < m->count && m->words[k / 64] >> k % 64 & 1;
}
