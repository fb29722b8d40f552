/* SPDX-License-Identifier: Apache-2.0 */
/* See foe.h. */
#include "foe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/engine/engine.h"
#include "core/session/session.h"
#include "net/registry.h"
#include "seal/tls_lib.h"

struct tcpx_secret *
secret_of(const char *text, uint64_t records_max)
{
	char path[] = "/tmp/tcpx-secret-XXXXXX";
	int fd = mkstemp(path), rc;
	struct tcpx_secret *s;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	rc = tcpx_secret_open(path, &s);
	unlink(path);
	if (rc)
		return NULL;
	if (records_max)
		s->lib->records_max = records_max;
	return s;
}

/* ---- a body that proves and seals nothing ---- */

static int
open_start(struct tcpx_seal_lib *lib, bool opener, const struct tcpx_seal_psk *psk, uint32_t count,
	   struct tcpx_seal **out)
{
	(void)opener, (void)psk, (void)count;
	*out = (struct tcpx_seal *)lib;
	return 0;
}

static void
open_end(struct tcpx_seal *s)
{
	(void)s;
}

static ssize_t
open_feed(struct tcpx_seal *s, const void *in, size_t len, void *out, size_t cap)
{
	(void)s;
	assert_true(len <= cap);
	if (len)
		memcpy(out, in, len);
	return (ssize_t)len;
}

static ssize_t
open_take(struct tcpx_seal *s, const void *plain, size_t len, void *out, size_t cap)
{
	return open_feed(s, plain, len, out, cap);
}

static bool
open_proven(const struct tcpx_seal *s)
{
	return s != NULL;
}

static int
open_export(struct tcpx_seal *s, const char *label, const void *context, size_t context_len,
	    void *out, size_t out_len)
{
	(void)s, (void)label;
	memset(out, 0, out_len);
	if (context_len)
		memcpy(out, context, context_len < out_len ? context_len : out_len);
	return 0;
}

static const struct tcpx_seal_ops open_ops = {
	.name = "open", .start = open_start, .end = open_end, .feed = open_feed, .take = open_take,
	.rest = open_end, .proven = open_proven, .export = open_export,
};
const struct tcpx_secret no_secret = { .ops = &open_ops, .count = 1,
				       .lib = (struct tcpx_seal_lib *)&open_ops };

/* ---- engines ---- */

static void
swallow(void *arg, int level, const char *line)
{
	(void)arg;
	if (getenv("RIG_LOG"))
		fprintf(stderr, "# %d %s\n", level, line);
}

tcpx_engine *
open_with(const char *name, const struct tcpx_secret *secret, const char *setting)
{
	const char *all[] = { "TCPX_NICS=127.0.1.1", "TCPX_CHANNELS=2", "TCPX_THREADS=1",
			      "TCPX_STATS=off", "TCPX_DEBUG=INFO", setting, NULL };
	struct engine_env env = { .clock = tcpx_clock_system, .net = &tcpx_net_sock,
				  .secret = secret };
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	tcpx_engine *e;

	opts.name = name;
	opts.settings = all;
	opts.log = swallow;
	opts.listen = "127.0.3.1:0";
	assert_ok(tcpx_engine_open(&opts, &env, &e));
	e->limit.breach_ns = 0; /* many lie here, all from one address */
	return e;
}

struct session *
session_of(tcpx_engine *e)
{
	struct tcpx_node *n = e->registry.sessions.next;

	return n == &e->registry.sessions ? NULL : tcpx_container(n, struct session, in_engine);
}

static void
look_again(tcpx_engine *e)
{
	tcpx_note *n;

	assert_code(tcpx_note_wait(e, 1, &n), -EAGAIN);
}

void
wait_resumes(tcpx_engine *e, uint64_t count)
{
	for (int patience = WAIT_MS; counters_of(e).ctrl_resumes < count; look_again(e))
		assert_true(--patience);
}

/* ---- by hand ---- */

static struct sockaddr_in
place(const char *ip, uint16_t port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };

	assert_int_equal(inet_pton(AF_INET, ip, &at.sin_addr), 1);
	return at;
}

