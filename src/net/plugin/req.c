/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of a comm. A plugin takes 16 of them (v6: 8) and finishes them in the order of
 * posting. A test of any but the oldest returns an error that looks like a real one, so this
 * file checks whether a call is allowed. Any error of the plugin itself ends the comm.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "net/plugin/frag.h"
#include "net/plugin/inside.h"
#include "net/plugin/req.h"
#include "net/plugin/result.h"

static int
breaks(struct plug_comm *c, int code)
{
	c->broken = code;
	return code;
}

static int
check_post(struct plug_comm *c, const void *mem, uint32_t len, const struct plug_mr *mr)
{
	uintptr_t at = (uintptr_t)mem;
	uint64_t size_max = c->plug->device[c->dev].props.size_max;

	if (!c->over)
		return tcpx_fail(TCPX_SUB_NET, TCPX_ESTATE, "%s: a message before the comm stands",
				 plug_own_name(c->plug));
	if (c->unpack && !c->sending && !c->meta)
		return tcpx_fail(TCPX_SUB_NET, TCPX_ESTATE, "%s: a receive before the comm's "
				 "device handle is known", plug_own_name(c->plug));
	if (!mr || at < mr->at || at - mr->at > mr->size || len > mr->size - (at - mr->at))
		return tcpx_fail(TCPX_SUB_NET, -EINVAL, "%s: %u bytes at %p are not registered",
				 plug_own_name(c->plug), len, mem);
	if (len > size_max)
		return tcpx_fail(TCPX_SUB_NET, -EMSGSIZE, "%s: a message of %u bytes, at most %"
				 PRIu64, plug_own_name(c->plug), len, size_max);
	return 0;
}

static int
post(struct plug_comm *c, void *mem, uint32_t len, int tag, struct plug_mr *mr,
     struct plug_request **req)
{
	const struct plug *p = c->plug;
	struct plug_request *r = &c->ring[c->posted % PLUG_REQUESTS];
	enum nccl_result result;
	void *request = NULL; /* never NCCL_OPTIONAL_RECV_COMPLETION: completions are needed */
	int rc;

	if (c->broken)
		return c->broken;
	rc = check_post(c, mem, len, mr);
	if (rc)
		return rc;
	if (c->posted - c->consumed >= p->abi->requests)
		return -EAGAIN;
	result = (c->sending ? p->abi->isend : p->abi->irecv)(p->table, c->comm, mem, len, tag,
							      mr->mhandle, &request);
	if (result == NCCL_OK && !request)
		return -EAGAIN; /* the comm is not connected yet; nothing was queued */
	if (result != NCCL_OK) {
		rc = plug_fail(p, result, "%s of %u bytes on %s", c->sending ? "isend" : "irecv",
			       len, p->device[c->dev].props.name);
		return rc == -EAGAIN ? rc : breaks(c, rc);
	}
	*r = (struct plug_request){
		.request = request, .seq = c->posted, .mem = mem, .mr = mr, .room = len,
	};
	mr->in_use++;
	c->posted++;
	*req = r;
	return 0;
}

int
plug_send(struct plug_comm *c, const void *mem, uint32_t len, int tag, void *mhandle,
	  struct plug_request **req)
{
	if (!c->sending)
		return tcpx_fail(TCPX_SUB_NET, TCPX_ESTATE, "%s: sending on a receiver's comm",
				 plug_own_name(c->plug));
	return post(c, (void *)(uintptr_t)mem, len, tag, mhandle, req);
}

int
plug_recv(struct plug_comm *c, void *mem, uint32_t room, int tag, void *mhandle,
	  struct plug_request **req)
{
	if (c->sending)
		return tcpx_fail(TCPX_SUB_NET, TCPX_ESTATE, "%s: receiving on a sender's comm",
				 plug_own_name(c->plug));
	return post(c, mem, room, tag, mhandle, req);
}

static const struct nccl_unpack_frag *
frags_of(const struct plug_comm *c, const struct plug_request *r, uint64_t *count)
{
	unsigned slot = r->seq % NCCL_UNPACK_SLOTS;

	/* the plugin writes the count last */
	*count = __atomic_load_n(&c->meta->cnt[slot], __ATOMIC_ACQUIRE);
	return c->meta->mem[slot];
}

/* The bytes that arrived. The plugin does not compare them with the room. */
static int
unpacked_len(struct plug_comm *c, struct plug_request *r)
{
	const struct nccl_unpack_frag *frag;
	uint64_t count, sum;

	frag = frags_of(c, r, &count);
	sum = plug_frags_sum(frag, count, r->room);
	if (sum > r->room)
		return tcpx_fail(TCPX_SUB_NET, TCPX_EFRAME, "%s: message %" PRIu64 " is listed as %"
				 PRIu64 " fragments that do not fit its %u bytes",
				 plug_own_name(c->plug), r->seq, count, r->room);
	r->len = (uint32_t)sum;
	return 0;
}

