/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All frame parsers: the first byte chooses one. What a parser accepts, its formatter
 * can write, in as many bytes (START may have been longer).
 */
#include "fuzz.h"
#include "proto/frame.h"

FUZZ_QUIETLY

static union {
	struct tcpx_start start;
	struct tcpx_hello hello;
	struct tcpx_resume resume;
	struct tcpx_handles handles;
	struct tcpx_readiness ready;
	struct tcpx_open open;
	struct tcpx_listframe list;
	struct tcpx_done done;
	struct tcpx_chan_event event;
	struct tcpx_message message;
	struct tcpx_chan_handle chan_handle;
	struct tcpx_lane_opening lane_opening;
	struct tcpx_lane_posts lane_posts;
	struct tcpx_lane_failure lane_failure;
	struct tcpx_lane_progress lane_progress;
	struct tcpx_lane_data lane_data;
	struct {
		int32_t code;
		char text[TCPX_TEXT_MAX];
	} refuse;
	struct tcpx_frame_head head;
} v;

#define AGAIN(noun, member)                                                                \
	if (tcpx_##noun##_read(&in, &v.member) != 0)                                       \
		return 0;                                                                  \
	tcpx_##noun##_write(&out, &v.member);                                              \
	break

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint8_t room[TCPX_LANE_DATA_HEAD + TCPX_LANE_DATA_MAX];
	struct tcpx_buf in, out;

	if (len < 1 || len > sizeof(room))
		return 0;
	tcpx_buf_init_const(&in, data + 1, len - 1);
	tcpx_buf_init(&out, room, sizeof(room));
	switch (data[0] % 18) {
	case 17:
		AGAIN(lane_progress, lane_progress);
	case 16:
		AGAIN(lane_data, lane_data);
	case 15:
		AGAIN(lane_failure, lane_failure);
	case 14:
		AGAIN(lane_posts, lane_posts);
	case 13:
		AGAIN(lane_opening, lane_opening);
	case 12:
		AGAIN(chan_handle, chan_handle);
	case 11:
		AGAIN(start, start);
	case 0:
		AGAIN(hello, hello);
	case 1:
		AGAIN(resume, resume);
	case 2:
		AGAIN(handles, handles);
	case 3:
		AGAIN(ready, ready);
	case 4:
		AGAIN(done, done);
	case 5:
		AGAIN(chan_event, event);
	case 9:
		AGAIN(message, message);
	case 6:
		if (tcpx_open_read(&in, &v.open) != 0)
			return 0;
		tcpx_open_write(&out, &v.open);
		tcpx_buf_put_bytes(&out, v.open.list, v.open.list_len);
		tcpx_open_finish(&out, v.open.flags, v.open.payload,
				 v.open.payload ? (uint16_t)v.open.total : 0);
		break;
	case 7:
		if (tcpx_listframe_read(&in, &v.list) != 0)
			return 0;
		tcpx_listframe_write(&out, v.list.id);
		tcpx_buf_put_bytes(&out, v.list.list, v.list.list_len);
		tcpx_listframe_finish(&out, v.list.more);
		break;
	case 8:
		if (tcpx_refuse_read(&in, &v.refuse.code, v.refuse.text) != 0)
			return 0;
		tcpx_refuse_write(&out, v.refuse.code, v.refuse.text);
		break;
	default:
		if (tcpx_frame_head_read(data + 1, len - 1, &v.head) != 0)
			return 0;
		promise(v.head.len >= TCPX_FRAME_HEAD && v.head.len <= tcpx_frame_most(v.head.type));
		return 0;
	}
	promise(!out.bad);
	promise(out.pos == len - 1 || (data[0] % 18 == 11 && out.pos < len - 1));
	return 0;
}
