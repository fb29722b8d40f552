/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both blobs: the input as it is, and as fields inside a good frame, because no input
 * finds a CRC by itself. What is read can be written and read again.
 */
#include "fuzz.h"
#include "proto/blob.h"

#include <string.h>

FUZZ_QUIETLY

static uint32_t
crc32(const uint8_t *data, size_t len)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < len; i++) {
		crc ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

static void
read_both(const uint8_t *data, size_t len)
{
	static struct tcpx_endpoint_blob e;
	struct tcpx_region_blob r;
	uint8_t room[4096];
	struct tcpx_buf b;

	tcpx_buf_init_const(&b, data, len);
	if (tcpx_endpoint_blob_read(&b, &e) == 0) {
		tcpx_buf_init(&b, room, sizeof(room));
		tcpx_endpoint_blob_write(&b, &e);
		promise(!b.bad && b.pos == len && !memcmp(room, data, len));
	}
	tcpx_buf_init_const(&b, data, len);
	if (tcpx_region_blob_read(&b, &r) == 0) {
		tcpx_buf_init(&b, room, sizeof(room));
		tcpx_region_blob_write(&b, &r);
		promise(!b.bad && b.pos == len && !memcmp(room, data, len));
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char *const magic[] = { "TCXE", "TCXR" };
	uint8_t whole[4096];
	struct tcpx_buf b;

	read_both(data, len);
	for (int i = 0; i < 2 && len <= sizeof(whole) - 10; i++) {
		tcpx_buf_init(&b, whole, sizeof(whole));
		tcpx_buf_put_bytes(&b, magic[i], 4);
		tcpx_buf_put_u16(&b, 1);
		tcpx_buf_put_bytes(&b, data, len);
		tcpx_buf_put_u32(&b, crc32(whole, b.pos));
		read_both(whole, b.pos);
	}
	return 0;
}
