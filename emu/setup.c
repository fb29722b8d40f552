/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's side of setting up: handles, who may call what how often, return values. */
#include "emu/setup.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "emu/say.h"
#include "emu/wire.h"

static struct {
	struct emu_kept dials, listens;
	atomic_int comms[2]; /* number made so far, by role */
} past = { { .lock = PTHREAD_MUTEX_INITIALIZER }, { .lock = PTHREAD_MUTEX_INITIALIZER }, { 0 } };

static const struct emu_nic *
nic_of(struct emu *e, int dev)
{
	return dev >= 0 && (unsigned)dev < e->topology.count ? &e->topology.nic[dev] : NULL;
}

/* Of CTRL_DEV, if that is a NIC or an interface here; else @addr stays. */
static bool
ctrl_address(struct emu *e, struct in_addr *addr)
{
	const char *name = e->config.ctrl_dev;

	if (!name || !*name)
		return true;
	for (unsigned i = 0; i < e->topology.count; i++) {
		if (!strcmp(e->topology.nic[i].name, name)) {
			*addr = e->topology.nic[i].addr;
			return true;
		}
	}
	return emu_topology_address(name, addr);
}

bool
emu_ctrl_dev_found(struct emu *e)
{
	struct in_addr addr;

	return ctrl_address(e, &addr);
}

enum nccl_result
emu_listen(struct emu *e, int dev, void *handle, void **listen_comm)
{
	const struct emu_nic *nic = nic_of(e, dev);
	struct emu_handle h = { .magic = EMU_HANDLE_MAGIC };
	struct emu_listen_comm *l;

	if (!handle)
		return emu_misuse("handle-bad", "listen: no memory for the handle");
	if (!nic)
		return emu_misuse("bad-dev", "listen: dev %d of %u: dev is the number of a NIC, not "
				  "of a GPU", dev, e->topology.count);
	l = emu_kept_new(&past.listens, sizeof(*l));
	if (!l)
		return NCCL_SYSTEM_ERROR;
	l->magic = EMU_LISTEN_MAGIC;
	l->nic = nic;
	l->gpu = emu_gpu_current();
	l->sockets = e->config.sockets;
	l->helpers = e->config.threads;
	h.data.sin_addr = nic->addr;
	h.ctrl.sin_addr = nic->addr;
	ctrl_address(e, &h.ctrl.sin_addr);
	l->data_fd = emu_wire_listen(&h.data);
	l->ctrl_fd = l->data_fd < 0 ? -1 : emu_wire_listen(&h.ctrl);
	if (l->ctrl_fd < 0 || getrandom(&l->nonce, sizeof(l->nonce), 0) != sizeof(l->nonce)) {
		emu_warn("[listen] %s: %m", inet_ntoa(nic->addr));
		if (l->data_fd >= 0)
			close(l->data_fd);
		l->closed = true;
		emu_kept_end(&past.listens, l);
		return NCCL_SYSTEM_ERROR;
	}
	h.nonce = l->nonce;
	h.sockets = (uint16_t)l->sockets;
	h.helpers = (uint16_t)l->helpers;
	memcpy(h.network, nic->network, sizeof(h.network));
	memset(handle, 0, NCCL_HANDLE_BYTES);
	memcpy(handle, &h, sizeof(h));
	*listen_comm = l;
	return NCCL_OK;
}

/* ---- a comm on its way ------------------------------------------------------------------- */

static struct emu_comm *
comm_start(struct emu *e, enum emu_role role, const struct emu_nic *nic, int gpu,
	   unsigned sockets, unsigned helpers, struct emu_wait *w)
{
	const struct emu_fault *nulls, *early;
	struct emu_comm *c;
	int index;

	index = atomic_fetch_add(&past.comms[role], 1);
	c = emu_comm_new(role, &e->config, &e->faults, nic, gpu, index);
	if (!c || !emu_copier_init(&c->copier, gpu))
		return NULL;
	c->sockets = sockets;
	c->helpers = helpers;
	nulls = emu_comm_fires(c, EMU_FAULT_SETUP_NULLS, EMU_ANY);
	early = emu_comm_fires(c, EMU_FAULT_EARLY_COMM, EMU_ANY);
	*w = (struct emu_wait){ .comm = c, .index = index, .nulls = 1 + (nulls ? nulls->n : 0),
				.early = early };
	return c;
}

static enum nccl_result
thread_start(struct emu_comm *c, void *(*run)(void *), void *arg)
{
	if (pthread_create(&c->setup, NULL, run, arg)) {
		emu_warn("no thread to connect: %m");
		return NCCL_SYSTEM_ERROR;
	}
	c->setup_runs = true;
	return NCCL_OK;
}

