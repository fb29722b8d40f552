/* SPDX-License-Identifier: Apache-2.0 */
/* Connecting, and moving messages with a window each way. */
#include "emu/client.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

_Noreturn void
check_failed(const char *what, const char *file, int line)
{
	fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
	_exit(99);
}

uint64_t
now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static const char *awaited; /* words of the log */
static _Atomic bool heard;

void
log_to_stderr(enum nccl_log_level level, unsigned long subsys, const char *file, int line,
	      const char *fmt, ...)
{
	char text[4096];
	va_list ap;

	(void)file;
	(void)line;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* as NCCL with NCCL_DEBUG_SUBSYS=NET for what informs, and GRAPH for warnings */
	if (level <= NCCL_LOG_INFO && subsys & (level == NCCL_LOG_WARN ? 0x20 : NCCL_SUBSYS_NET))
		fprintf(stderr, "%s\n", text);
	if (awaited && strstr(text, awaited))
		heard = true;
}

const struct nccl_net_v7 *
plugin_only(void)
{
	void *library = dlopen(getenv("EMU_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
	const struct nccl_net_v7 *net = library ? dlsym(library, "ncclNetPlugin_v7") : NULL;

	if (!net)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(net != NULL);
	return net;
}

static const struct nccl_net_v7 *net;

const struct nccl_net_v7 *
plugin(void)
{
	if (!net) {
		CHECK(mem_start());
		net = plugin_only();
		CHECK(net->init(log_to_stderr) == NCCL_OK);
	}
	return net;
}

const struct nccl_net_v7 *
plugin_awaits(const char *words)
{
	awaited = words;
	return plugin();
}

bool
plugin_said(void)
{
	return atomic_exchange(&heard, false);
}

/* ---- connecting ---------------------------------------------------------------------------- */

bool
pair_try(struct pair *p, int dev, enum nccl_result *result)
{
	struct nccl_device_handle room = { 0 }, *device = &room;
	struct nccl_unpack_device unpack;
	char handle[NCCL_HANDLE_BYTES];
	uint64_t end = now_ms() + FOREVER_MS;
	void *listen;

	memset(p, 0, sizeof(*p));
	CHECK(plugin()->listen(dev, handle, &listen) == NCCL_OK);
	while (!p->send || !p->recv) {
		CHECK(now_ms() < end);
		*result = p->recv ? NCCL_OK : net->accept(listen, &p->recv, &device);
		if (!*result && !p->send)
			*result = net->connect(dev, handle, &p->send, NULL);
		if (*result)
			return false;
		sched_yield(); /* the interface has no event: it is polled */
	}
	CHECK(device->type == NCCL_DEVICE_UNPACK && device->version == NCCL_UNPACK_VERSION);
	CHECK(device->size == 24 && device->needs_proxy_progress == 1);
	mem_get(&unpack, device->handle, sizeof(unpack));
	CHECK(unpack.head == UINT64_MAX);
	p->meta = unpack.meta;
	p->bounce = unpack.bounce_buf;
	CHECK(net->close_listen(listen) == NCCL_OK);
	return true;
}

void
pair_connect(struct pair *p, int dev)
{
	enum nccl_result result;

	CHECK(pair_try(p, dev, &result));
}

void
pair_memory(struct pair *p, size_t place)
{
	size_t size;

	p->place = (place + 4095) & ~(size_t)4095;
	size = p->place * WINDOW;
	p->from = mem_new(size);
	p->to = mem_new(size);
	CHECK(net->reg(p->send, p->from, (int)size, NCCL_PTR_CUDA, &p->from_mh) == NCCL_OK);
	CHECK(net->reg(p->recv, p->to, (int)size, NCCL_PTR_CUDA, &p->to_mh) == NCCL_OK);
}

void
pair_close(struct pair *p)
{
	CHECK(net->close_send(p->send) == NCCL_OK);
	CHECK(net->close_recv(p->recv) == NCCL_OK);
}

/* ---- moving -------------------------------------------------------------------------------- */

struct flight {
	void *request;
	uint32_t size;
};

struct mover {
	struct pair *p;
	const struct work *w;
	uint64_t rng_send, rng_recv;
	uint64_t posted_s, done_s, posted_r, done_r; /* messages */
	struct flight send[WINDOW], recv[WINDOW];
	unsigned char *expect, *got;
	bool wrong;
};

static uint64_t
next(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ull;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	return x ^ (x >> 31);
}

/* Message k of a comm: its size and bytes follow from the seed. */
static uint32_t
message(const struct work *w, uint64_t *rng, unsigned char *bytes)
{
	uint64_t pick = next(rng), fill = next(rng);
	uint32_t size = w->whole ? w->max : pick % 8 == 0 ? 0 : (uint32_t)(pick >> 8) % (w->max + 1);

	for (uint32_t i = 0; i < size; i += 8) {
		uint64_t word = next(&fill);

		memcpy(bytes + i, &word, size - i < 8 ? size - i : 8);
	}
	return size;
}

static void
send_more(struct mover *m)
{
	struct pair *p = m->p;

	while (m->posted_s < m->w->messages && m->posted_s - m->done_s < WINDOW) {
		struct flight *f = &m->send[m->posted_s % WINDOW];
		char *at = p->from + m->posted_s % WINDOW * p->place;

		f->size = message(m->w, &m->rng_send, m->got);
		mem_put(at, m->got, f->size);
		CHECK(net->isend(p->send, at, (int)f->size, 7, p->from_mh, &f->request) ==
		      NCCL_OK);
		if (!f->request)
			CHECK(!"a request at once");
		m->posted_s++;
	}
}

static void
recv_more(struct mover *m)
{
	struct pair *p = m->p;

	while (m->posted_r < m->w->messages && m->posted_r - m->done_r < WINDOW) {
		struct flight *f = &m->recv[m->posted_r % WINDOW];
		void *at = p->to + m->posted_r % WINDOW * p->place;
		int size = (int)p->place, tag = 99;

		CHECK(net->irecv(p->recv, 1, &at, &size, &tag, &p->to_mh, &f->request) ==
		      NCCL_OK);
		m->posted_r++;
	}
}

/* From the bounce pages to where they belong; what is wrong with them is wrong for good. */
static uint32_t
unpack(struct mover *m, unsigned slot, char *to)
{
	struct pair *p = m->p;
	uint64_t n = __atomic_load_n(&p->meta->cnt[slot], __ATOMIC_ACQUIRE), sum = 0;
	const char *fault = getenv("TCPX_EMU_FAULT");
	bool large = fault && strstr(fault, "frag-large"); /* over several pages */

	CHECK(n <= NCCL_UNPACK_FRAGS);
	for (uint64_t i = 0; i < n; i++) {
		const struct nccl_unpack_frag *f = &p->meta->mem[slot][i];

		CHECK(f->len > 0 && (large || f->src_off % 4096 + f->len <= 4096));
		CHECK(f->dst_off + f->len <= p->place);
		mem_move(to + f->dst_off, p->bounce + f->src_off, f->len);
		sum += f->len;
	}
	return (uint32_t)sum;
}

static void
received(struct mover *m)
{
	struct pair *p = m->p;
	struct flight *f = &m->recv[m->done_r % WINDOW];
	char *to = p->to + m->done_r % WINDOW * p->place;
	unsigned slot = (unsigned)(m->p->received % SLOTS);
	uint32_t size, sum;

	if (m->w->early) {
		/* the entries are copied in time, the bytes are not */
		uint64_t n = p->meta->cnt[slot];
		struct nccl_unpack_frag *copy = malloc(n * sizeof(*copy));

		CHECK(copy != NULL);
		memcpy(copy, p->meta->mem[slot], n * sizeof(*copy));
		CHECK(net->consumed(p->recv, 1, f->request) == NCCL_OK);
		for (sum = 0; n--; sum += copy[n].len)
			mem_move(to + copy[n].dst_off, p->bounce + copy[n].src_off, copy[n].len);
		free(copy);
	} else {
		sum = unpack(m, slot, to);
		CHECK(net->consumed(p->recv, 1, f->request) == NCCL_OK);
	}
	size = message(m->w, &m->rng_recv, m->expect);
	mem_get(m->got, to, size);
	if (m->w->bytes_each)
		CHECK(sum == m->w->bytes_each);
	else if (sum != size || memcmp(m->got, m->expect, size))
		m->wrong = true;
	p->received++;
	m->done_r++;
}

static bool
step(struct mover *m)
{
	int done = 0, size = 0;

	send_more(m);
	recv_more(m);
	if (m->done_s < m->posted_s) {
		CHECK(net->test(m->send[m->done_s % WINDOW].request, &done, &size) == NCCL_OK);
		if (done) {
			m->done_s++;
			m->p->sent++;
		}
	}
	done = 0;
	if (m->done_r < m->posted_r) {
		CHECK(net->test(m->recv[m->done_r % WINDOW].request, &done, &size) == NCCL_OK);
		if (done)
			received(m);
	}
	return m->done_s < m->w->messages || m->done_r < m->w->messages;
}

bool
pairs_move(struct pair *p, const struct work *w)
{
	struct mover *m = calloc(w->comms, sizeof(*m));
	uint64_t end = now_ms() + FOREVER_MS;
	bool busy = true, wrong = false;

	CHECK(m != NULL);
	for (unsigned i = 0; i < w->comms; i++) {
		m[i] = (struct mover){ .p = &p[i], .w = w, .rng_send = w->seed + i,
				       .rng_recv = w->seed + i, .expect = malloc(w->max + 8u),
				       .got = malloc(w->max + 8u) };
		CHECK(m[i].expect && m[i].got);
	}
	while (busy) {
		busy = false;
		for (unsigned i = 0; i < w->comms; i++)
			busy |= step(&m[i]);
		CHECK(now_ms() < end);
	}
	for (unsigned i = 0; i < w->comms; i++) {
		wrong |= m[i].wrong;
		free(m[i].expect);
		free(m[i].got);
	}
	free(m);
	return !wrong;
}

bool
pair_moves(struct pair *p, int dev, const struct work *w)
{
	plugin();
	pair_connect(p, dev);
	pair_memory(p, w->max);
	return pairs_move(p, w);
}
