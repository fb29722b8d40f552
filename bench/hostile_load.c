/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hostile connections: what they say is a string of bytes, how they say it a manner. With a
 * secret the handshakes are recorded from a client that has it, or another.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "hostile.h"
#include "proto/frame.h"

#define LIFE_NS (10 * TCPX_SEC) /* nobody stays longer */
#define OPEN_MAX 8192

enum manner { SAY_AND_WAIT, SAY_AND_CLOSE, DRIP, MIRROR, TO_DATA_PORT };

struct script {
	uint8_t bytes[2048];
	size_t len;
};

struct guest {
	int fd;
	enum manner manner;
	const struct script *script;
	size_t said, end;
	uint64_t born_ns, next_ns;
};

struct load {
	struct shared *shared;
	struct script hello, clear, garbage, wrong;
	struct guest guest[OPEN_MAX];
	uint32_t count, turn;
	int epoll;
	bool sealed;
};

static void
add_frame(struct script *s, uint8_t type, const struct tcpx_buf *b)
{
	tcpx_frame_head_write(s->bytes + s->len, type, 0, (uint32_t)b->pos);
	memcpy(s->bytes + s->len + TCPX_FRAME_HEAD, b->data, b->pos);
	s->len += TCPX_FRAME_HEAD + b->pos;
}

static void
add_start(struct script *s, bool sealed)
{
	struct tcpx_start start = { .version_min = TCPX_PROTO_VERSION,
				    .version_max = TCPX_PROTO_VERSION, .sealed = sealed,
				    .kind = TCPX_START_NEW };
	uint8_t room[64];
	struct tcpx_buf b;

	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_start_write(&b, &start);
	add_frame(s, TCPX_FR_START, &b);
}

static void
add_hello(struct script *s, uint64_t session)
{
	struct tcpx_hello h = { .session = session, .role = TCPX_ROLE_OPENER, .name = "foe",
				.incarnation = session, .provider = "sock", .channels = 64,
				.window = 4, .chunk_max = 65536, .credit_xfers = 4,
				.credit_list_bytes = 1 << 20, .nic_count = 1 };
	uint8_t room[1024];
	struct tcpx_buf b;

	h.nic[0].addr = (struct tcpx_addr){ .family = 4, .ip = { 127, 0, 1, 1 }, .prefix = 8 };
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_hello_write(&b, &h);
	add_frame(s, TCPX_FR_HELLO, &b);
}

/* The first flight of a client that knows this secret. */
static int
add_flight(struct script *s, const char *files)
{
	struct tcpx_secret *secret;
	struct tcpx_seal *seal;
	uint8_t room[2048];
	ssize_t n = -1;
	int rc = tcpx_secret_open(files, &secret);

	if (rc)
		return rc;
	if (secret->ops->start(secret->lib, true, secret->psk, 1, &seal) == 0) {
		n = secret->ops->take(seal, NULL, 0, room, sizeof(room));
		secret->ops->end(seal);
	}
	if (n > 0 && (size_t)n <= sizeof(s->bytes) - s->len) {
		memcpy(s->bytes + s->len, room, (size_t)n);
		s->len += (size_t)n;
	}
	tcpx_secret_close(secret);
	return n > 0 ? 0 : -EIO;
}

static int
wrong_secret(char path[32])
{
	int fd;

	strcpy(path, "/tmp/tcpx-wrong-XXXXXX");
	fd = mkstemp(path);
	if (fd < 0 || write(fd, "a secret that nobody else has, of many bytes", 44) != 44)
		return -EIO;
	return close(fd);
}

static int
write_scripts(struct load *l, const char *secret)
{
	char path[32];
	int rc = 0;

	for (size_t i = 0; i < sizeof(l->garbage.bytes); i++)
		l->garbage.bytes[i] = (uint8_t)(i * 167 + 13);
	l->garbage.len = sizeof(l->garbage.bytes);
	l->sealed = secret[0];
	add_start(&l->clear, false);
	add_hello(&l->clear, 4711);
	add_start(&l->hello, l->sealed);
	add_start(&l->wrong, true);
	if (!l->sealed) {
		add_hello(&l->hello, 4712);
		return 0;
	}
	rc = add_flight(&l->hello, secret);
	if (rc == 0)
		rc = wrong_secret(path);
	if (rc == 0) {
		rc = add_flight(&l->wrong, path);
		unlink(path);
	}
	return rc;
}

/* ---- connections ---- */

/* Silent; drop by drop; garbage; replayed, closed and left; mirrored; a wrong secret; cut at some byte;
 * half a handshake of its own; half a data connection. */
