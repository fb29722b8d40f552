/* SPDX-License-Identifier: Apache-2.0 */
/* The one symbol: NCCL's table of functions, version 7. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "emu/comm.h"
#include "emu/say.h"
#include "emu/setup.h"
#include "emu/stall.h"

#define SIZE_POISON (-0x5eed)

static struct emu emu;
static atomic_bool initialised;

static enum nccl_result
init(nccl_logger logger)
{
	const char *faults = getenv("TCPX_EMU_FAULT");
	enum nccl_result result;
	char why[200];

	emu_say_to(logger);
	if (atomic_exchange(&initialised, true))
		return emu_refuse("init-twice", "init: gpu lib init twice");
	result = emu_config_read(&emu.config);
	emu_say_strict(emu.config.strict);
	if (!logger)
		emu_misuse("no-logger", "init: the logger is NULL, and called unasked");
	if (!result)
		result = emu_topology_read(&emu.topology, emu.config.ifname);
	if (!emu_faults_parse(faults ? faults : "", emu.config.sockets, &emu.faults, why, sizeof(why))) {
		emu_warn("[fault] TCPX_EMU_FAULT: %s", why);
		result = NCCL_INTERNAL_ERROR;
	}
	if (!result && !emu_ctrl_dev_found(&emu))
		emu_warn("[ctrl-dev] CTRL_DEV=%s is no interface here: each NIC carries its own control "
			 "connections; the real plugin has no address for them then", emu.config.ctrl_dev);
	emu.pid = getpid();
	prctl(PR_SET_TIMERSLACK, 1);
	if (result) {
		atomic_store(&initialised, false);
		return result;
	}
	emu_stall_start(&emu.config);
	emu_info("emulator of GPUDirect-TCPX, %s, %u NICs, %u sockets on %u threads, chunk %u",
		 emu.config.strict ? "strict" : "faithful", emu.topology.count,
		 emu.config.sockets, emu.config.threads, emu.config.chunk);
	return NCCL_OK;
}

/* A fault that was asked for and did not happen shows nothing, and should not pass for a test. */
static void __attribute__((destructor))
report(void)
{
	const char *text;
	unsigned i = 0;

	if (!atomic_load(&initialised) || emu.pid != getpid())
		return;
	while ((text = emu_faults_unfired(&emu.faults, &i)))
		emu_last_word("fault", "\"%s\" never happened in process %d", text, (int)emu.pid);
}

/* Of calls that need NICs. */
static enum nccl_result
ready(const char *call)
{
	if (atomic_load(&initialised))
		return NCCL_OK;
	return emu_misuse("no-init", "%s: init() was not called, or failed", call);
}

static enum nccl_result
devices(int *count)
{
	enum nccl_result result = ready("devices");

	if (result)
		return result;
	*count = (int)emu.topology.count;
	return NCCL_OK;
}

static enum nccl_result
properties(int dev, struct nccl_props_v7 *props)
{
	enum nccl_result result = ready("getProperties");
	struct emu_nic *nic;

	if (result)
		return result;
	if (dev < 0 || (unsigned)dev >= emu.topology.count)
		return emu_misuse("bad-dev", "getProperties: dev %d of %u", dev,
				  emu.topology.count);
	nic = &emu.topology.nic[dev];
	*props = (struct nccl_props_v7){
		.name = nic->name, .pci_path = nic->pci[0] ? nic->pci : NULL,
		.guid = (uint64_t)dev, .ptr_support = NCCL_PTR_HOST | NCCL_PTR_CUDA,
		.speed = nic->speed, .max_comms = 65536, .max_recvs = 1,
		.device_type = NCCL_DEVICE_UNPACK, .device_version = NCCL_UNPACK_VERSION,
	};
	return NCCL_OK;
}

static enum nccl_result
listen_on(int dev, void *handle, void **listen_comm)
{
	enum nccl_result result = ready("listen");

	if (!result)
		result = emu_gpu_start(&emu.config);
	return result ? result : emu_listen(&emu, dev, handle, listen_comm);
}