static int
reported_len(struct plug_comm *c, struct plug_request *r, int size)
{
	if (size < 0 || (uint32_t)size > r->room)
		return tcpx_fail(TCPX_SUB_NET, TCPX_EFRAME, "%s: message %" PRIu64 " has %d bytes, "
				 "the receive %u", plug_own_name(c->plug), r->seq, size, r->room);
	r->len = (uint32_t)size;
	return 0;
}

static int
ask(struct plug_comm *c, void *request, const char *what, int *size)
{
	int done = 0;
	enum nccl_result result = c->plug->abi->test(c->plug->table, request, &done, size);

	if (result != NCCL_OK)
		return plug_fail(c->plug, result, "%s on %s", what,
				 c->plug->device[c->dev].props.name);
	return done ? 0 : -EAGAIN;
}

/* Data that an ordinary plugin wrote to a GPU is visible there after a flush. */
static int
flush(struct plug_comm *c, struct plug_request *r)
{
	const struct plug *p = c->plug;
	enum nccl_result result;
	int size = 0, rc;

	if (!r->flushed) {
		result = p->abi->iflush(p->table, c->comm, r->mem, (int)r->len, r->mr->mhandle,
					&r->flush);
		if (result != NCCL_OK)
			return plug_fail(p, result, "iflush of %u bytes", r->len);
		r->flushed = true;
	}
	if (!r->flush)
		return 0;
	rc = ask(c, r->flush, "test of a flush", &size);
	if (rc == 0)
		r->flush = NULL;
	return rc;
}

static int
test_recv(struct plug_comm *c, struct plug_request *r)
{
	int size = -1, rc = 0;

	if (!r->landed) {
		rc = ask(c, r->request, "test", &size);
		if (rc)
			return rc;
		/* a plugin that unpacks never returns a size */
		rc = c->unpack ? unpacked_len(c, r) : reported_len(c, r, size);
		r->landed = true;
	}
	if (rc == 0 && !c->unpack && r->len && r->mr->gpu &&
	    c->plug->abi->flushes(c->plug->table))
		rc = flush(c, r);
	return rc;
}

int
plug_test(struct plug_comm *c, struct plug_request *req, uint32_t *len)
{
	struct plug_request *r = &c->ring[c->done % PLUG_REQUESTS];
	int size = 0, rc;

	if (c->broken)
		return c->broken;
	if (c->done == c->posted || req != r)
		return tcpx_fail(TCPX_SUB_NET, -EINVAL, "%s: test of a message that is not the "
				 "oldest on its way", plug_own_name(c->plug));
	rc = c->sending ? ask(c, r->request, "test", &size) : test_recv(c, r);
	if (rc == -EAGAIN)
		return rc;
	if (rc)
		return breaks(c, rc);
	r->mr->in_use--;
	c->done++;
	if (c->sending) {
		c->consumed++;
		*len = r->room;
	} else {
		*len = r->len;
	}
	return 0;
}

static bool
is_landed(const struct plug_comm *c, const struct plug_request *req)
{
	return !c->sending && req >= c->ring && req < c->ring + PLUG_REQUESTS &&
	       req->seq >= c->consumed && req->seq < c->done;
}

int
plug_frags(struct plug_comm *c, const struct plug_request *req, struct plug_frag *frag,
	   uint32_t *count)
{
	const struct nccl_unpack_frag *list;
	uint64_t n;
	int rc;

	if (c->broken)
		return c->broken;
	if (!c->unpack || !is_landed(c, req))
		return tcpx_fail(TCPX_SUB_NET, -EINVAL, "%s: fragments of a message that has none",
				 plug_own_name(c->plug));
	list = frags_of(c, req, &n);
	rc = plug_frags_check(list, n, req->len, c->bounce, frag, count);
	if (rc)
		return breaks(c, tcpx_fail(TCPX_SUB_NET, rc, "%s: message %" PRIu64 ": its %" PRIu64
					   " fragments are no partition of %u bytes",
					   plug_own_name(c->plug), req->seq, n, req->len));
	return 0;
}

int
plug_consumed(struct plug_comm *c, struct plug_request *req)
{
	struct plug_request *r = &c->ring[c->consumed % PLUG_REQUESTS];
	const struct plug *p = c->plug;
	enum nccl_result result;
	int rc;

	if (c->broken)
		return c->broken;
	if (c->sending || c->consumed == c->done || req != r)
		return tcpx_fail(TCPX_SUB_NET, -EINVAL, "%s: consuming a message that is not the "
				 "oldest landed one", plug_own_name(p));
	result = p->abi->consumed(p->table, c->comm, r->request);
	if (result != NCCL_OK) {
		rc = plug_fail(p, result, "irecvConsumed");
		return breaks(c, rc == -EAGAIN ? -EPROTO : rc);
	}
	c->consumed++;
	return 0;
}
