/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Test data that contains its position. Word k of a stream (8 bytes, little-endian) is a
 * bijection of k, keyed by seed and transfer number: a word in the wrong place shows its
 * right place. Streams may begin and end inside a word.
 */
#ifndef TOOL_PATTERN_H
#define TOOL_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pattern {
	uint64_t key;
};

struct pattern pattern_of(uint64_t seed, uint64_t transfer);

uint64_t pattern_word(struct pattern p, uint64_t index);
/* The byte at @offset of the stream. */
uint8_t pattern_byte(struct pattern p, uint64_t offset);
/* Writes bytes [offset, offset + len) of the stream to @mem. */
void pattern_fill(struct pattern p, uint64_t offset, void *mem, size_t len);
/* How many of them differ in @mem. When any do, *first is the stream offset of the first. */
uint64_t pattern_check(struct pattern p, uint64_t offset, const void *mem, size_t len,
		       uint64_t *first);
/* Does @word belong to the first @len bytes of the stream? Then *offset is its place. */
bool pattern_find(struct pattern p, uint64_t word, uint64_t len, uint64_t *offset);

#endif