static enum nccl_result
connect_to(int dev, void *handle, void **send_comm, struct nccl_device_handle **device)
{
	enum nccl_result result = ready("connect");

	if (!result)
		result = emu_gpu_start(&emu.config);
	(void)device; /* ignored, as by the real plugin */
	return result ? result : emu_connect(&emu, dev, handle, send_comm);
}

static enum nccl_result
accept_from(void *listen_comm, void **recv_comm, struct nccl_device_handle **device)
{
	return emu_accept(&emu, listen_comm, recv_comm, device);
}

/* ---- memory -------------------------------------------------------------------------------- */

static enum nccl_result
reg(void *comm, void *data, int size, int type, void **mhandle)
{
	struct emu_comm *c;
	enum nccl_result result = emu_comm_enter(comm, EMU_ANY, "regMr", &c);

	return result ? result : emu_comm_leave(c, emu_reg_new(c->nic, data, size, type, mhandle));
}

static enum nccl_result
dereg(void *comm, void *mhandle)
{
	(void)comm; /* not looked at, as by the real plugin */
	return emu_reg_drop(mhandle);
}

static enum nccl_result
device_mr(void *comm, void *mhandle, void **device_mhandle)
{
	(void)comm;
	(void)mhandle;
	(void)device_mhandle;
	return NCCL_OK; /* nothing is written, as by the real plugin */
}

/* ---- posting ------------------------------------------------------------------------------- */

/* A comm that is not up yet: waits, or clears *ready: there is no request yet. */
static enum nccl_result
connected(struct emu_comm *c, bool *ready)
{
	const struct timespec moment = { 0, 100000 };
	int up;

	while (!(up = atomic_load(&c->up)) && c->config->spinwait)
		nanosleep(&moment, NULL);
	*ready = up > 0;
	if (up >= 0)
		return NCCL_OK;
	return emu_refuse("connection-failed", "comm %d: the connection has failed", c->index);
}

static enum nccl_result
post_checks(struct emu_comm *c, const char *call, int size, void *mhandle, struct emu_reg **reg)
{
	if (!mhandle)
		return emu_refuse("no-mhandle", "%s: the mhandle is NULL", call);
	if (emu_ring_full(&c->ring))
		return emu_refuse("ring-full", "%s: unable to allocate requests: comm %d has %d%s", call,
				  c->index, EMU_REQUESTS, c->role == EMU_RECV ? ", done but not consumed "
				  "ones included" : "");
	if (size < 0)
		return emu_refuse("bad-size", "%s: size %d", call, size);
	*reg = emu_reg_use(c->nic, mhandle);
	if (!*reg)
		return emu_misuse("mhandle-unknown", "%s: %p is no registration of NIC %s", call,
				  mhandle, c->nic->name);
	return NCCL_OK;
}

static enum nccl_result
send_post(struct emu_comm *c, void *data, int size, void *mhandle, void **request)
{
	uint64_t sockets = (uint64_t)c->config->chunk * c->sockets;
	struct emu_request *r;
	struct emu_reg *reg;
	enum nccl_result result = post_checks(c, "isend", size, mhandle, &reg);

	if (result)
		return result;
	if (size && ((char *)data < reg->base ||
		     (size_t)((char *)data - reg->base) + (size_t)size > reg->size)) {
		emu_reg_unuse(reg);
		return emu_misuse("send-outside", "isend: %p, %d bytes, is not within its "
				  "registration %p, %zu bytes", data, size, (void *)reg->base,
				  reg->size);
	}
	if ((unsigned)size > sockets)
		emu_misuse("send-large", "isend: %d bytes are more than %llu, a chunk for each of %u "
			   "sockets: the receiver loses pages", size, (unsigned long long)sockets,
			   c->sockets);
	r = emu_comm_post(c, reg, data, (uint32_t)size, request);
	if (c->config->strict)
		r->hash = emu_send_hash(c, r);
	emu_stall_asked(c);
	return NCCL_OK;
}

static enum nccl_result
isend(void *comm, void *data, int size, int tag, void *mhandle, void **request)
{
	struct emu_comm *c;
	bool ready;
	enum nccl_result result = emu_comm_enter(comm, EMU_SEND, "isend", &c);

	(void)tag; /* ignored, as by the real plugin */
	if (result)
		return result;
	*request = NULL;
	result = connected(c, &ready);
	if (!result && ready)
		result = send_post(c, data, size, mhandle, request);
	return emu_comm_leave(c, result);
}

