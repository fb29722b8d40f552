/* SPDX-License-Identifier: Apache-2.0 */
#include "nccl/comm.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nccl/plug.h"
#include "nccl/say.h"

#define REQUESTS 32 /* NCCL's limit for a comm */

/* What a handle holds. */
struct place {
	uint8_t ticket[PIPE_TICKET_BYTES];
	struct comm *dialing; /* connect()'s own: NULL when listen() gives it out. A handle comes by NCCL's
			       * bootstrap, which anybody may reach: only a comm that is dialling counts */
};

_Static_assert(sizeof(struct place) == NCCL_HANDLE_BYTES, "a handle");

struct request {
	struct comm *comm;
	tcpx_xfer *message; /* NULL: free                                              */
	uint64_t len;       /* of a send; of a receive 0                               */
};

struct comm {
	struct plug *plug;
	struct pipe *pipe;
	struct comm *next;  /* of those that dial                                      */
	_Atomic bool asked; /* for, while it dials, since the last user ended          */
	enum nccl_result broken;
	struct request request[REQUESTS];
};

/* The one line of a comm that fails. */
static enum nccl_result
broken(struct comm *c, int code, const char *what, const char *why)
{
	if (!c->broken) {
		c->broken = tcpx_nccl_result(code);
		tcpx_nccl_warn("%s %s failed: %s (%s)", what, tcpx_nccl_pipe_peer(c->pipe), why,
			       tcpx_strerror_name(code));
	}
	return c->broken;
}

static enum nccl_result
call_failed(struct comm *c, int code, const char *what)
{
	char why[PIPE_WHY_BYTES];

	tcpx_last_error(NULL, why, sizeof(why));
	return broken(c, code, what, why[0] ? why : tcpx_strerror(code));
}

static struct comm *
comm_new(struct plug *plug)
{
	struct comm *c = calloc(1, sizeof(*c));

	if (c)
		c->plug = plug;
	for (size_t i = 0; c && i < REQUESTS; i++)
		c->request[i].comm = c;
	return c;
}

/* ---- connecting ------------------------------------------------------------------ */

enum nccl_result
tcpx_nccl_listen(int dev, struct communicator of, void *handle, void **listen_comm)
{
	struct plug *plug = tcpx_nccl_plug();
	struct place place = { .dialing = NULL };
	struct pipe_listen *l;
	int rc;

	if (!plug)
		return NCCL_SYSTEM_ERROR;
	if (dev < 0 || (size_t)dev >= plug->device_count)
		return NCCL_INVALID_ARGUMENT;
	rc = tcpx_nccl_pipe_listen(plug->hub, of, place.ticket, &l);
	if (rc)
		return tcpx_nccl_result(rc);
	memcpy(handle, &place, sizeof(place));
	*listen_comm = l;
	return NCCL_OK;
}

static void
unlist(struct comm *c)
{
	struct comm **at = &c->plug->dialing;

	pthread_mutex_lock(&c->plug->lock);
	while (*at && *at != c)
		at = &(*at)->next;
	if (*at)
		*at = c->next;
	pthread_mutex_unlock(&c->plug->lock);
}

static int
dial(struct plug *plug, struct communicator of, struct place *place)
{
	char why[PIPE_WHY_BYTES] = "no memory for a connection";
	struct comm *c = comm_new(plug);
	int rc = c ? tcpx_nccl_pipe_connect(plug->hub, of, place->ticket, &c->pipe, why) : -ENOMEM;

	if (rc) {
		tcpx_nccl_warn("connect: %s (%s)", why, tcpx_strerror_name(rc));
		free(c);
		return rc;
	}
	pthread_mutex_lock(&plug->lock);
	c->asked = true;
	c->next = plug->dialing;
	plug->dialing = c;
	pthread_mutex_unlock(&plug->lock);
	place->dialing = c;
	return 0;
}

/* Is it one that dials? Nothing of it is read before. */
static bool
is_dialling(struct plug *plug, const struct comm *c)
{
	const struct comm *one;

	pthread_mutex_lock(&plug->lock);
	for (one = plug->dialing; one && one != c; one = one->next)
		;
	pthread_mutex_unlock(&plug->lock);
	return one != NULL;
}

enum nccl_result
tcpx_nccl_connect(int dev, struct communicator of, void *handle, void **send_comm)
{
	struct plug *plug = tcpx_nccl_plug();
	struct place *place = handle;
	struct comm *c;
	int rc = plug ? 0 : -EIO;

	(void)dev;
	*send_comm = NULL;
	if (rc == 0 && !place->dialing) {
		rc = dial(plug, of, place);
	} else if (rc == 0 && !is_dialling(plug, place->dialing)) {
		tcpx_nccl_warn("connect: %s", "the handle was changed on its way from the rank that gave it");
		rc = -EINVAL;
	}
	if (rc)
		return tcpx_nccl_result(rc);
	c = place->dialing;
	c->asked = true;
	rc = tcpx_nccl_pipe_ready(c->pipe);
	if (rc == -EAGAIN)
		return NCCL_OK;
	unlist(c);
	place->dialing = NULL;
	if (rc == 0) {
		*send_comm = c;
		return NCCL_OK;
	}
	call_failed(c, rc, "connecting to");
	return tcpx_nccl_close(c) ? NCCL_INTERNAL_ERROR : tcpx_nccl_result(rc);
}

