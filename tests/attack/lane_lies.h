/* SPDX-License-Identifier: Apache-2.0 */
/* What lies about lanes share: words of a liar, and one lane each way between it and the host. */
#ifndef ATTACK_LANE_LIES_H
#define ATTACK_LANE_LIES_H

#include "lies.h"

#include "proto/lane.h"

#define OURS      (1ull << 63)         /* in a lane's word: the host has opened it */
#define LANE_ROOM (2 * TCPX_LANE_UNIT) /* of the host's receive                    */

/* A lane from the liar, on which the host has announced a receive. */
struct heard {
	struct liar l;
	tcpx_lane *lane;
	tcpx_xfer *recv;
};

/* A lane from the host to the liar, which has answered. */
struct spoken {
	struct liar l;
	tcpx_peer *to;
	tcpx_lane *lane;
};

static inline uint64_t
word(uint32_t number)
{
	return tcpx_lane_word(false, number);
}

void say_open(struct liar *l, uint64_t lane, const uint8_t key[TCPX_LANE_KEY]);
void say_posts(struct liar *l, uint64_t lane, uint64_t first, uint16_t count, uint64_t len);
/* Says LANE_FAIL. @sending is 0, 1 or a lie. */
void say_failure(struct liar *l, uint64_t lane, uint8_t sending, int32_t code);
/* The host's answer to LANE_OPEN: 0, or the code of LANE_FAIL. */
int answer(struct liar *l);
void heard_open(struct heard *h);
void heard_close(struct heard *h);
void spoken_open(struct spoken *s);
void spoken_close(struct spoken *s);
/* The verdict on what was said is @want, or LIVES. */
void judge(struct liar *l, const char *what, int want);

#endif
