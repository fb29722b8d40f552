/* SPDX-License-Identifier: Apache-2.0 */
/* The man in the middle. See foe.h. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "foe.h"

#define NOTE_MIN 64 /* no acknowledgement or ping is so long */

static void
drop(struct relay *r)
{
	if (r->near >= 0)
		close(r->near);
	if (r->far >= 0)
		close(r->far);
	r->near = r->far = -1;
	r->passed[0] = r->passed[1] = 0;
}

static void
take_in(struct relay *r)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)r->target_port) };
	int fd = accept(r->listener, NULL, NULL);

	if (fd < 0)
		return;
	drop(r);
	r->near = fd;
	if (r->mode == RELAY_SPEAK)
		(void)!send(r->near, r->words, r->word_count, MSG_NOSIGNAL);
	if (r->mode == RELAY_ON) {
		memcpy(&at.sin_addr, (uint8_t[]){ 127, 0, 3, 1 }, 4);
		r->far = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (connect(r->far, (struct sockaddr *)&at, sizeof(at)) != 0)
			drop(r);
	}
	r->seen++;
}

/* As far as frames can be seen: START is left out, RESUME becomes RESUMED. */
static void
give_back(struct relay *r, uint8_t *data, size_t len)
{
	struct tcpx_frame_head h;
	size_t skip = r->passed[0] < WHOLE_START ? (size_t)(WHOLE_START - r->passed[0]) : 0;

	r->passed[0] += (int)len;
	if (len <= skip)
		return;
	data += skip;
	len -= skip;
	if (tcpx_frame_head_read(data, len, &h) == 0 && h.type == TCPX_FR_RESUME)
		tcpx_frame_head_write(data, TCPX_FR_RESUMED, 0, h.len - TCPX_FRAME_HEAD);
	(void)!send(r->near, data, len, MSG_NOSIGNAL);
}

static void
alter(struct relay *r, int way, uint8_t *data, int len)
{
	int at = r->flip_at - r->passed[way];

	if (way == r->flip_way && r->flip_at >= 0 && at >= 0 && at < len) {
		data[at] ^= (uint8_t)r->flip_bits;
		r->flip_at = -1;
	}
}

static void
pass(struct relay *r, int way)
{
	int from = way ? r->far : r->near, to = way ? r->near : r->far;
	int how;
	uint8_t data[4096];
	ssize_t n = recv(from, data, sizeof(data), 0);

	/* after RELAY_MIRROR there is no other end */
	if (n <= 0 || r->mode == RELAY_SPEAK || (r->mode == RELAY_ON && to < 0)) {
		drop(r);
		return;
	}
	if (r->mode == RELAY_MIRROR) {
		give_back(r, data, (size_t)n);
		return;
	}
	if (way == 0 && r->seen == 1 && r->heard_len + n <= (ssize_t)sizeof(r->heard)) {
		memcpy(r->heard + r->heard_len, data, (size_t)n);
		r->heard_len += (int)n;
	}
	alter(r, way, data, (int)n);
	r->passed[way] += (int)n;
	how = way == 0 && n >= NOTE_MIN ? atomic_exchange(&r->spoil, LEAVE) : LEAVE;
	if (how == FLIP)
		data[n - 1] ^= 1;
	(void)!send(to, data, (size_t)(how == CUT_SHORT ? n / 2 : n), MSG_NOSIGNAL);
	if (how == SAY_TWICE)
		(void)!send(to, data, (size_t)n, MSG_NOSIGNAL);
	if (how == CUT_SHORT)
		drop(r);
}

static void *
carry(void *arg)
{
	struct relay *r = arg;

	while (!r->stop) {
		struct pollfd p[3] = { { .fd = r->listener, .events = POLLIN },
				       { .fd = r->near, .events = POLLIN },
				       { .fd = r->far, .events = POLLIN } };

		poll(p, 3, 1); /* stop and cut are looked at */
		if (atomic_exchange(&r->cut, false))
			drop(r);
		else if (p[1].revents)
			pass(r, 0);
		else if (p[2].revents)
			pass(r, 1);
		else if (p[0].revents)
			take_in(r);
	}
	drop(r);
	return NULL;
}

void
relay_open(struct relay *r, tcpx_engine *target)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);

	memset(r, 0, sizeof(*r));
	memcpy(&at.sin_addr, (uint8_t[]){ 127, 0, 4, 1 }, 4);
	r->near = r->far = -1;
	r->flip_at = -1;
	r->flip_bits = 0x10;
	r->target_port = tcpx_port(target);
	r->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(r->listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(r->listener, 16), 0);
	assert_int_equal(getsockname(r->listener, (struct sockaddr *)&at, &len), 0);
	r->port = ntohs(at.sin_port);
	assert_int_equal(pthread_create(&r->thread, NULL, carry, r), 0);
}

void
relay_close(struct relay *r)
{
	r->stop = true;
	pthread_join(r->thread, NULL);
	close(r->listener);
}

void
relay_cut(struct relay *r)
{
	r->cut = true;
}

void
relay_wait(struct relay *r, int more, tcpx_engine *e)
{
	int want = r->seen + more, patience = WAIT_MS;
	tcpx_note *n;

	while (r->seen < want) {
		assert_true(--patience);
		assert_code(tcpx_note_wait(e, 1, &n), -EAGAIN);
	}
}