static int
dial(const char *ip, uint16_t port)
{
	struct sockaddr_in at = place(ip, port);
	struct timeval limit = { .tv_sec = WAIT_MS / 1000 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	close(fd);
	return -1;
}

void
foe_dial(struct foe *f, const char *ip, uint16_t port)
{
	memset(f, 0, sizeof(*f));
	f->fd = dial(ip, port);
	assert_true(f->fd >= 0);
}

/* What it attacks may have hung up. */
static void
send_all(int fd, const void *data, size_t len)
{
	(void)!send(fd, data, len, MSG_NOSIGNAL);
}

void
foe_say(struct foe *f, const void *data, size_t len)
{
	uint8_t room[TCPX_FRAME_MAX + TCPX_SEAL_ROOM];
	ssize_t n;

	if (!f->seal) {
		send_all(f->fd, data, len);
		return;
	}
	n = f->how->take(f->seal, data, len, room, sizeof(room));
	if (n > 0)
		send_all(f->fd, room, (size_t)n);
}

void
foe_put(struct foe *f, uint8_t type, const struct tcpx_buf *b)
{
	uint8_t room[TCPX_FRAME_MAX];

	assert_false(b->bad);
	tcpx_frame_head_write(room, type, 0, (uint32_t)b->pos);
	memcpy(room + TCPX_FRAME_HEAD, b->data, b->pos);
	foe_say(f, room, TCPX_FRAME_HEAD + b->pos);
}

void
foe_start(struct foe *f, bool sealed, enum tcpx_start_kind kind, uint64_t session)
{
	struct tcpx_start s = { .version_min = TCPX_PROTO_VERSION,
				.version_max = TCPX_PROTO_VERSION, .sealed = sealed,
				.kind = (uint8_t)kind, .session = session };
	uint8_t room[64];
	struct tcpx_buf b;

	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_start_write(&b, &s);
	foe_put(f, TCPX_FR_START, &b);
}

bool
foe_prove(struct foe *f, const struct tcpx_secret *with, const struct tcpx_seal_psk *psk)
{
	uint8_t in[4096], none[64];
	ssize_t n = 0;

	f->how = with->ops;
	assert_int_equal(f->how->start(with->lib, true, psk, 1, &f->seal), 0);
	foe_say(f, NULL, 0);
	while (!f->how->proven(f->seal)) {
		n = recv(f->fd, in, sizeof(in), 0);
		if (n <= 0 || f->how->feed(f->seal, in, (size_t)n, none, sizeof(none)) != 0)
			return f->how->proven(f->seal);
	}
	foe_say(f, NULL, 0);
	return true;
}

void
foe_hello(struct foe *f, const struct tcpx_hello *h)
{
	uint8_t room[TCPX_FRAME_MAX];
	struct tcpx_buf b;

	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_hello_write(&b, h);
	foe_put(f, TCPX_FR_HELLO, &b);
}

/* Takes a whole frame out of what has come. */
static bool
take_frame(struct foe *f, struct tcpx_frame_head *h, uint8_t *payload, size_t *len)
{
	if (tcpx_frame_head_read(f->in, f->have, h) != 0 || f->have < h->len)
		return false;
	*len = h->len - TCPX_FRAME_HEAD;
	memcpy(payload, f->in + TCPX_FRAME_HEAD, *len);
	f->have -= h->len;
	memmove(f->in, f->in + h->len, f->have);
	return true;
}

bool
foe_get_one_of(struct foe *f, const uint8_t *types, size_t count, uint8_t *type, uint8_t *payload,
	       size_t *len)
{
	struct tcpx_frame_head h;
	uint8_t in[4096];
	ssize_t n;

	for (;;) {
		while (take_frame(f, &h, payload, len))
			if (memchr(types, h.type, count)) {
				*type = h.type;
				return true;
			}
		n = recv(f->fd, in, sizeof(in), 0);
		if (n <= 0)
			return false;
		if (f->seal)
			n = f->how->feed(f->seal, in, (size_t)n, f->in + f->have,
					 sizeof(f->in) - f->have);
		else
			memcpy(f->in + f->have, in, (size_t)n);
		if (n < 0)
			return false;
		f->have += (size_t)n;
	}
}

bool
foe_get(struct foe *f, uint8_t type, uint8_t *payload, size_t *len)
{
	return foe_get_one_of(f, &type, 1, &type, payload, len);
}

void
foe_close(struct foe *f)
{
	if (f->seal)
		f->how->end(f->seal);
	close(f->fd);
}

struct tcpx_hello
foe_introduction(const char *name)
{
	struct tcpx_hello h = { .session = 77, .role = TCPX_ROLE_OPENER, .incarnation = 99,
				.provider = "sock", .channels = 2, .window = 4,
				.chunk_max = 65536, .credit_xfers = 4,
				.credit_list_bytes = 1 << 20, .nic_count = 1 };

	snprintf(h.name, sizeof(h.name), "%s", name);
	h.nic[0].addr = (struct tcpx_addr){ .family = 4, .ip = { 127, 0, 1, 1 }, .prefix = 8 };
	return h;
}