enum nccl_result
tcpx_nccl_accept(void *listen_comm, void **recv_comm)
{
	struct pipe *pipe;
	struct comm *c;
	int rc = tcpx_nccl_pipe_accept(listen_comm, &pipe);

	*recv_comm = NULL;
	if (rc == -EAGAIN)
		return NCCL_OK;
	if (rc)
		return tcpx_nccl_result(rc);
	c = comm_new(tcpx_nccl_plug());
	if (!c) {
		tcpx_nccl_pipe_close(pipe);
		return NCCL_SYSTEM_ERROR;
	}
	c->pipe = pipe;
	*recv_comm = c;
	return NCCL_OK;
}

enum nccl_result
tcpx_nccl_close_listen(void *listen_comm)
{
	if (listen_comm)
		tcpx_nccl_pipe_listen_close(listen_comm);
	return NCCL_OK;
}

enum nccl_result
tcpx_nccl_close(void *comm)
{
	struct comm *c = comm;

	if (c)
		tcpx_nccl_pipe_close(c->pipe);
	for (size_t i = 0; c && i < REQUESTS; i++)
		tcpx_nccl_pipe_drop(c->request[i].message);
	free(c);
	return NCCL_OK;
}

struct comm *
tcpx_nccl_comm_left(struct plug *plug)
{
	struct comm *left = NULL, **at = &plug->dialing, *c;

	while ((c = *at)) {
		if (c->asked) {
			c->asked = false;
			at = &c->next;
		} else {
			*at = c->next;
			c->next = left;
			left = c;
		}
	}
	return left;
}

void
tcpx_nccl_comm_drop_all(struct comm *first)
{
	struct comm *next;

	for (struct comm *c = first; c; c = next) {
		next = c->next;
		(void)tcpx_nccl_close(c);
	}
}

/* ---- memory ---------------------------------------------------------------------- */

enum nccl_result
tcpx_nccl_reg(void *comm, void *data, size_t size, int type, void **mhandle)
{
	struct comm *c = comm;
	struct region *region;
	int rc = type == NCCL_PTR_HOST && size ? 0 : -EINVAL;

	if (rc == 0)
		rc = tcpx_nccl_region_get(&c->plug->regions, c->plug->hub, data, size, &region);
	if (rc) {
		tcpx_nccl_warn("memory at %p, %zu bytes of type %d, cannot be used: %s", data, size,
			       type, tcpx_strerror(rc));
		return tcpx_nccl_result(rc);
	}
	*mhandle = region;
	return NCCL_OK;
}

enum nccl_result
tcpx_nccl_dereg(void *comm, void *mhandle)
{
	struct comm *c = comm;

	if (mhandle)
		tcpx_nccl_region_put(&c->plug->regions, c->plug->hub, mhandle);
	return NCCL_OK;
}

/* ---- messages -------------------------------------------------------------------- */

static struct request *
free_request(struct comm *c)
{
	for (size_t i = 0; i < REQUESTS; i++)
		if (!c->request[i].message)
			return &c->request[i];
	return NULL;
}

enum nccl_result
tcpx_nccl_post(void *comm, void *data, size_t size, void *mhandle, void **request)
{
	struct comm *c = comm;
	struct region *region = mhandle;
	struct request *r = free_request(c);
	int rc;

	*request = NULL;
	if (c->broken || !r)
		return c->broken;
	if (!region)
		return broken(c, -EINVAL, "a message with", "its memory is not registered");
	rc = tcpx_nccl_pipe_post(c->pipe, region->id, (uintptr_t)data - region->addr, size,
				 &r->message);
	if (rc) {
		r->message = NULL;
		return rc == -ENOBUFS ? NCCL_OK : call_failed(c, rc, "a message with");
	}
	r->len = tcpx_nccl_pipe_sends(c->pipe) ? size : 0;
	*request = r;
	return NCCL_OK;
}

enum nccl_result
tcpx_nccl_test(void *request, int *done, int *size)
{
	struct request *r = request;
	char why[PIPE_WHY_BYTES];
	int rc;

	*done = 0;
	if (!r->message)
		return NCCL_INTERNAL_ERROR; /* it was done, or failed */
	rc = tcpx_nccl_pipe_test(r->comm->pipe, r->message, &r->len, why);
	if (rc == -EAGAIN)
		return r->comm->broken;
	r->message = NULL;
	if (rc)
		return broken(r->comm, rc, "a message with", why);
	*done = 1;
	if (size)
		*size = (int)r->len;
	return NCCL_OK;
}
