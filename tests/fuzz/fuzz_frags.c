/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fragment lists written by a plugin, against a slow model: every byte of the message
 * is covered once.
 */
#include "fuzz.h"
#include "net/plugin/frag.h"

#include <string.h>

FUZZ_QUIETLY

#define LEN_MAX 4096

static struct nccl_unpack_frag list[NCCL_UNPACK_FRAGS];
static struct plug_frag out[PLUG_FRAGS_MAX];

static bool
covers(uint32_t count, uint32_t len)
{
	uint8_t seen[LEN_MAX] = { 0 };

	for (uint32_t i = 0; i < count; i++) {
		if (list[i].dst_off > len || list[i].len > len - list[i].dst_off ||
		    (uint64_t)list[i].src_off + list[i].len > 1ull << 32)
			return false;
		for (uint32_t k = 0; k < list[i].len; k++)
			if (seen[list[i].dst_off + k]++)
				return false;
	}
	return len == 0 || !memchr(seen, 0, len);
}

/* Of each 4 bytes an offset and a length; each sixteenth is taken with all its bits. */
static uint32_t
make(const uint8_t *data, size_t len)
{
	uint32_t n = 0;

	for (; len >= 4 && n < NCCL_UNPACK_FRAGS; data += 4, len -= 4, n++) {
		uint16_t at, part;

		memcpy(&at, data, 2);
		memcpy(&part, data + 2, 2);
		list[n] = (struct nccl_unpack_frag){ n * 4096, part % 1024, at % LEN_MAX };
		if (len >= 12 && at >> 12 == 15) {
			memcpy(&list[n].src_off, data + 4, 4);
			memcpy(&list[n].dst_off, data + 4, 8);
		}
	}
	return n;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t count, n = 0, len, sum = 0;
	bool good;

	if (size < 2)
		return 0;
	len = (uint32_t)(data[0] | data[1] << 8) % (LEN_MAX + 1);
	count = make(data + 2, size - 2);
	good = plug_frags_check(list, count, len, 0, out, &n) == 0;
	/* empty fragments may lie anywhere: the slow way leaves them out, too */
	for (uint32_t i = 0; i < count; i++)
		if (list[i].len == 0)
			list[i].dst_off = list[i].src_off = 0;
	promise(good == covers(count, len));
	for (uint32_t i = 0; good && i < n; i++)
		sum += out[i].len;
	promise(!good || (sum == len && plug_frags_sum(list, count, len) == len));
	return 0;
}
