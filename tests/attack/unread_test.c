/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer that asks and never reads what it is answered. What waits for it has its limit, at which its
 * session ends, and all is given back.
 */
#include "lies.h"

#include <sched.h>
#include <sys/socket.h>

#include "core/session/peer.h"

#define BATCH    64
#define READ_LEN 8192u       /* as much as DONE carries                    */
#define KERNEL   (16u << 20) /* more than the buffers of a connection      */
#define ANSWERS  (4u << 20)  /* that may wait: TCPX_CTRL_MAX               */
#define PONGS    (64u << 10) /* ... of those without a number: TCPX_CTRL_RAW */
#define MEMORY   3           /* bytes for each of these, at most: ctrl_memory_test */

static struct {
	struct liar l;
	tcpx_peer *from;      /* the liar, at the host */
	uint64_t before, most; /* bytes that are kept for it */
} scene;

static void
begin(void)
{
	int least = 4096;

	liar_open(&scene.l, lies_world()->host);
	assert_int_equal(setsockopt(scene.l.f.fd, SOL_SOCKET, SO_RCVBUF, &least, sizeof(least)), 0);
	assert_ok(tcpx_peer_find(lies_world()->host, "liar", &scene.from));
	scene.before = scene.most = tcpx_quota_used(&scene.from->kept);
}

static int
status(void)
{
	struct tcpx_peer_info info = { .struct_size = sizeof(info) };

	assert_ok(tcpx_peer_query(scene.from, &info));
	return info.status;
}

/* False: the session ended before it had heard so many frames. */
static bool
heard(uint64_t frames)
{
	while (counters_of(lies_world()->host).ctrl_frames_rx < frames) {
		if (status() != 0)
			return false;
		sched_yield();
	}
	return true;
}

static void
note_most(void)
{
	uint64_t now = tcpx_quota_used(&scene.from->kept);

	scene.most = now > scene.most ? now : scene.most;
}

static void
end(const char *what)
{
	assert_verdict(what, status(), TCPX_ELIMIT);
	liar_close(&scene.l);
	while (tcpx_quota_used(&scene.from->kept) > scene.before)
		sched_yield();
	tcpx_peer_free(scene.from);
	assert_witness_is_well();
}

TEST(bytes_that_it_asked_for)
{
	uint64_t frames, said = 0;
	uint8_t room[512];
	struct tcpx_buf b;

	begin();
	do {
		frames = counters_of(lies_world()->host).ctrl_frames_rx + BATCH;
		for (int i = 0; i < BATCH; i++, said++) {
			tcpx_buf_init(&b, room, sizeof(room));
			write_open(&scene.l, &b, TCPX_WIRE_READ, READ_LEN, false);
			liar_put(&scene.l, TCPX_FR_OPEN, &b);
		}
		note_most();
	} while (heard(frames));
	assert_in_range(said, ANSWERS / 2 / READ_LEN, 2 * ANSWERS / READ_LEN);
	assert_in_range(scene.most, 1u << 20, scene.before + MEMORY * ANSWERS);
	end("READs whose bytes are not read");
}

TEST(answers_to_its_pings)
{
	enum { MANY = 2000 };
	uint8_t pings[MANY * TCPX_FRAME_HEAD];
	uint64_t frames, said = 0;

	for (int i = 0; i < MANY; i++)
		tcpx_frame_head_write(pings + i * TCPX_FRAME_HEAD, TCPX_FR_PING, 0, 0);
	begin();
	do {
		frames = counters_of(lies_world()->host).ctrl_frames_rx + MANY;
		foe_say(&scene.l.f, pings, sizeof(pings));
		said += sizeof(pings);
		note_most();
	} while (heard(frames));
	assert_in_range(said, PONGS, KERNEL);
	assert_in_range(scene.most, 1, scene.before + MEMORY * PONGS);
	end("PINGs whose answers are not read");
}

int
main(void)
{
	return run_cases(lies_begin, lies_end);
}
