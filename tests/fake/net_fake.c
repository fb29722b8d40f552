/* SPDX-License-Identifier: Apache-2.0 */
/* See net_fake.h. FAKE_VERSION and the types of that version come from the command line. */
#include "fake/net_fake.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RING       NCCL_UNPACK_SLOTS
#define LIMIT      (FAKE_VERSION == 6 ? 8 : RING)
#define POOL_BYTES (8u << 20)
#define PAGE       4096u
#define MESSAGES   64

/* Sizes that early plugins get as int. */
#if FAKE_VERSION <= 7
typedef int reg_size;
#else
typedef size_t reg_size;
#endif
#if FAKE_VERSION <= 8
typedef int msg_size;
#else
typedef size_t msg_size;
#endif

/* With NET_FAKE_EXIT in the environment init() ends the process: by that code, or "killed". */
struct net_fake net_fake = {
	.device_count = 2, .ptr_support = NCCL_PTR_HOST | NCCL_PTR_CUDA,
	.device_version = NCCL_UNPACK_VERSION,
};

struct message {
	size_t len;
	uint8_t *bytes;
};

/* From one sender to one receiver. */
struct pipe {
	int users;
	unsigned in, out; /* counted */
	struct message ring[MESSAGES];
};

struct comm;

struct request {
	struct comm *comm;
	void *data;
	size_t size;
	int waited;
	bool done, flush;
};

struct comm {
	struct pipe *pipe;
	bool sending;
	int nulls, early;
	unsigned posted, done, consumed; /* counted */
	struct request ring[RING];
	struct nccl_unpack_meta *meta;
	struct nccl_unpack_device device;
	uint8_t *pool;
};

/* Of an unpacking plugin they may outlive their comm. */
struct mr {
	struct comm *comm;
};

struct listener {
	struct pipe *pipe;
	struct comm *comm;
	bool over;
};

struct handle {
	struct pipe *pipe;
	struct comm *comm; /* as the real one: within the handle, while connecting */
	bool over;
};

static nccl_logger log_to;

static enum nccl_result
wrong(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (!*net_fake.wrong)
		vsnprintf(net_fake.wrong, sizeof(net_fake.wrong), fmt, ap);
	va_end(ap);
	log_to(NCCL_LOG_WARN, NCCL_SUBSYS_NET, __func__, __LINE__, "%s (%d)\n", net_fake.wrong, 3);
	return NCCL_INTERNAL_ERROR;
}

static enum nccl_result
called(enum net_fake_call call)
{
	net_fake.calls[call]++;
	return (enum nccl_result)net_fake.result[call];
}

#define CALLED(call)                                        \
	do {                                                \
		enum nccl_result result_ = called(call);    \
		if (result_ != NCCL_OK)                     \
			return result_;                     \
	} while (0)

static enum nccl_result
fake_init(nccl_logger logger)
{
	const char *end = getenv("NET_FAKE_EXIT");

	if (end && !strcmp(end, "killed"))
		raise(SIGKILL);
	if (end)
		_exit(atoi(end));
	log_to = logger;
	logger(NCCL_LOG_INFO, NCCL_SUBSYS_INIT, "fake", 7, "fake of %s with %d devices", "v",
	       net_fake.device_count);
	if (net_fake.calls[NET_FAKE_INIT] > net_fake.calls[NET_FAKE_FINALIZE])
		return wrong("init twice");
	if (net_fake.result[NET_FAKE_INIT])
		logger(NCCL_LOG_WARN, NCCL_SUBSYS_INIT, "fake", 8, "a fake setting is wrong");
	return called(NET_FAKE_INIT);
}

static enum nccl_result
fake_devices(int *count)
{
	CALLED(NET_FAKE_DEVICES);
	*count = net_fake.device_count;
	return NCCL_OK;
}

static bool
unpacks(void)
{
	return net_fake.device_type == NCCL_DEVICE_UNPACK;
}

static enum nccl_result
fake_properties(int dev, PROPS *props)
{
	static char names[2][8] = { "eth1", "eth2" };
	static char path[] = "/sys/devices/pci0000:00/0000:06:00.0";

	CALLED(NET_FAKE_PROPERTIES);
	*props = (PROPS){
		.name = names[dev % 2], .pci_path = net_fake.no_pci ? NULL : path,
		.guid = (uint64_t)dev, .ptr_support = net_fake.ptr_support, .speed = 200000,
		.max_comms = 65536, .max_recvs = 1,
	};
#if FAKE_VERSION >= 7
	props->device_type = (enum nccl_device_type)net_fake.device_type;
	props->device_version = net_fake.device_version;
#endif
#if FAKE_VERSION >= 9
	props->max_p2p_bytes = net_fake.p2p_bytes ? net_fake.p2p_bytes : 1ull << 40;
#endif
	return NCCL_OK;
}

