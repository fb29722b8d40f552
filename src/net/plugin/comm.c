/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connecting. A plugin finishes connect() and accept() in threads of its own and returns a
 * NULL comm until then. After any other result its state is gone, and it must not be called
 * again. Before that, nothing that it was given may be freed. So an attempt that is given up
 * half-way is kept in a list of lost ones and polled until it ends.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/plugin/comm.h"
#include "net/plugin/inside.h"
#include "net/plugin/mem.h"
#include "net/plugin/req.h"
#include "net/plugin/result.h"

static struct plug_comm *
comm_new(struct plug *p, int dev, bool sending)
{
	struct plug_comm *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->plug = p;
	c->dev = dev;
	c->sending = sending;
	c->unpack = p->device[dev].props.unpack;
	return c;
}

static void
comm_close(struct plug_comm *c)
{
	if (!c->comm)
		return;
	if (c->sending)
		c->plug->abi->close_send(c->plug->table, c->comm);
	else
		c->plug->abi->close_recv(c->plug->table, c->comm);
	c->comm = NULL;
}

static int
check_dev(const struct plug *p, int dev, const char *what)
{
	if (dev >= 0 && dev < p->device_count)
		return 0;
	/* the plugin does not check it and would read past its table */
	return tcpx_fail(TCPX_SUB_NET, -EINVAL, "%s: %s on device %d; it has 0 to %d",
			 plug_own_name(p), what, dev, p->device_count - 1);
}

int
plug_listen(struct plug *p, int dev, uint8_t handle[PLUG_HANDLE_BYTES], struct plug_listen **out)
{
	uint8_t made[PLUG_HANDLE_BYTES] __attribute__((aligned(16))) = { 0 };
	struct plug_listen *l;
	enum nccl_result result;
	int rc = check_dev(p, dev, "listen");

	if (rc)
		return rc;
	plug_lost_poll(p);
	l = calloc(1, sizeof(*l));
	if (l)
		l->comm = comm_new(p, dev, false);
	if (!l || !l->comm) {
		free(l);
		return tcpx_fail(TCPX_SUB_NET, -ENOMEM, "%s: no memory to listen", plug_own_name(p));
	}
	l->plug = p;
	result = p->abi->listen(p->table, p->ctx, dev, made, &l->listen);
	if (result == NCCL_OK && !l->listen)
		result = NCCL_INTERNAL_ERROR;
	if (result != NCCL_OK) {
		rc = plug_fail(p, result, "listen on %s", p->device[dev].props.name);
		free(l->comm);
		free(l);
		return rc == -EAGAIN ? -EPROTO : rc;
	}
	memcpy(handle, made, sizeof(made));
	*out = l;
	return 0;
}

/* A plugin that unpacks must have filled in the device handle. */
static int
check_device(const struct plug_comm *c)
{
	const struct nccl_device_handle *d = c->device;

	if (!c->unpack)
		return 0;
	if (d && d->type == NCCL_DEVICE_UNPACK && d->version == NCCL_UNPACK_VERSION &&
	    d->handle && d->size >= sizeof(struct nccl_unpack_device))
		return 0;
	return tcpx_fail(TCPX_SUB_NET, -EPROTO, "%s: accept on %s: no handle for unpacking",
			 plug_own_name(c->plug), c->plug->device[c->dev].props.name);
}

/* Calls the plugin once. 0, -EAGAIN, or the failure that ends the attempt. */
static int
accept_step(struct plug_listen *l)
{
	struct plug_comm *c = l->comm;
	const struct plug *p = l->plug;
	void *comm = NULL;
	enum nccl_result result;

	if (!c->trying)
		c->device = c->unpack ? &c->room.device : NULL;
	c->trying = true;
	result = p->abi->accept(p->table, l->listen, &comm, &c->device);
	if (plug_code(result) == -EAGAIN || (result == NCCL_OK && !comm))
		return -EAGAIN;
	c->over = true;
	if (result != NCCL_OK)
		return plug_fail(p, result, "accept on %s", p->device[c->dev].props.name);
	c->comm = comm;
	return check_device(c);
}

static int
connect_step(struct plug_comm *c)
{
	const struct plug *p = c->plug;
	void *comm = NULL;
	enum nccl_result result;

	c->trying = true;
	result = p->abi->connect(p->table, p->ctx, c->dev, c->handle, &comm);
	if (plug_code(result) == -EAGAIN || (result == NCCL_OK && !comm))
		return -EAGAIN;
	c->over = true;
	if (result != NCCL_OK)
		return plug_fail(p, result, "connect on %s", p->device[c->dev].props.name);
	c->comm = comm;
	return 0;
}