static void
choose(struct load *l, struct guest *g)
{
	static struct script none;
	uint32_t kind = l->turn++ % 9;

	g->script = &l->hello;
	g->manner = SAY_AND_WAIT;
	if (kind == 0)
		g->script = &none;
	else if (kind == 1)
		g->manner = DRIP;
	else if (kind == 2)
		g->script = &l->garbage;
	else if (kind == 3)
		g->manner = SAY_AND_CLOSE;
	else if (kind == 4)
		g->manner = MIRROR;
	else if (kind == 5)
		g->script = l->sealed ? &l->wrong : &l->wrong;
	else if (kind == 8)
		g->manner = TO_DATA_PORT;
	g->end = kind == 6 ? l->turn / 9 % (l->hello.len + 1) : g->script->len;
	if (g->manner == TO_DATA_PORT)
		g->end = 3;
}

/* Without a secret each half handshake is another peer's. */
static void
say(struct load *l, struct guest *g, size_t most)
{
	uint8_t bytes[2048];
	size_t n = g->end - g->said;

	if (n > most)
		n = most;
	memcpy(bytes, g->script->bytes + g->said, n);
	if (!l->sealed && g->manner == SAY_AND_WAIT && g->script == &l->hello && g->end == l->hello.len)
		for (size_t i = 0; i < 4; i++) /* of session and incarnation */
			bytes[34 + TCPX_FRAME_HEAD + i] = bytes[34 + TCPX_FRAME_HEAD + 9 + i] =
				(uint8_t)(l->turn >> 8 * i);
	if (n && send(g->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
		g->said += n;
}

static void
close_guest(struct load *l, uint32_t i)
{
	close(l->guest[i].fd);
	l->guest[i] = l->guest[--l->count];
}

static void
begin(struct load *l, uint16_t port, uint64_t now_ns)
{
	struct guest *g = &l->guest[l->count];
	struct sockaddr_in at = { .sin_family = AF_INET };

	if (l->count == OPEN_MAX)
		close_guest(l, 0), g = &l->guest[l->count];
	memset(g, 0, sizeof(*g));
	choose(l, g);
	if (g->manner == TO_DATA_PORT && l->shared->data_port && port == l->shared->port)
		port = l->shared->data_port, inet_pton(AF_INET, DATA_NIC, &at.sin_addr);
	else
		inet_pton(AF_INET, HOST, &at.sin_addr);
	at.sin_port = htons(port);
	g->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	g->born_ns = g->next_ns = now_ns;
	if (g->fd < 0 || connect(g->fd, (struct sockaddr *)&at, sizeof(at)) != 0) {
		l->shared->refused++;
		if (g->fd >= 0)
			close(g->fd);
		return;
	}
	l->shared->made++;
	if (g->manner == TO_DATA_PORT)
		(void)!send(g->fd, "TCX", 3, MSG_NOSIGNAL | MSG_DONTWAIT);
	else if (g->manner != DRIP)
		say(l, g, SIZE_MAX);
	if (g->manner == SAY_AND_CLOSE)
		close(g->fd);
	else
		l->count++;
}

/* Some of all, in turn: drips, mirrors, those whose time is over or who were closed. */
static void
tend(struct load *l, uint64_t now_ns)
{
	uint8_t in[4096];
	ssize_t n;

	for (uint32_t i = 0; i < l->count; i++) {
		struct guest *g = &l->guest[i];

		if (now_ns < g->next_ns)
			continue;
		g->next_ns = now_ns + 200 * TCPX_MS;
		n = recv(g->fd, in, sizeof(in), MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN) || now_ns > g->born_ns + LIFE_NS) {
			close_guest(l, i--);
			continue;
		}
		if (g->manner == MIRROR && n > 0)
			(void)!send(g->fd, in, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (g->manner == DRIP)
			say(l, g, 1);
	}
}

int
hostile_generate(struct shared *s, uint16_t port, int phase, uint32_t per_second,
		 const char *secret_file)
{
	struct load *l = calloc(1, sizeof(*l));
	uint64_t now_ns, next_ns = tcpx_clock_now(&tcpx_clock_system), tend_ns = next_ns;
	int rc;

	if (!l)
		return -ENOMEM;
	l->shared = s;
	rc = write_scripts(l, secret_file);
	while (rc == 0 && s->phase == phase) {
		now_ns = tcpx_clock_now(&tcpx_clock_system);
		for (; next_ns <= now_ns; next_ns += TCPX_SEC / per_second)
			begin(l, port, now_ns);
		if (now_ns >= tend_ns) {
			tend(l, now_ns);
			tend_ns = now_ns + 50 * TCPX_MS;
		}
		usleep(1000);
	}
	while (l->count)
		close_guest(l, 0);
	free(l);
	return rc;
}