static struct comm *
comm_new(struct pipe *pipe, bool sending)
{
	struct comm *c = calloc(1, sizeof(*c));

	c->pipe = pipe;
	c->sending = sending;
	c->nulls = net_fake.nulls;
	c->early = net_fake.early;
	pipe->users++;
	net_fake.open++;
	return c;
}

static void
pipe_put(struct pipe *pipe)
{
	if (--pipe->users)
		return;
	for (; pipe->out != pipe->in; pipe->out++)
		free(pipe->ring[pipe->out % MESSAGES].bytes);
	free(pipe);
}

static enum nccl_result
fake_listen(int dev, void *handle, void **listen_comm)
{
	struct listener *l;
	struct handle h = { 0 };

	CALLED(NET_FAKE_LISTEN);
	if (dev < 0 || dev >= net_fake.device_count)
		return wrong("listen on device %d", dev);
	l = calloc(1, sizeof(*l));
	l->pipe = calloc(1, sizeof(*l->pipe));
	l->pipe->users = 1;
	h.pipe = l->pipe;
	memcpy(handle, &h, sizeof(h));
	net_fake.open++;
	*listen_comm = l;
	return NCCL_OK;
}

static enum nccl_result
fake_connect(int dev, void *handle, void **send_comm)
{
	struct handle h;

	*send_comm = NULL;
	memcpy(&h, handle, sizeof(h));
	if (h.over)
		return wrong("connect after its end");
	net_fake.calls[NET_FAKE_CONNECT]++;
	if (!h.comm && !net_fake.result[NET_FAKE_CONNECT])
		h.comm = comm_new(h.pipe, true);
	if (net_fake.result[NET_FAKE_CONNECT]) {
		h.over = true;
	} else if (h.comm->nulls-- <= 0) {
		*send_comm = h.comm;
		h.over = true;
	}
	memcpy(handle, &h, sizeof(h));
	return (enum nccl_result)net_fake.result[NET_FAKE_CONNECT];
}

static enum nccl_result
fake_accept(void *listen_comm, void **recv_comm, struct nccl_device_handle **device)
{
	struct listener *l = listen_comm;
	struct comm *c;

	*recv_comm = NULL;
	if (l->over)
		return wrong("accept after its end");
	CALLED(NET_FAKE_ACCEPT);
	if (!l->comm)
		l->comm = comm_new(l->pipe, false);
	if (l->comm->nulls-- > 0)
		return NCCL_OK;
	c = l->comm;
	l->comm = NULL;
	l->over = true;
	*recv_comm = c;
	if (!unpacks())
		return device && *device ? wrong("device handle of an ordinary plugin") : NCCL_OK;
	if (!device || !*device)
		return wrong("accept without a device handle");
	c->pool = malloc(POOL_BYTES);
	c->meta = aligned_alloc(16, sizeof(*c->meta));
	memset(c->meta, 0xee, sizeof(*c->meta));
	c->device = (struct nccl_unpack_device){ c->meta, c->pool, UINT64_MAX };
	if (!net_fake.no_handle)
		**device = (struct nccl_device_handle){ NCCL_DEVICE_UNPACK, NCCL_UNPACK_VERSION,
							&c->device, sizeof(c->device), 1 };
	return NCCL_OK;
}

static enum nccl_result
fake_reg(void *comm, void *data, reg_size size, int type, void **mhandle)
{
	struct mr *mr;

	CALLED(NET_FAKE_REG);
	net_fake.size = (uint64_t)size;
	mr = calloc(1, sizeof(*mr));
	mr->comm = comm;
	net_fake.registered++;
	*mhandle = mr;
	return NCCL_OK;
}

static enum nccl_result
fake_dereg(void *comm, void *mhandle)
{
	struct mr *mr = mhandle;

	CALLED(NET_FAKE_DEREG);
	if (comm ? mr->comm != comm : !unpacks())
		return wrong("deregMr on another comm");
	if (comm && unpacks() && mr->comm->posted != mr->comm->done)
		return wrong("deregMr while messages are on their way");
	net_fake.registered--;
	free(mr);
	return NCCL_OK;
}

