/* SPDX-License-Identifier: Apache-2.0 */
/* What a message holds, and how long it is: both ends know it from its key alone. */
#ifndef STRANGER_PATTERN_H
#define STRANGER_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number that looks random, of X. */
uint64_t pattern_mix(uint64_t x);

/* The key of message SEQ on way WAY. */
uint64_t pattern_key(uint64_t seed, unsigned way, uint64_t seq);

/* Its length: 1, 0 and MAX first, then anything to MAX, small ones as often as large. */
size_t pattern_size(uint64_t key, uint64_t seq, size_t max);

/* Writes the message; with INVERSE each byte differs from what it should be. */
void pattern_fill(uint8_t *at, size_t size, uint64_t key, bool inverse);

/* The first byte that differs from the message, SIZE where none does. */
size_t pattern_differs(const uint8_t *at, size_t size, uint64_t key);

#endif
