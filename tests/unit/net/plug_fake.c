/* SPDX-License-Identifier: Apache-2.0 */
#include "plug_fake.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/plugin/comm.h"
#include "net/plugin/frag.h"
#include "net/plugin/mem.h"
#include "net/plugin/plug.h"
#include "net/plugin/req.h"

#define PAGE 4096u

struct plug_fake plug_fake;

struct plug {
	int uses;
};

struct plug_request {
	uint8_t *mem;
	uint32_t len; /* receives: room until done */
	bool begun, out, done;
	uint64_t sum; /* sends: of the bytes as they were posted */
	uint32_t waited;
	uint32_t frag_count;
	struct plug_frag *frag;
	uint8_t **page;
};

/* A message between two comms. */
struct packet {
	struct packet *next;
	uint32_t len;
	uint8_t data[];
};

/* Both comms of a channel hold it. */
struct wire {
	int holders;
	bool listening, connected, accepted;
	bool gone[2]; /* [0] the sender's end is closed, [1] the receiver's */
	struct packet *head, *tail;
};

struct plug_listen {
	struct wire *wire;
	int not_yet;
	bool used;
};

struct plug_comm {
	struct wire *wire;
	bool sends, stands, told;
	int not_yet, early;
	uint32_t regs;
	uint8_t *base;
	size_t size;
	uint64_t posted, done, consumed; /* requests */
	struct plug_request req[PLUG_REQUESTS];
	uint8_t device[24];
};

static struct plug the_plug;

void
plug_fake_reset(void)
{
	plug_fake = (struct plug_fake){ .dev = { "eth1", "eth2" }, .unpack = true,
					.requests = PLUG_REQUESTS, .gpu = -1,
					.listen_gpu = -2, .connect_gpu = -2, .accept_gpu = -2,
					.reg_gpu = -2, .rng = tcpx_rng_seed(7) };
}

static int
blame(const char *what)
{
	if (plug_fake.violations++ == 0)
		snprintf(plug_fake.violation, sizeof(plug_fake.violation), "%s", what);
	return -EINVAL;
}

int
plug_open(const char *path, struct plug **plug)
{
	(void)path;
	if (plug_fake.open_code)
		return plug_fake.open_code;
	the_plug.uses++;
	*plug = &the_plug;
	return 0;
}

void
plug_close(struct plug *p)
{
	p->uses--;
}

const char *
plug_name(const struct plug *p)
{
	(void)p;
	return "fake";
}

int
plug_devices(const struct plug *p)
{
	int n = 0;

	(void)p;
	while (n < FAKE_DEVS && plug_fake.dev[n])
		n++;
	return n;
}

int
plug_properties(struct plug *p, int dev, struct plug_props *out)
{
	if (dev < 0 || dev >= plug_devices(p))
		return blame("properties of no device");
	*out = (struct plug_props){ .speed_mbps = 200000, .unpack = plug_fake.unpack,
				    .gpu = true, .host = true, .recvs_max = 1,
				    .requests_max = plug_fake.requests, .size_max = INT32_MAX };
	snprintf(out->name, sizeof(out->name), "%s", plug_fake.dev[dev]);
	snprintf(out->pci, sizeof(out->pci), "%s", plug_fake.pci[dev] ? plug_fake.pci[dev] : "");
	return 0;
}

static void
wire_put(struct wire *w)
{
	if (--w->holders > 0)
		return;
	while (w->head) {
		struct packet *p = w->head;

		w->head = p->next;
		free(p);
	}
	free(w);
}

int
plug_listen(struct plug *p, int dev, uint8_t handle[PLUG_HANDLE_BYTES], struct plug_listen **l)
{
	struct wire *w;

	(void)p;
	plug_fake.listen_gpu = plug_fake.gpu;
	plug_fake.listen_dev = dev;
	if (plug_fake.listen_code)
		return plug_fake.listen_code;
	w = calloc(1, sizeof(*w));
	w->holders = 1;
	w->listening = true;
	*l = calloc(1, sizeof(**l));
	(*l)->wire = w;
	(*l)->not_yet = plug_fake.not_yet;
	memset(handle, 0x5A, PLUG_HANDLE_BYTES); /* every byte has to travel */
	memcpy(handle + 60, &w, sizeof(w));
	plug_fake.listens++;
	return 0;
}

static struct plug_comm *
comm_new(struct wire *w, bool sends)
{
	struct plug_comm *c = calloc(1, sizeof(*c));

	w->holders++;
	c->wire = w;
	c->sends = sends;
	c->not_yet = plug_fake.not_yet;
	c->early = plug_fake.early;
	memset(c->device, 0x42, sizeof(c->device));
	plug_fake.comms++;
	return c;
}

