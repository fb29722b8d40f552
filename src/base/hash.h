/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A number for bytes, by which a table finds them: FNV-1a. With a seed that nobody else knows others cannot
 * choose bytes that meet in it.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t
tcpx_hash_add(uint64_t hash, const void *data, size_t len)
{
	const uint8_t *at = data;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ at[i]) * 0x100000001b3u;
	return hash;
}

static inline uint64_t
tcpx_hash(uint64_t seed, const void *data, size_t len)
{
	return tcpx_hash_add(seed ^ 0xcbf29ce484222325u, data, len);
}

#endif
