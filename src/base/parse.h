/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers as people write them. Strict: no signs, blanks, hex or trailing bytes. The
 * parsers return 0, -EINVAL (not a number) or -ERANGE (does not fit 64 bits), and do not
 * log: the caller knows what the number is for.
 */
#ifndef BASE_PARSE_H
#define BASE_PARSE_H

#include <stddef.h>
#include <stdint.h>

/* "4096". */
int tcpx_parse_count(const char *text, uint64_t *count);

/* "512K", "8M", "1.5G", "4MiB", "4096": powers of 1024, suffix K, M, G or T, then
 * nothing, "i" or "iB", in any case. A part of a byte is cut off. "4MB" is refused: it
 * is 4000000 to some and 4194304 to others. */
int tcpx_parse_size(const char *text, uint64_t *bytes);

/* "500", "500ms", "10s". */
int tcpx_parse_ms(const char *text, uint64_t *ms);

/* The shortest text that tcpx_parse_size() reads back exactly: "8M", "1536M", "1000".
 * 24 bytes always suffice. Returns buf. */
const char *tcpx_format_size(uint64_t bytes, char *buf, size_t cap);

#endif