int
plug_accept(struct plug_listen *l, struct plug_comm **comm)
{
	plug_fake.accept_gpu = plug_fake.gpu;
	if (l->used)
		return blame("a second accept");
	if (plug_fake.accept_code)
		return plug_fake.accept_code;
	if (!l->wire->connected || l->not_yet-- > 0)
		return -EAGAIN;
	l->used = true;
	*comm = comm_new(l->wire, false);
	(*comm)->stands = true;
	l->wire->accepted = true;
	return 0;
}

void
plug_listen_close(struct plug_listen *l)
{
	l->wire->listening = false;
	wire_put(l->wire);
	free(l);
	plug_fake.listens--;
}

int
plug_connect(struct plug *p, int dev, const uint8_t handle[PLUG_HANDLE_BYTES],
	     struct plug_comm **comm)
{
	struct wire *w;

	(void)p;
	plug_fake.connect_gpu = plug_fake.gpu;
	plug_fake.connect_dev = dev;
	if (handle[0] != 0x5A || handle[PLUG_HANDLE_BYTES - 1] != 0x5A)
		return blame("a handle did not travel whole");
	memcpy(&w, handle + 60, sizeof(w));
	if (!*comm)
		*comm = comm_new(w, true);
	if ((*comm)->not_yet-- > 0)
		return -EAGAIN;
	if (plug_fake.connect_code) {
		plug_connect_cancel(comm);
		return plug_fake.connect_code;
	}
	(*comm)->stands = w->connected = true;
	return 0;
}

void
plug_connect_cancel(struct plug_comm **comm)
{
	if (*comm)
		plug_comm_close(*comm);
	*comm = NULL;
}

static void
pages_put(struct plug_request *r)
{
	for (uint32_t i = 0; i < r->frag_count; i++) {
		memset(r->page[i], FAKE_POISON, PAGE);
		free(r->page[i]);
		plug_fake.pages--;
	}
	free(r->page);
	free(r->frag);
	*r = (struct plug_request){ 0 };
}

void
plug_comm_close(struct plug_comm *c)
{
	plug_fake.regs -= c->regs; /* they go with it */
	for (int i = 0; i < PLUG_REQUESTS; i++)
		pages_put(&c->req[i]);
	c->wire->gone[!c->sends] = true;
	wire_put(c->wire);
	free(c);
	plug_fake.comms--;
}

bool
plug_comm_unpacks(const struct plug_comm *c)
{
	return !c->sends && plug_fake.unpack;
}

const void *
plug_comm_device(const struct plug_comm *c)
{
	return c->device;
}

void
plug_comm_device_is(struct plug_comm *c, const uint8_t bytes[24])
{
	if (memcmp(bytes, c->device, 24))
		blame("the device handle is another");
	c->told = true;
}

int
plug_reg(struct plug_comm *c, void *mem, size_t size, bool gpu, void **mhandle)
{
	plug_fake.reg_gpu = plug_fake.gpu;
	if (gpu != (plug_fake.gpu >= 0))
		blame("registered as the wrong kind of memory");
	if ((uintptr_t)mem % PAGE || size % PAGE || !size)
		return blame("registered no whole pages");
	if (plug_fake.reg_code)
		return plug_fake.reg_code;
	c->base = mem;
	c->size = size;
	c->regs++;
	plug_fake.regs++;
	*mhandle = &c->regs;
	return 0;
}

static uint64_t
sum_of(const uint8_t *mem, size_t len)
{
	uint64_t sum = 14695981039346656037ull;

	while (len-- > 0)
		sum = (sum ^ *mem++) * 1099511628211ull;
	return sum;
}

static int
post(struct plug_comm *c, const void *mem, uint32_t len, void *mhandle, int code,
     struct plug_request **req)
{
	struct plug_request *r;

	if (!c->stands || mhandle != &c->regs || !c->regs)
		return blame("posted with no connection or registration");
	if ((uint8_t *)mem < c->base || (uint8_t *)mem + len > c->base + c->size)
		return blame("posted outside of the registration");
	if (code)
		return code;
	if (c->early-- > 0 || c->posted - c->consumed == PLUG_REQUESTS)
		return -EAGAIN;
	r = &c->req[c->posted++ % PLUG_REQUESTS];
	*r = (struct plug_request){ .mem = (uint8_t *)mem, .len = len };
	if (c->sends)
		r->sum = sum_of(mem, len);
	*req = r;
	return 0;
}

int
plug_send(struct plug_comm *c, const void *mem, uint32_t len, int tag, void *mhandle,
	  struct plug_request **req)
{
	(void)tag;
	return post(c, mem, len, mhandle, plug_fake.send_code, req);
}

int
plug_recv(struct plug_comm *c, void *mem, uint32_t room, int tag, void *mhandle,
	  struct plug_request **req)
{
	(void)tag;
	if (plug_fake.unpack && !c->told)
		return blame("a receive without the device handle");
	for (int i = 0; i < PLUG_REQUESTS; i++)
		if (c->req[i].mem == mem)
			return blame("two receives have one slot");
	return post(c, mem, room, mhandle, plug_fake.recv_code, req);
}

