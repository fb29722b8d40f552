/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cutting a transfer into chunks: chunk k is always bytes [k*c, (k+1)*c), also when it is
 * sent again. And the map of the chunks that have been applied.
 */
#ifndef PROTO_CHUNK_H
#define PROTO_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

/* Limits of a chunk's automatic size. Chunks of GPU memory cost a copy on each side, which
 * is slow below 256 KiB and fastest with 2 MiB (docs/results/gpu-tuning.md). */
#define TCPX_CHUNK_MIN        (64u << 10)
#define TCPX_CHUNK_MAX        (1u << 20)
#define TCPX_CHUNK_STAGED_MIN (256u << 10)
#define TCPX_CHUNK_STAGED_MAX (2u << 20)

#define TCPX_CHUNK_NS  30000000ull /* longest time of one chunk on any channel */

/* total / (2 * channels), but no more than the slowest channel carries in TCPX_CHUNK_NS: a
 * transfer cannot end before the last chunk of its slowest channel. Then clamped to [min, max],
 * and rounded up to 4 KiB unless that is above max. slowest_Bps 0: unknown. forced != 0: that
 * value, clamped to [4 KiB, max]. */
uint32_t tcpx_chunk_size(uint64_t total, uint32_t channels, uint32_t min, uint32_t max,
			 uint32_t forced, uint64_t slowest_Bps);
/*
 * What to give for total, where several messages of lanes in host memory, of @bytes together, are cut: at
 * least so much that a chunk has TCPX_CHUNK_LITTLE while there is little to send, so that several
 * threads share the copies; else 512 KiB, since each costs both sides some 20 us of a CPU. (Between two
 * H100s, 16 channels: sends of 1 MiB 147 us in place of 225; all-reduces of 16 MiB take 1400 in chunks of
 * 128 KiB, 1095 in ones of 512.) Little is 1 MiB, and 4 where nothing comes from the peer: @one_way.
 */
#define TCPX_CHUNK_LITTLE (128u << 10)
uint64_t tcpx_chunk_lane(uint64_t bytes, uint32_t channels, bool one_way);
/*
 * What to give for slowest_Bps of such messages: where NICs differ and the slowest channel has less than half of
 * mean_Bps, a chunk takes TCPX_CHUNK_UNEVEN_NS at most, since the next messages wait for the last one of these. (NICs of
 * 1, 1, 1 and 0.25 Gbit/s, all-reduces of 64 MiB: 0.90 to 0.91 of their sum in place of 0.88.) mean_Bps 0: they do not.
 */
#define TCPX_CHUNK_UNEVEN_NS 4500000ull
uint64_t tcpx_chunk_lane_Bps(uint64_t slowest_Bps, uint64_t mean_Bps);
/* 0 for total 0; UINT32_MAX if the count would be more. */
uint32_t tcpx_chunk_count(uint64_t total, uint32_t chunk);
/* Length of chunk k; 0 when k is outside. */
uint32_t tcpx_chunk_len(uint64_t total, uint32_t chunk, uint32_t k);

/* One bit for each chunk. words is (count + 63) / 64 zeroed words, owned by the caller. */
struct tcpx_chunkmap {
	uint64_t *words;
	uint32_t count, set;
};
/* True if k was not set before. False for k >= count. */
bool tcpx_chunkmap_set(struct tcpx_chunkmap *m, uint32_t k);
bool tcpx_chunkmap_get(const struct tcpx_chunkmap *m, uint32_t k);
static inline bool
tcpx_chunkmap_full(const struct tcpx_chunkmap *m)
{
	return m->set == m->count;
}

#endif
