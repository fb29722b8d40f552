/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of a comm: the size first, small ones with it; then the rest, by tasks or by the caller. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sockets.h"

/* As much as goes without waiting. */
static enum nccl_result
move(bool sends, int fd, uint8_t *data, size_t len, size_t *offset)
{
	ssize_t n;

	while (*offset < len) {
		if (sends)
			n = send(fd, data + *offset, len - *offset, MSG_DONTWAIT | MSG_NOSIGNAL);
		else
			n = recv(fd, data + *offset, len - *offset, MSG_DONTWAIT);
		if (n > 0)
			*offset += (size_t)n;
		else if (n == 0)
			return NCCL_REMOTE_ERROR;
		else if (errno == EAGAIN || errno == EWOULDBLOCK)
			return NCCL_OK;
		else if (errno != EINTR)
			return NCCL_REMOTE_ERROR;
	}
	return NCCL_OK;
}

/* ---- helpers --------------------------------------------------------------------- */

static bool
is_open(struct task *t)
{
	return atomic_load(&t->used) && !atomic_load(&t->result) && atomic_load(&t->offset) < t->len;
}

static void
step(struct helper *h, struct task *t)
{
	size_t offset = atomic_load(&t->offset);
	enum nccl_result result = move(h->comm->sends, t->fd, t->data, t->len, &offset);

	if (result)
		atomic_store(&t->result, result);
	else
		atomic_store(&t->offset, offset);
}

/* The parts of one message on the helper's sockets, until all are through: it does not sleep. */
static bool
work(struct helper *h, unsigned first, unsigned count)
{
	bool any = false, more;

	do {
		more = false;
		for (unsigned i = first; i < first + count; i++) {
			if (!is_open(&h->task[i]))
				continue;
			any = true;
			step(h, &h->task[i]);
			more |= is_open(&h->task[i]);
		}
	} while (more && !__atomic_load_n(&h->stop, __ATOMIC_RELAXED));
	return any;
}

static void *
help(void *arg)
{
	struct helper *h = arg;
	unsigned each = h->comm->sockets / h->comm->helpers, seen = 0;
	bool any, stop = false;

	while (!stop) {
		pthread_mutex_lock(&h->lock);
		seen = h->posted;
		pthread_mutex_unlock(&h->lock);
		any = false;
		for (unsigned i = 0; i < h->len; i += each)
			any |= work(h, i, each);
		pthread_mutex_lock(&h->lock);
		while (!any && seen == h->posted && !h->stop)
			pthread_cond_wait(&h->cond, &h->lock);
		stop = h->stop;
		pthread_mutex_unlock(&h->lock);
	}
	return NULL;
}

static bool
helper_start(struct comm *c, struct helper *h)
{
	h->comm = c;
	h->len = REQUESTS * (c->sockets / c->helpers);
	h->task = calloc(h->len, sizeof(*h->task));
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->cond, NULL);
	h->started = h->task && pthread_create(&h->thread, NULL, help, h) == 0;
	return h->started;
}

static void
helper_stop(struct helper *h)
{
	if (h->started) {
		pthread_mutex_lock(&h->lock);
		__atomic_store_n(&h->stop, true, __ATOMIC_RELAXED);
		pthread_cond_signal(&h->cond);
		pthread_mutex_unlock(&h->lock);
		pthread_join(h->thread, NULL);
	}
	free(h->task);
}

/* The next data socket gets it, and with it that socket's helper. */
static enum nccl_result
give(struct request *r, uint8_t *data, size_t len)
{
	struct comm *c = r->comm;
	struct helper *h = &c->helper[c->next % c->helpers];
	struct task *t;

	if (!h->started && !helper_start(c, h))
		return NCCL_SYSTEM_ERROR;
	t = &h->task[h->next];
	if (atomic_load(&t->used))
		return NCCL_INTERNAL_ERROR;
	t->data = data;
	t->len = len;
	t->fd = c->fd[c->next];
	atomic_store(&t->result, NCCL_OK);
	atomic_store(&t->offset, 0);
	atomic_store(&t->used, true);
	c->next = (c->next + 1) % c->sockets;
	r->task[r->tasks++] = t;
	pthread_mutex_lock(&h->lock);
	h->next = (h->next + 1) % h->len;
	h->posted++;
	pthread_cond_signal(&h->cond);
	pthread_mutex_unlock(&h->lock);
	return NCCL_OK;
}

/* ---- a message ------------------------------------------------------------------- */

enum nccl_result
sockets_post(void *comm, void *data, size_t size, void **request)
{
	struct comm *c = comm;
	struct request *r = &c->request[c->first];

	*request = NULL;
	if (r->stage != FREE)
		return NCCL_OK;
	r->comm = c;
	r->stage = SIZE;
	r->data = data;
	r->len = size;
	r->offset = r->moved = 0;
	r->tasks = 0;
	c->first = (c->first + 1) % REQUESTS;
	*request = r;
	return NCCL_OK;
}