/* A message goes to the peer: its bytes are read now. */
static void
transmit(struct wire *w, struct plug_request *r)
{
	struct packet *p;

	p = malloc(sizeof(*p) + r->len);
	*p = (struct packet){ .len = r->len };
	memcpy(p->data, r->mem, r->len);
	*(w->head ? &w->tail->next : &w->head) = p;
	w->tail = p;
	r->out = true;
}

/* What has begun goes out; the oldest is done some looks after the peer has it, and until
 * then its bytes are not to change. */
static int
test_send(struct plug_comm *c, struct plug_request *r, uint32_t *len)
{
	struct wire *w = c->wire;

	if (w->gone[1])
		return TCPX_ECHANNEL;
	if (plug_fake.hold || !w->accepted)
		return -EAGAIN;
	for (uint64_t n = c->done; n < c->posted; n++)
		if (c->req[n % PLUG_REQUESTS].begun && !c->req[n % PLUG_REQUESTS].out)
			transmit(w, &c->req[n % PLUG_REQUESTS]);
	if (r->waited++ < plug_fake.slow_acks)
		return -EAGAIN;
	if (sum_of(r->mem, r->len) != r->sum)
		blame("a slot was used again before its message had left");
	*len = r->len;
	*r = (struct plug_request){ 0 };
	c->done++;
	c->consumed++;
	return 0;
}

static void
cut(struct plug_request *r, const struct packet *p)
{
	uint32_t most = plug_fake.frag_max ? plug_fake.frag_max : PAGE, at = 0;

	r->frag = calloc(PLUG_FRAGS_MAX, sizeof(*r->frag));
	r->page = calloc(PLUG_FRAGS_MAX, sizeof(*r->page));
	while (at < p->len) {
		uint32_t n = (uint32_t)tcpx_rng_between(&plug_fake.rng, most < 2 ? 1 : most / 2,
							most);
		uint8_t *page = malloc(PAGE);
		uint32_t i = r->frag_count++;
		uint32_t k = (uint32_t)tcpx_rng_below(&plug_fake.rng, i + 1);

		n = n < p->len - at ? n : p->len - at;
		r->page[i] = page;
		page += tcpx_rng_below(&plug_fake.rng, PAGE - n + 1);
		memcpy(page, p->data + at, n);
		r->frag[i] = (struct plug_frag){ (uintptr_t)page, at, n };
		at += n;
		plug_fake.pages++;
		if (plug_fake.shuffle) {
			struct plug_frag f = r->frag[k];

			r->frag[k] = r->frag[i];
			r->frag[i] = f;
		}
	}
}

static int
test_recv(struct plug_comm *c, struct plug_request *r, uint32_t *len)
{
	struct wire *w = c->wire;
	struct packet *p = w->head;

	if (plug_fake.hold || (!p && !w->gone[0]))
		return -EAGAIN;
	if (!p)
		return TCPX_ECHANNEL;
	if (r->waited++ < plug_fake.slow)
		return -EAGAIN;
	if (plug_fake.unpack)
		cut(r, p);
	else
		memcpy(r->mem, p->data, p->len);
	*len = p->len + (uint32_t)plug_fake.lie;
	w->head = p->next;
	free(p);
	r->done = true;
	c->done++;
	return 0;
}

int
plug_test(struct plug_comm *c, struct plug_request *req, uint32_t *len)
{
	bool begun;

	plug_fake.tests++;
	if (c->done == c->posted || req != &c->req[c->done % PLUG_REQUESTS])
		return blame("tested another than the oldest request");
	if (plug_fake.test_code)
		return plug_fake.test_code;
	begun = req->begun;
	for (uint64_t n = c->done; n < c->posted; n++) {
		if (c->req[n % PLUG_REQUESTS].begun)
			continue;
		c->req[n % PLUG_REQUESTS].begun = true;
		break; /* one begins with each call */
	}
	if (!begun)
		return -EAGAIN;
	return c->sends ? test_send(c, req, len) : test_recv(c, req, len);
}

int
plug_frags(struct plug_comm *c, const struct plug_request *req, struct plug_frag *frag,
	   uint32_t *count)
{
	(void)c;
	if (!req->done)
		return blame("fragments of a receive that is not done");
	memcpy(frag, req->frag, req->frag_count * sizeof(*frag));
	*count = req->frag_count;
	if (plug_fake.hole && *count > 2)
		frag[1] = frag[--*count];
	return 0;
}

int
plug_consumed(struct plug_comm *c, struct plug_request *req)
{
	if (c->consumed == c->done || req != &c->req[c->consumed % PLUG_REQUESTS] || !req->done)
		return blame("consumed another than the oldest receive");
	if (plug_fake.consume_code)
		return plug_fake.consume_code;
	pages_put(req);
	c->consumed++;
	return 0;
}
