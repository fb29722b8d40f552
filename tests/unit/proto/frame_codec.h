/* SPDX-License-Identifier: Apache-2.0 */
/* Every frame type behind one shape, with random values, for tests of all types. */
#ifndef FRAME_CODEC_H
#define FRAME_CODEC_H

#include "base/rng.h"
#include "proto/frame.h"

#define PAYLOAD_MAX (TCPX_FRAME_MAX - TCPX_FRAME_HEAD)

struct refusal {
	int32_t code;
	char text[TCPX_TEXT_MAX];
	uint32_t wait_ms;
};

union any {
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
	struct refusal refuse;
};

struct codec {
	const char *name;
	void (*fill)(union any *a, struct tcpx_rng *rng); /* a is zeroed */
	void (*put)(struct tcpx_buf *b, const union any *a);
	int (*get)(struct tcpx_buf *b, union any *a);
	bool grows; /* later versions may append */
	size_t may_lack; /* bytes of an optional end, which fill() sets */
};

enum { START, HELLO, RESUME, HANDLES, READY, OPEN, LIST, DONE, CHANNEL_DOWN, MESSAGE, CHANNEL_HANDLE,
       LANE_OPEN, LANE_POST, LANE_FAIL, LANE_DONE, LANE_DATA, REFUSE, CODECS };
extern const struct codec codecs[CODECS];

/* What notes, lists and payloads of these frames are made of. */
extern const uint8_t filler[PAYLOAD_MAX];

#endif