static size_t
inside(size_t len)
{
	return len <= INLINE_BYTES ? len : 0;
}

static enum nccl_result
send_size(struct request *r, bool *through)
{
	int size = (int)r->len;
	size_t len = sizeof(size) + inside(r->len);
	enum nccl_result result;

	memcpy(r->head, &size, sizeof(size));
	memcpy(r->head + sizeof(size), r->data, inside(r->len));
	do
		result = move(true, r->comm->ctrl, r->head, len, &r->moved);
	while (!result && r->moved && r->moved < len);
	*through = r->moved == len;
	return result;
}

/* Once its first byte is there, the whole size is, or soon. */
static enum nccl_result
recv_size(struct request *r, bool *through)
{
	enum nccl_result result = NCCL_OK;
	int size;

	while (!result && r->moved < sizeof(size)) {
		result = move(false, r->comm->ctrl, r->head, sizeof(size), &r->moved);
		if (!r->moved)
			return result;
		if (!result && r->moved == sizeof(size)) {
			memcpy(&size, r->head, sizeof(size));
			if (size < 0 || (size_t)size > r->len)
				return NCCL_INVALID_USAGE;
			r->len = (size_t)size;
		}
	}
	if (!result)
		result = move(false, r->comm->ctrl, r->data, inside(r->len), &r->offset);
	*through = !result && r->offset == inside(r->len);
	return result;
}

/* At most one task for each data socket. */
static enum nccl_result
cut(struct request *r)
{
	size_t sockets = r->comm->sockets, len, part;
	enum nccl_result result = NCCL_OK;

	r->stage = DATA;
	r->offset = inside(r->len);
	if (!sockets)
		return NCCL_OK;
	part = (r->len - r->offset + sockets - 1) / sockets;
	part = part < TASK_BYTES ? TASK_BYTES : part;
	for (size_t at = r->offset; !result && at < r->len; at += len) {
		len = r->len - at < part ? r->len - at : part;
		result = give(r, r->data + at, len);
	}
	return result;
}

static enum nccl_result
move_data(struct request *r, bool *through)
{
	enum nccl_result result = NCCL_OK;
	unsigned ended = 0;

	if (!r->tasks) {
		result = move(r->comm->sends, r->comm->ctrl, r->data, r->len, &r->offset);
		*through = r->offset == r->len;
		return result;
	}
	for (unsigned i = 0; !result && i < r->tasks; i++) {
		result = atomic_load(&r->task[i]->result);
		ended += atomic_load(&r->task[i]->offset) == r->task[i]->len;
	}
	*through = ended == r->tasks;
	for (unsigned i = 0; *through && i < r->tasks; i++)
		atomic_store(&r->task[i]->used, false);
	return result;
}

enum nccl_result
sockets_test(void *request, int *done, int *size)
{
	struct request *r = request;
	enum nccl_result result = NCCL_OK;
	bool through = r->stage == DATA;

	*done = 0;
	if (r->stage == SIZE)
		result = (r->comm->sends ? send_size : recv_size)(r, &through);
	if (!result && through && r->stage == SIZE)
		result = cut(r);
	if (!result && r->stage == DATA)
		result = move_data(r, &through);
	if (result) {
		if (!r->comm->broken)
			sockets_warn("a message of %zu bytes failed: %s", r->len,
				  result == NCCL_INVALID_USAGE ? "it is longer than its receive" :
								 "the connection");
		r->comm->broken = true;
		return result;
	}
	if (r->stage == DATA && through) {
		*done = 1;
		if (size)
			*size = (int)r->len;
		r->stage = FREE;
	}
	return NCCL_OK;
}

/* ---- the comm -------------------------------------------------------------------- */

struct comm *
sockets_comm_new(bool sends, unsigned sockets, unsigned helpers)
{
	struct comm *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->sends = sends;
	c->sockets = sockets;
	c->helpers = helpers;
	c->ctrl = -1;
	for (unsigned i = 0; i < SOCKETS_MAX; i++)
		c->fd[i] = -1;
	return c;
}

enum nccl_result
sockets_close(void *comm)
{
	struct comm *c = comm;

	for (unsigned i = 0; i < c->helpers; i++)
		helper_stop(&c->helper[i]);
	if (c->ctrl >= 0)
		close(c->ctrl);
	for (unsigned i = 0; i < c->sockets; i++)
		if (c->fd[i] >= 0)
			close(c->fd[i]);
	free(c);
	return NCCL_OK;
}
