/* SPDX-License-Identifier: Apache-2.0 */
/* CRC32C (RFC 3720, B.4): finds every change of up to 32 bits in a row. No protection against an
 * attacker. */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The sum of what was summed to @crc (0: nothing) and these bytes behind it. */
uint32_t tcpx_crc32c(uint32_t crc, const void *data, size_t len);
/* The same by the table, which any CPU can do. */
uint32_t tcpx_crc32c_table(uint32_t crc, const void *data, size_t len);
/* The sum of two neighbours from their own sums. */
uint32_t tcpx_crc32c_join(uint32_t a, uint32_t b, uint64_t b_len);
/* For many neighbours of one length: what moves a sum past so many bytes, and the move. So
 * tcpx_crc32c_past(a, tcpx_crc32c_mover(b_len)) ^ b is the above. */
uint32_t tcpx_crc32c_mover(uint64_t len);
uint32_t tcpx_crc32c_past(uint32_t crc, uint32_t mover);
/* Has this CPU instructions for it? */
bool tcpx_crc32c_is_native(void);

#endif