/* The answer of this call: NULL, the comm, or once the failure. */
static enum nccl_result
wait_poll(struct emu_wait *w, void **comm)
{
	int up = atomic_load(&w->comm->up);

	*comm = NULL;
	if (w->nulls > 0) {
		w->nulls--;
		return NCCL_OK;
	}
	if (up && w->comm->setup_runs) {
		pthread_join(w->comm->setup, NULL); /* its last act was to say so */
		w->comm->setup_runs = false;
	}
	if (up < 0) {
		w->given = w->failed = true;
		emu_comm_close(w->comm);
		return (enum nccl_result)-up;
	}
	if (up || w->early) {
		w->given = true;
		*comm = w->comm;
	}
	return NCCL_OK;
}

/* ---- connect ------------------------------------------------------------------------------- */

/* Has this process connected to that listener before, or is it about to? An attempt that failed is
 * none: with a copy of the handle as it came the real plugin tries again. */
static bool
connected_before(uint64_t nonce)
{
	bool found = false;

	pthread_mutex_lock(&past.dials.lock);
	for (struct emu_kept_node *n = past.dials.all; n && !found; n = n->all) {
		const struct emu_dial *d = (const struct emu_dial *)n;

		found = d->to.nonce == nonce && !d->wait.failed;
	}
	pthread_mutex_unlock(&past.dials.lock);
	return found;
}

static bool
dial_known(const struct emu_dial *dial)
{
	bool found = false;

	pthread_mutex_lock(&past.dials.lock);
	for (struct emu_kept_node *n = past.dials.all; n && !found; n = n->all)
		found = n == &dial->kept;
	pthread_mutex_unlock(&past.dials.lock);
	return found;
}

static enum nccl_result
dial_new(struct emu *e, const struct emu_nic *nic, const struct emu_handle *h,
	 const void *memory, struct emu_dial **out)
{
	struct emu_dial *d;

	if (connected_before(h->nonce))
		return emu_misuse("handle-reused", "connect: a handle is good for one connection: a "
				  "listen comm accepts once");
	if (strcmp(h->network, nic->network))
		emu_misuse("network", "connect: %s is on network %s and does not reach %s on %s: "
			   "the connection will time out", nic->name, nic->network,
			   inet_ntoa(h->data.sin_addr), h->network);
	d = emu_kept_new(&past.dials, sizeof(*d));
	if (!d)
		return NCCL_SYSTEM_ERROR;
	d->magic = EMU_DIAL_MAGIC;
	d->memory = memory;
	if (!comm_start(e, EMU_SEND, nic, emu_gpu_current(), h->sockets, h->helpers, &d->wait)) {
		emu_kept_end(&past.dials, d);
		return NCCL_SYSTEM_ERROR;
	}
	d->to = *h;
	*out = d;
	return thread_start(d->wait.comm, emu_setup_dial, d);
}

enum nccl_result
emu_connect(struct emu *e, int dev, void *handle, void **send_comm)
{
	const struct emu_nic *nic = nic_of(e, dev);
	enum nccl_result result;
	struct emu_handle h;
	struct emu_dial *d;

	*send_comm = NULL;
	if (!handle)
		return emu_misuse("handle-bad", "connect: there is no handle");
	memcpy(&h, handle, sizeof(h));
	if (!nic)
		return emu_misuse("bad-dev", "connect: dev %d of %u: dev is the number of a NIC, "
				  "not of a GPU", dev, e->topology.count);
	if (h.magic != EMU_HANDLE_MAGIC || !h.sockets || h.sockets > EMU_SOCKETS_MAX ||
	    !h.helpers || h.helpers > EMU_THREADS_MAX)
		return emu_misuse("handle-bad", "connect: this is no handle of listen()");
	d = h.dial;
	if (!d) {
		result = dial_new(e, nic, &h, handle, &d);
		if (result)
			return result;
		h.dial = d;
		memcpy(handle, &h, sizeof(h));
	}
	if (!dial_known(d))
		return emu_misuse("handle-foreign", "connect: the handle carries another process's "
				  "state: send it before connect() is called with it");
	if (d->memory != handle)
		return emu_misuse("handle-moved", "connect: the handle was copied while connecting: "
				  "call again with the same memory, %p", d->memory);
	if (d->wait.given)
		return emu_misuse("connect-again", "connect: this handle's connection was given "
				  "before (send comm %d)", d->wait.index);
	result = wait_poll(&d->wait, send_comm);
	if (d->wait.given && !d->wait.early) /* else its thread still reads it */
		emu_kept_end(&past.dials, d);
	return result;
}

/* ---- accept -------------------------------------------------------------------------------- */