int
plug_accept(struct plug_listen *l, struct plug_comm **comm)
{
	int rc;

	if (!l->comm)
		return tcpx_fail(TCPX_SUB_NET, TCPX_ESTATE, "%s: a listener accepts once",
				 plug_own_name(l->plug));
	if (l->comm->broken)
		return l->comm->broken;
	rc = accept_step(l);
	if (rc == 0) {
		*comm = l->comm;
		l->comm = NULL;
	} else if (rc != -EAGAIN) {
		l->comm->broken = rc;
	}
	return rc;
}

static void
listen_free(struct plug_listen *l)
{
	if (l->comm) {
		comm_close(l->comm);
		free(l->comm);
	}
	l->plug->abi->close_listen(l->plug->table, l->listen);
	free(l);
}

void
plug_listen_close(struct plug_listen *l)
{
	struct plug *p;

	if (!l)
		return;
	if (!l->comm || !l->comm->trying || l->comm->over) {
		listen_free(l);
		return;
	}
	p = l->plug;
	pthread_mutex_lock(&p->lock);
	l->next = p->lost_listens;
	p->lost_listens = l;
	pthread_mutex_unlock(&p->lock);
}

int
plug_connect(struct plug *p, int dev, const uint8_t handle[PLUG_HANDLE_BYTES],
	     struct plug_comm **comm)
{
	struct plug_comm *c = *comm;
	int rc = check_dev(p, dev, "connect");

	if (rc)
		return rc;
	if (!c) {
		plug_lost_poll(p);
		c = comm_new(p, dev, true);
		if (!c)
			return tcpx_fail(TCPX_SUB_NET, -ENOMEM, "%s: no memory to connect",
					 plug_own_name(p));
		memcpy(c->handle, handle, sizeof(c->handle));
		*comm = c;
	}
	if (c->over)
		return 0;
	rc = connect_step(c);
	if (rc && rc != -EAGAIN) {
		free(c);
		*comm = NULL;
	}
	return rc;
}

void
plug_connect_cancel(struct plug_comm **comm)
{
	struct plug_comm *c = *comm;

	*comm = NULL;
	plug_comm_close(c);
}

/* Gives the pages of landed receives back. Messages on their way are lost. */
static void
consume_rest(struct plug_comm *c)
{
	while (!c->sending && !c->broken && c->consumed < c->done)
		if (plug_consumed(c, &c->ring[c->consumed % PLUG_REQUESTS]))
			break;
}

void
plug_comm_close(struct plug_comm *c)
{
	struct plug *p;

	if (!c)
		return;
	p = c->plug;
	if (!c->over) {
		pthread_mutex_lock(&p->lock);
		c->next = p->lost_comms;
		p->lost_comms = c;
		pthread_mutex_unlock(&p->lock);
		return;
	}
	consume_rest(c);
	/* Threads of an unpacking plugin may be sending from registered memory. They end with
	 * the comm. Google's deregMr() does not use the comm, which is NULL by then. NCCL
	 * deregisters first. */
	if (c->unpack && c->posted != c->done) {
		comm_close(c);
		plug_mrs_drop(c);
	} else {
		plug_mrs_drop(c);
		comm_close(c);
	}
	free(c);
}

static void
poll_lost_listens(struct plug *p)
{
	for (struct plug_listen **at = &p->lost_listens; *at;) {
		struct plug_listen *l = *at;

		if (accept_step(l) == -EAGAIN) {
			at = &l->next;
			continue;
		}
		*at = l->next;
		listen_free(l);
	}
}

static void
poll_lost_comms(struct plug *p)
{
	for (struct plug_comm **at = &p->lost_comms; *at;) {
		struct plug_comm *c = *at;

		if (connect_step(c) == -EAGAIN) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		comm_close(c);
		free(c);
	}
}

void
plug_lost_poll(struct plug *p)
{
	pthread_mutex_lock(&p->lock);
	poll_lost_listens(p);
	poll_lost_comms(p);
	pthread_mutex_unlock(&p->lock);
}

bool
plug_comm_unpacks(const struct plug_comm *c)
{
	return c->unpack;
}

const void *
plug_comm_device(const struct plug_comm *c)
{
	return c->unpack && !c->sending ? c->device->handle : NULL;
}

void
plug_comm_device_is(struct plug_comm *c, const uint8_t bytes[24])
{
	struct nccl_unpack_device d;

	memcpy(&d, bytes, sizeof(d));
	if (!d.meta || (uintptr_t)d.meta % sizeof(struct nccl_unpack_frag) || !d.bounce_buf) {
		c->broken = tcpx_fail(TCPX_SUB_NET, -EPROTO, "%s: fragments listed at %p of a pool "
				      "at %p", plug_own_name(c->plug), (void *)d.meta, d.bounce_buf);
		return;
	}
	c->meta = d.meta;
	c->bounce = (uint64_t)(uintptr_t)d.bounce_buf;
}