static enum nccl_result
recv_post(struct emu_comm *c, int n, void **data, int *sizes, void **mhandles, void **request)
{
	struct emu_reg *reg;
	enum nccl_result result;

	if (n != 1)
		return emu_refuse("recv-n", "irecv: n is %d: maxRecvs is 1", n);
	result = post_checks(c, "irecv", sizes[0], mhandles ? mhandles[0] : NULL, &reg);
	if (result)
		return result;
	if (!reg->gpu && !c->host_said) {
		c->host_said = true;
		emu_misuse("host-receive", "receive comm %d: the buffer is registered as host memory: "
			   "payload comes there, and no entries of bounce pages", c->index);
	}
	emu_comm_post(c, reg, data[0], (uint32_t)sizes[0], request);
	return NCCL_OK;
}

static enum nccl_result
irecv(void *comm, int n, void **data, int *sizes, int *tags, void **mhandles, void **request)
{
	struct emu_comm *c;
	bool ready;
	enum nccl_result result = emu_comm_enter(comm, EMU_RECV, "irecv", &c);

	(void)tags;
	if (result)
		return result;
	*request = NULL;
	result = connected(c, &ready);
	if (!result && ready)
		result = recv_post(c, n, data, sizes, mhandles, request);
	return emu_comm_leave(c, result);
}

static enum nccl_result
iflush(void *comm, int n, void **data, int *sizes, void **mhandles, void **request)
{
	(void)comm;
	(void)n;
	(void)data;
	(void)sizes;
	(void)mhandles;
	*request = NULL;
	return emu_misuse("iflush", "iflush is broken in the real plugin and never to be called");
}

/* ---- completing ---------------------------------------------------------------------------- */

/* A fault delays the request by a few tests. */
static bool
late(struct emu_comm *c, struct emu_request *r, int64_t seq)
{
	if (r->late == EMU_ANY) {
		const struct emu_fault *f = emu_comm_fires(c, EMU_FAULT_TEST_LATE, seq);

		r->late = f ? f->n : 0;
	}
	return r->late-- > 0;
}

static enum nccl_result
send_finish(struct emu_comm *c, struct emu_request *r, uint64_t seq)
{
	if (c->config->strict && r->hash != emu_send_hash(c, r))
		return emu_misuse("send-changed", "send comm %d, request %llu: the buffer was written "
				  "to before test() said done", c->index, (unsigned long long)seq);
	emu_reg_unuse(r->reg);
	c->ring.free++;
	return NCCL_OK;
}

/* @seq is the oldest TRANSMITTING request. */
static enum nccl_result
finish(struct emu_comm *c, uint64_t seq, int *done)
{
	struct emu_request *r = emu_comm_request(c, seq);
	bool complete = c->role == EMU_SEND ? emu_send_done(c, r) : !r->pending;
	enum nccl_result result = NCCL_OK;

	if (!complete || late(c, r, (int64_t)seq)) {
		emu_stall_look(c);
		return NCCL_OK;
	}
	if (c->role == EMU_RECV)
		emu_recv_done(c, r);
	else
		result = send_finish(c, r, seq);
	c->ring.done++;
	*done = result == NCCL_OK;
	return result;
}

static enum nccl_result
test_inside(struct emu_comm *c, uint64_t seq, int *done)
{
	enum emu_state state = emu_ring_state(&c->ring, seq);
	enum nccl_result result;

	if (state == EMU_FREE || state == EMU_INACTIVE)
		/* the real plugin takes the end of the request that has its pointer by then */
		return emu_misuse("test-after-done", "test: request %llu of comm %d was done before",
				  (unsigned long long)seq, c->index);
	result = c->role == EMU_SEND ? emu_send_progress(c) : emu_recv_progress(c);
	if (result || !emu_ring_has_transmitting(&c->ring)) {
		if (!result)
			emu_stall_look(c);
		return result;
	}
	if (seq != c->ring.done)
		return emu_refuse("test-order", "test called with invalid request: %llu of comm %d "
				  "while %llu is the oldest that is not done",
				  (unsigned long long)seq, c->index,
				  (unsigned long long)c->ring.done);
	return finish(c, seq, done);
}

