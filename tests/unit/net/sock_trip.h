/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages one by one through the channel of a rig, with payload in whole pages like the
 * core's staging buffers.
 */
#ifndef SOCK_TRIP_H
#define SOCK_TRIP_H

#include "sock_rig.h"

#define PAGE 4096u
#define K    1024u
#define M    (1024u * K)

struct trip {
	struct rig *r;
	uint8_t *src, *dst; /* whole pages */
	struct iovec iov[64];
	struct tcpx_tx_msg msg;
	struct tcpx_head head;
	uint64_t seq;
	size_t portion; /* most bytes taken in one call */
	size_t got;
	bool sent, opened;
	int end;
	int cut; /* sends that stopped with bytes in the pipe */
};

struct trip *trip_new(struct rig *r);
void trip_free(struct trip *t);
/* The next message; trip_send() and trip_recv() are one call each. */
void trip_begin(struct trip *t, uint32_t len, bool stable, int pieces);
int trip_send(struct trip *t);
void trip_recv(struct trip *t);
/* Runs it to its end and compares the payload; gives its fate. */
int trip_run(struct trip *t);
/* All of that with a message that is well. */
void trip_owned(struct trip *t, uint32_t len);
/* Messages of lengths around the ends of pages and pipes; gives their bytes. */
uint64_t trip_all_lengths(struct trip *t);
/* So that the messages of a rig are cut. */
void trip_small_buffers(struct rig *r);
struct tcpx_channel_info trip_stats(struct rig *r);
int trip_open_auto(void **state);
int trip_open_off(void **state);
int trip_open_splice(void **state);
int trip_open_msg(void **state);

#define WITH(way, f) { #f " (" #way ")", f, trip_open_##way, rig_close, NULL }

#endif