static enum nccl_result
post(struct comm *c, bool sending, void *data, size_t size, void *mhandle, void **request)
{
	struct mr *mr = mhandle;
	struct request *r;

	CALLED(sending ? NET_FAKE_ISEND : NET_FAKE_IRECV);
	net_fake.size = size;
	if (c->sending != sending)
		return wrong("wrong direction");
	if (!mr || mr->comm != c)
		return wrong("mhandle of nobody");
	if (*request)
		return wrong("request was not cleared");
	if (c->early-- > 0)
		return NCCL_OK;
	if (c->posted - c->consumed == LIMIT)
		return wrong("unable to allocate requests");
	r = &c->ring[c->posted++ % RING];
	*r = (struct request){ .comm = c, .data = data, .size = size };
	*request = r;
	return NCCL_OK;
}

static void
send_message(struct comm *c, struct request *r)
{
	struct message *m = &c->pipe->ring[c->pipe->in++ % MESSAGES];

	m->len = r->size - (size_t)net_fake.short_by;
	m->bytes = malloc(m->len + 1);
	memcpy(m->bytes, r->data, m->len);
}

/* Pages of the pool are used from the back, so that no list is in the order of its sources. */
static uint64_t
make_list(struct nccl_unpack_frag *list, size_t len)
{
	uint32_t src = POOL_BYTES, at = 0, n = 0;

	for (; at < len; n++) {
		uint32_t part = n % 3 == 2 ? 1000 + n : PAGE;

		part = part < len - at ? part : (uint32_t)(len - at);
		src -= PAGE;
		list[n] = (struct nccl_unpack_frag){ src, part, at };
		at += part;
	}
	for (uint32_t i = 0; i < n / 2; i++) { /* the later half first */
		struct nccl_unpack_frag f = list[i];

		list[i] = list[i + n - n / 2];
		list[i + n - n / 2] = f;
	}
	return n;
}

static void
unpack_message(struct comm *c, const struct message *m)
{
	unsigned slot = (c->done % RING);
	struct nccl_unpack_frag *list = c->meta->mem[slot];
	uint64_t count;

	if (net_fake.list) {
		count = net_fake.list_count;
		if (count <= NCCL_UNPACK_FRAGS)
			memcpy(list, net_fake.list, count * sizeof(*list));
	} else {
		count = make_list(list, m->len);
		for (uint64_t i = 0; i < count; i++)
			memcpy(c->pool + list[i].src_off, m->bytes + list[i].dst_off, list[i].len);
	}
	__atomic_store_n(&c->meta->cnt[slot], count, __ATOMIC_RELEASE);
}

static enum nccl_result
fake_test(void *request, int *done, int *sizes)
{
	struct request *r = request;
	struct comm *c = r->comm;
	struct pipe *pipe = c->pipe;
	struct message *m;

	CALLED(NET_FAKE_TEST);
	*done = 0;
	if (r->flush) {
		*done = ++r->waited > net_fake.delay;
		if (*done)
			free(r);
		return NCCL_OK;
	}
	if (c->done == c->posted || r != &c->ring[c->done % RING])
		return wrong("test called with invalid request");
	if (r->waited++ < net_fake.delay)
		return NCCL_OK;
	if (c->sending) {
		if (pipe->in - pipe->out == MESSAGES)
			return NCCL_OK;
		send_message(c, r);
		c->consumed++;
	} else {
		if (pipe->in == pipe->out)
			return NCCL_OK;
		m = &pipe->ring[pipe->out++ % MESSAGES];
		if (unpacks())
			unpack_message(c, m);
		else
			memcpy(r->data, m->bytes, m->len < r->size ? m->len : r->size);
		if (!unpacks() && sizes)
			*sizes = (int)m->len;
		free(m->bytes);
	}
	c->done++;
	*done = 1;
	return NCCL_OK;
}

static enum nccl_result
fake_iflush(void *recv_comm, int n, void **data, int *sizes, void **mhandles, void **request)
{
	struct request *r;

	CALLED(NET_FAKE_IFLUSH);
	if (unpacks() || n != 1)
		return wrong("iflush of an unpacking plugin");
	r = calloc(1, sizeof(*r));
	r->comm = recv_comm;
	r->flush = true;
	net_fake.flushed += (uint64_t)sizes[0];
	*request = r;
	return NCCL_OK;
}

static enum nccl_result
fake_close(void *comm)
{
	struct comm *c = comm;

	CALLED(NET_FAKE_CLOSE);
	pipe_put(c->pipe);
	free(c->meta);
	free(c->pool);
	free(c);
	net_fake.open--;
	return NCCL_OK;
}

static enum nccl_result
fake_close_listen(void *listen_comm)
{
	struct listener *l = listen_comm;

	CALLED(NET_FAKE_CLOSE_LISTEN);
	if (l->comm)
		return wrong("closeListen while accepting");
	pipe_put(l->pipe);
	free(l);
	net_fake.open--;
	return NCCL_OK;
}

#include "net_fake_table.h"
