/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers as people write them. Strict: no signs, blanks, hex or trailing bytes. The
 * parsers return 0, -EINVAL (not a number) or -ERANGE (does not fit 64 bits). They do not
 * log, because only the caller knows the number's purpose.
 */
#ifndef BASE_PARSE_H
#define BASE_PARSE_H

#include <stddef.h>
#include <stdint.h>

/* "4096". */
int tcpx_parse_count(const char *text, uint64_t *count);

/* "512K", "8M", "1.5G", "4MiB", "4096": powers of 1024, suffix K, M, G or T, then nothing,
 * "i" or "iB", in any case. A fraction of a byte is cut off. "4MB" is refused, because it
 * is ambiguous: 4000000 or 4194304. */
int tcpx_parse_size(const char *text, uint64_t *bytes);

/* "10G", "2.5G", "500M", "1000000": powers of 1000, suffix K, M, G or T alone. */
int tcpx_parse_decimal(const char *text, uint64_t *value);

/* "500", "500ms", "10s". */
int tcpx_parse_ms(const char *text, uint64_t *ms);

/* The shortest text that tcpx_parse_size() reads back exactly: "8M", "1536M", "1000". 24
 * bytes are always enough. Returns buf. */
const char *tcpx_format_size(uint64_t bytes, char *buf, size_t cap);

/* Bytes to insert, delete, replace or swap with their neighbours until one is the other;
 * UINT_MAX for words of more than 63 bytes. */
unsigned tcpx_word_distance(const char *a, const char *b);

#endif