/* Why the data of a receive comm will lie outside the pool; NULL: it will not. */
static const char *
wrong_nic(struct emu_comm *c)
{
	char gpus[EMU_GPUS_MAX * 4] = "none";
	int len = 0;

	if (emu_comm_fires(c, EMU_FAULT_WRONG_NIC, EMU_ANY))
		return "the fault wrong-nic";
	if (c->nic->gpus & 1ull << c->gpu)
		return NULL;
	for (int i = 0; i < EMU_GPUS_MAX; i++) {
		if (c->nic->gpus & 1ull << i)
			len += snprintf(gpus + len, sizeof(gpus) - (size_t)len, "%s%d", len ? ", " : "", i);
	}
	snprintf(c->wrong_nic, sizeof(c->wrong_nic), "GPU %d, current at listen(), is not local to NIC "
		 "%s, whose GPUs are: %s; its flow rule is on another NIC", c->gpu, c->nic->name, gpus);
	return c->wrong_nic;
}

static enum nccl_result
accept_start(struct emu *e, struct emu_listen_comm *l)
{
	struct emu_comm *c = comm_start(e, EMU_RECV, l->nic, l->gpu, l->sockets, l->helpers,
					&l->wait);

	if (!c)
		return NCCL_SYSTEM_ERROR;
	if (!emu_comm_receives(c)) {
		emu_warn("receive comm %d: no memory for %u bounce pages and the unpack queue",
			 c->index, e->config.pool_pages);
		atomic_store(&c->up, -NCCL_SYSTEM_ERROR);
		return NCCL_OK;
	}
	c->no_cmsg = wrong_nic(c);
	if (c->no_cmsg)
		emu_info("receive comm %d: %s", c->index, c->no_cmsg);
	return thread_start(c, emu_setup_accept, l);
}

/* What a peer sends before accept() has given the comm comes, with the real plugin's delays, before its flow
 * rules: strict mode asks for the barrier of both sides without them. */
static void
barrier_check(const struct emu_comm *c)
{
	int waiting = 0;

	for (unsigned i = 0; i <= c->sockets && !waiting && atomic_load(&c->up) > 0; i++)
		ioctl(i < c->sockets ? c->socket[i].fd : c->ctrl.fd, FIONREAD, &waiting);
	if (waiting)
		emu_misuse("no-barrier", "receive comm %d: the peer sent before accept() gave this comm: "
			   "its first bytes would be \"no cmsg\"", c->index);
}

enum nccl_result
emu_accept(struct emu *e, void *listen_comm, void **recv_comm,
	   struct nccl_device_handle **device)
{
	struct emu_listen_comm *l = listen_comm;
	enum nccl_result result;

	*recv_comm = NULL;
	if (!l || l->magic != EMU_LISTEN_MAGIC || l->closed)
		return emu_misuse("no-listen", "accept: %p is no open listen comm", listen_comm);
	if (!device || !*device)
		return emu_misuse("device-handle", "accept: the device handle is the caller's: "
				  "%s is NULL", device ? "*recvDevHandle" : "recvDevHandle");
	if (l->wait.given)
		return emu_misuse("accept-again", "accept: a listen comm accepts once: this one %s "
				  "receive comm %d", l->wait.failed ? "failed to make" : "gave",
				  l->wait.index);
	if (!l->wait.comm) {
		result = accept_start(e, l);
		if (result)
			return result;
	}
	result = wait_poll(&l->wait, recv_comm);
	if (*recv_comm && e->config.strict)
		barrier_check(l->wait.comm);
	if (*recv_comm)
		**device = (struct nccl_device_handle){
			NCCL_DEVICE_UNPACK, NCCL_UNPACK_VERSION, l->wait.comm->device,
			sizeof(struct nccl_unpack_device), 1 };
	return result;
}

enum nccl_result
emu_listen_close(void *listen_comm)
{
	struct emu_listen_comm *l = listen_comm;
	struct emu_comm *c;

	if (!l)
		return NCCL_OK; /* as by the real plugin */
	if (l->magic != EMU_LISTEN_MAGIC || l->closed)
		return emu_misuse("no-listen", "closeListen: %p is no open listen comm",
				  listen_comm);
	l->closed = true;
	c = l->wait.comm;
	if (c && !l->wait.given) {
		emu_warn("[close-listen] closeListen while accept is under way: receive comm %d is given up",
			 c->index);
		emu_comm_close(c);
	} else if (c && l->wait.early && c->index == l->wait.index && c->setup_runs) {
		/* given early: its thread still needs the listeners */
		pthread_join(c->setup, NULL);
		c->setup_runs = false;
	}
	close(l->data_fd);
	close(l->ctrl_fd);
	emu_kept_end(&past.listens, l);
	return NCCL_OK;
}