static enum nccl_result
test(void *request, int *done, int *sizes)
{
	struct emu_shell *shell = request;
	struct emu_comm *c;
	enum nccl_result result;

	if (!done)
		return emu_misuse("no-done", "test: there is no place for the answer");
	*done = 0;
	if (!shell || shell->magic != EMU_SHELL_MAGIC)
		return emu_misuse("no-request", "test: %p is no request", request);
	result = emu_comm_enter(shell->comm, EMU_ANY, "test", &c);
	if (result)
		return result;
	if (c->config->strict && sizes)
		*sizes = SIZE_POISON; /* the real plugin leaves rubbish there */
	result = test_inside(c, shell->seq, done);
	emu_stall_asked(c);
	return emu_comm_leave(c, result);
}

/* An empty receive has no page whose state the real plugin would look at: its ring goes wrong. */
static enum nccl_result
consume_wrong(struct emu_comm *c, uint64_t seq, const char *name, const char *what)
{
	const struct emu_request *r = emu_comm_request(c, seq);
	bool empty = r->known ? !r->total : !r->posted;

	return (empty ? emu_misuse : emu_refuse)(name, "irecvConsumed: request %llu of receive comm %d%s "
						 "%s", (unsigned long long)seq, c->index,
						 empty ? " (empty)" : "", what);
}

static enum nccl_result
consumed_inside(struct emu_comm *c, uint64_t seq)
{
	char expected[60];

	switch (emu_ring_state(&c->ring, seq)) {
	case EMU_FREE:
		return consume_wrong(c, seq, "consume-twice", "was consumed before");
	case EMU_INACTIVE:
		if (seq == c->ring.free)
			return emu_recv_consumed(c, seq);
		snprintf(expected, sizeof(expected), "is invalid vs expected %llu",
			 (unsigned long long)c->ring.free);
		return consume_wrong(c, seq, "consume-order", expected);
	default:
		return consume_wrong(c, seq, "consume-early", "is not done");
	}
}

static enum nccl_result
consumed(void *comm, int n, void *request)
{
	struct emu_shell *shell = request;
	struct emu_comm *c;
	enum nccl_result result = emu_comm_enter(comm, EMU_ANY, "irecvConsumed", &c);

	if (result)
		return result;
	if (n != 1)
		result = emu_refuse("consume-n", "irecvConsumed: n is %d: maxRecvs is 1", n);
	else if (!shell || shell->magic != EMU_SHELL_MAGIC)
		result = emu_refuse("consume-null", "irecvConsumed: %p is no request", request);
	else if (shell->comm->role == EMU_SEND) /* whatever comm it is said of */
		emu_warn("[consume-send] irecvConsumed: a send needs none");
	else if (c->role == EMU_SEND || shell->comm != c)
		result = emu_refuse("consume-comm", "irecvConsumed: the request is of receive comm "
				    "%d, not %d", shell->comm->index, c->index);
	else
		result = consumed_inside(c, shell->seq);
	return emu_comm_leave(c, result);
}

/* ---- closing ------------------------------------------------------------------------------- */

static enum nccl_result
close_comm(void *comm)
{
	struct emu_comm *c;
	enum nccl_result result;

	if (!comm)
		return NCCL_OK; /* as by the real plugin */
	result = emu_comm_enter(comm, EMU_ANY, "close", &c);
	if (result)
		return result;
	emu_stall_close(c);
	return emu_comm_leave(c, emu_comm_close(c));
}

__attribute__((visibility("default"))) extern const struct nccl_net_v7 ncclNetPlugin_v7;

const struct nccl_net_v7 ncclNetPlugin_v7 = {
	.name = "GPUDirectTCPX_v7",
	.init = init,
	.devices = devices,
	.properties = properties,
	.listen = listen_on,
	.connect = connect_to,
	.accept = accept_from,
	.reg = reg,
	.dereg = dereg,
	.isend = isend,
	.irecv = irecv,
	.iflush = iflush,
	.test = test,
	.close_send = close_comm,
	.close_recv = close_comm,
	.close_listen = emu_listen_close,
	.device_mr = device_mr,
	.consumed = consumed,
};
