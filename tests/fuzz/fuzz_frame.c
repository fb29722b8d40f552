/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All frame parsers: the first byte chooses one. What a parser accepts, its formatter
 * can write, in as many bytes (START may have been longer).
 */
#include "fuzz.h"
#include "unit/proto/frame_codec.h"

FUZZ_QUIETLY

static void
parse_head(const uint8_t *data, size_t len)
{
	struct tcpx_frame_head head;

	if (tcpx_frame_head_read(data, len, &head) == 0)
		promise(head.len >= TCPX_FRAME_HEAD && head.len <= tcpx_frame_most(head.type));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint8_t room[TCPX_LANE_DATA_HEAD + TCPX_LANE_DATA_MAX];
	static union any frame;
	const struct codec *c;
	struct tcpx_buf in, out;

	if (len < 1 || len > sizeof(room))
		return 0;
	if (data[0] % (CODECS + 1) == CODECS) {
		parse_head(data + 1, len - 1);
		return 0;
	}
	c = &codecs[data[0] % (CODECS + 1)];
	tcpx_buf_init_const(&in, data + 1, len - 1);
	tcpx_buf_init(&out, room, sizeof(room));
	if (c->get(&in, &frame) != 0)
		return 0;
	c->put(&out, &frame);
	promise(!out.bad);
	promise(out.pos == len - 1 || (c->grows && out.pos < len - 1));
	return 0;
}
