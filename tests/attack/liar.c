/* SPDX-License-Identifier: Apache-2.0 */
/* See liar.h. */
#include "liar.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "net/sock/wire.h"

static uint64_t peers; /* so that each is another incarnation */

bool
liar_greet(struct liar *l, tcpx_engine *host, const struct tcpx_hello *h)
{
	uint8_t payload[TCPX_FRAME_MAX];
	struct tcpx_buf b;
	size_t len;

	memset(l, 0, sizeof(*l));
	for (int i = 0; i < LIAR_CHANNELS; i++)
		l->tx[i] = l->rx[i] = -1;
	l->session = h->session;
	foe_dial(&l->f, "127.0.3.1", tcpx_port(host));
	foe_start(&l->f, false, TCPX_START_NEW, 0);
	foe_hello(&l->f, h);
	if (!foe_get(&l->f, TCPX_FR_HANDLES, payload, &len))
		return false;
	tcpx_buf_init_const(&b, payload, len);
	assert_int_equal(tcpx_handles_read(&b, &l->handles), 0);
	return true;
}

struct tcpx_chan_id
liar_chan_id(const struct liar *l, uint32_t i)
{
	struct tcpx_chan_id id = { .session = l->session, .channel = (uint16_t)(i % LIAR_CHANNELS),
				   .generation = 1, .sending_side_is_opener = i < LIAR_CHANNELS };
	uint8_t room[8];
	struct tcpx_buf b;

	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_buf_put_u8(&b, id.sending_side_is_opener);
	tcpx_buf_put_u16(&b, id.channel);
	tcpx_buf_put_u16(&b, id.generation);
	memcpy(id.token, l->handles.seed, sizeof(id.token));
	for (size_t k = 0; k < b.pos; k++)
		id.token[k] ^= room[k];
	return id;
}

int
liar_dial_data(const struct liar *l, uint32_t i)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	struct timeval limit = { .tv_sec = WAIT_MS / 1000 };
	struct tcpx_chan_id id;
	struct tcpx_addr addr;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	assert_true(tcpx_sock_handle_parse(l->handles.handle[i], &addr, &id));
	memcpy(&at.sin_addr, addr.ip, 4);
	at.sin_port = htons(addr.port);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
	/* what is sent is there when the call returns: nothing waits for an acknowledgement */
	assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

void
liar_wire(struct liar *l)
{
	struct tcpx_readiness r = { .forward_up = 3, .backward_up = 3 };
	uint8_t room[TCPX_SOCK_PREAMBLE_BYTES];
	uint8_t payload[TCPX_FRAME_MAX];
	struct tcpx_buf b;
	size_t len;

	for (uint32_t i = 0; i < 2 * LIAR_CHANNELS; i++) {
		int *fd = i < LIAR_CHANNELS ? &l->tx[i] : &l->rx[i - LIAR_CHANNELS];
		struct tcpx_chan_id id = liar_chan_id(l, i);
		uint8_t answer[TCPX_SOCK_ANSWER_BYTES];

		*fd = liar_dial_data(l, i);
		tcpx_sock_preamble_format(&id, room);
		assert_int_equal(send(*fd, room, sizeof(room), MSG_NOSIGNAL), sizeof(room));
		assert_int_equal(recv(*fd, answer, sizeof(answer), MSG_WAITALL), sizeof(answer));
	}
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_ready_write(&b, &r);
	liar_put(l, TCPX_FR_READY, &b);
	assert_true(foe_get(&l->f, TCPX_FR_READY, payload, &len));
}

void
liar_open(struct liar *l, tcpx_engine *host)
{
	struct tcpx_hello h = foe_introduction("liar");

	h.session = h.incarnation = 5000 + ++peers;
	assert_true(liar_greet(l, host, &h));
	liar_wire(l);
}

void
liar_close(struct liar *l)
{
	for (int i = 0; i < LIAR_CHANNELS; i++) {
		if (l->tx[i] >= 0)
			close(l->tx[i]);
		if (l->rx[i] >= 0)
			close(l->rx[i]);
	}
	foe_close(&l->f);
}

void
liar_put_as(struct liar *l, uint8_t type, uint64_t number, const void *payload, size_t len)
{
	uint8_t room[TCPX_FRAME_MAX];

	tcpx_frame_head_write(room, type, number, (uint32_t)len);
	if (len)
		memcpy(room + TCPX_FRAME_HEAD, payload, len);
	foe_say(&l->f, room, TCPX_FRAME_HEAD + len);
}

void
liar_put(struct liar *l, uint8_t type, const struct tcpx_buf *payload)
{
	assert_false(payload->bad);
	liar_put_as(l, type, ++l->number, payload->data, payload->pos);
}

void
liar_put_u64(struct liar *l, uint8_t type, uint64_t v)
{
	uint8_t room[8];
	struct tcpx_buf b;

	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_buf_put_u64(&b, v);
	liar_put(l, type, &b);
}

int
liar_verdict(struct liar *l, uint64_t id)
{
	static const uint8_t ends[] = { TCPX_FR_DONE, TCPX_FR_BYE, TCPX_FR_REFUSE };
	uint8_t payload[TCPX_FRAME_MAX], type;
	char text[TCPX_TEXT_MAX];
	struct tcpx_done d;
	struct tcpx_buf b;
	int32_t code;
	size_t len;

	while (foe_get_one_of(&l->f, ends, sizeof(ends), &type, payload, &len)) {
		tcpx_buf_init_const(&b, payload, len);
		if (type == TCPX_FR_DONE) {
			assert_int_equal(tcpx_done_read(&b, &d), 0);
			if (d.id == id)
				return d.code;
			continue;
		}
		assert_int_equal(tcpx_refuse_read(&b, &code, text, NULL), 0);
		return code;
	}
	return TCPX_EPEERGONE;
}

void
liar_send(struct liar *l, int channel, const struct tcpx_head *h, uint32_t len)
{
	uint8_t head[TCPX_SOCK_HEAD_BYTES], tail[TCPX_SOCK_TAIL_BYTES], *payload = malloc(len + 1);

	memset(payload, 0x77, len);
	tcpx_sock_head_format(h, head);
	tcpx_sock_tail_format(h, false, tail);
	(void)!send(l->tx[channel], head, sizeof(head), MSG_NOSIGNAL);
	(void)!send(l->tx[channel], payload, len, MSG_NOSIGNAL);
	(void)!send(l->tx[channel], tail, sizeof(tail), MSG_NOSIGNAL);
	free(payload);
}

void
assert_closed(const char *what, int fd)
{
	uint8_t in[256];
	ssize_t n;

	do
		n = recv(fd, in, sizeof(in), 0);
	while (n > 0);
	if (n < 0 && errno != ECONNRESET)
		fail_msg("%s: the channel is still open", what);
}
