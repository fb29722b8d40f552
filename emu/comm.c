/* SPDX-License-Identifier: Apache-2.0 */
/* Making, entering and closing comms; their requests and sockets' tasks. */
#include "emu/comm.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "emu/helper.h"
#include "emu/say.h"

#define META_BYTES   sizeof(struct nccl_unpack_meta)
#define DEVICE_BYTES 4096u /* whole pages: the struct is alone */

static struct emu_kept comms = { .lock = PTHREAD_MUTEX_INITIALIZER };

uint64_t
emu_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

struct emu_comm *
emu_comm_new(enum emu_role role, const struct emu_config *config, struct emu_faults *faults,
	     const struct emu_nic *nic, int gpu, int index)
{
	struct emu_comm *c = emu_kept_new(&comms, sizeof(*c));

	if (!c)
		return NULL;
	c->magic = EMU_COMM_MAGIC;
	c->role = role;
	c->index = index;
	c->config = config;
	c->faults = faults;
	c->nic = nic;
	c->gpu = gpu;
	c->pid = getpid();
	c->ctrl.fd = -1;
	for (unsigned i = 0; i < EMU_SOCKETS_MAX; i++) {
		c->socket[i].index = i;
		c->socket[i].fd = -1;
	}
	return c;
}

static bool
request_room(struct emu_comm *c)
{
	for (unsigned i = 0; i < EMU_REQUESTS; i++) {
		struct emu_request *r = &c->request[i];

		r->frag = calloc(NCCL_UNPACK_FRAGS + 1, sizeof(*r->frag));
		r->group = calloc(NCCL_UNPACK_FRAGS + 1, sizeof(*r->group));
		r->page = calloc(NCCL_UNPACK_FRAGS + 1, sizeof(*r->page));
		if (!r->frag || !r->group || !r->page)
			return false;
	}
	return true;
}

static bool
task_room(struct emu_comm *c)
{
	size_t each = EMU_TASK_FRAGS * sizeof(struct nccl_unpack_frag);
	char *at;

	c->frag_room = malloc(c->sockets * EMU_TASKS_MAX * each);
	at = c->frag_room;
	if (!at)
		return false;
	for (unsigned s = 0; s < c->sockets; s++) {
		for (unsigned t = 0; t < EMU_TASKS_MAX; t++, at += each)
			c->socket[s].task[t].frag = (struct nccl_unpack_frag *)at;
	}
	return true;
}

bool
emu_comm_receives(struct emu_comm *c)
{
	struct nccl_unpack_device d = { .head = UINT64_MAX };

	c->pool = emu_pool_get(c->gpu, c->config);
	if (!c->pool || !request_room(c) || !task_room(c))
		return false;
	c->meta = emu_gpu_alloc(c->gpu, EMU_PINNED, META_BYTES);
	c->device = emu_gpu_alloc(c->gpu, EMU_DEVICE, DEVICE_BYTES);
	if (!c->meta || !c->device)
		return false;
	d.meta = c->meta;
	d.bounce_buf = emu_pool_base(c->pool);
	/* counts are valid once a request is done: an early reader finds rubbish */
	memset(c->meta->cnt, c->config->strict ? 0xdb : 0, sizeof(c->meta->cnt));
	return emu_copier_copy(&c->copier, c->device, &d, sizeof(d)) &&
	       emu_copier_wait(&c->copier);
}

static uint32_t
back(struct emu_pool *pool, uint32_t src, uint32_t len)
{
	uint32_t pages = emu_pages(src, len);

	emu_pool_give_run(pool, src / EMU_PAGE, pages);
	return pages;
}

/* All pages held by the comm, in any state. The kernel frees them when a socket closes. */
static uint32_t
pages_back(struct emu_comm *c)
{
	uint32_t count = 0;

	for (uint64_t seq = c->ring.free; seq < c->ring.tail; seq++) {
		struct emu_request *r = emu_comm_request(c, seq);

		for (uint32_t i = 0; i < r->frags; count += r->page[i++].pages)
			emu_pool_give_run(c->pool, r->page[i].page, r->page[i].pages);
	}
	for (unsigned i = 0; i < c->sockets; i++) {
		struct emu_socket *s = &c->socket[i];

		for (uint32_t at = s->head; at != atomic_load(&s->tail); at++) {
			struct emu_task *t = &s->task[at % EMU_TASKS_MAX];

			for (uint32_t k = 0; k < t->frags; k++)
				count += back(c->pool, t->frag[k].src_off, t->frag[k].len);
		}
		for (unsigned k = s->filled; k < s->fills; k++)
			count += back(c->pool, s->fill[k].page * EMU_PAGE + s->fill[k].src, s->fill[k].len);
	}
	emu_pool_give(c->pool, c->lost, c->lost_count);
	return count;
}

static void
receives_end(struct emu_comm *c)
{
	if (c->pool) {
		uint32_t held = pages_back(c);

		if (held)
			emu_warn("[pages-left] receive comm %d: some pages not yet freed? %u are "
				 "with requests that were not consumed", c->index, held);
		if (c->lost_count)
			emu_warn("[pages-lost] receive comm %d: the tokens of %u pages were "
				 "forgotten: two chunks of a request shared a socket", c->index,
				 c->lost_count);
		emu_pool_put(c->pool);
	}
	if (c->meta && c->config->strict)
		memset(c->meta, 0xdb, META_BYTES);
	emu_gpu_free(c->gpu, EMU_PINNED, c->meta, META_BYTES);
	emu_gpu_free(c->gpu, EMU_DEVICE, c->device, DEVICE_BYTES);
	for (unsigned i = 0; i < EMU_REQUESTS; i++) {
		free(c->request[i].frag);
		free(c->request[i].group);
		free(c->request[i].page);
		c->request[i].frag = NULL;
		c->request[i].group = NULL;
		c->request[i].page = NULL;
	}
	free(c->frag_room);
	free(c->lost);
	c->frag_room = NULL;
	c->lost = NULL;
}

enum nccl_result
emu_comm_close(struct emu_comm *c)
{
	atomic_store(&c->stop, true);
	if (c->setup_runs)
		pthread_join(c->setup, NULL);
	c->setup_runs = false;
	emu_helpers_stop(c);
	for (unsigned i = 0; i < EMU_SOCKETS_MAX; i++) {
		if (c->socket[i].fd >= 0)
			close(c->socket[i].fd);
		free(c->socket[i].staging);
		c->socket[i].fd = -1;
		c->socket[i].staging = NULL;
	}
	if (c->ctrl.fd >= 0)
		close(c->ctrl.fd);
	c->ctrl.fd = -1;
	if (c->role == EMU_RECV)
		receives_end(c);
	emu_copier_fini(&c->copier);
	for (uint64_t seq = c->ring.free; seq != c->ring.tail; seq++)
		emu_reg_unuse(emu_comm_request(c, seq)->reg);
	c->closed = true;
	atomic_store(&c->asked_ns, 0);
	emu_kept_end(&comms, c);
	return NCCL_OK;
}

enum nccl_result
emu_comm_enter(void *ptr, int role, const char *call, struct emu_comm **out)
{
	struct emu_comm *c = ptr;

	if (!ptr || c->magic != EMU_COMM_MAGIC)
		return emu_misuse("no-comm", "%s: %p is no comm", call, ptr);
	if (c->pid != getpid())
		return emu_misuse("forked", "%s: comm %d is another process's: none of its threads came "
				  "through fork()", call, c->index);
	if (c->closed)
		return emu_misuse("closed-comm", "%s: comm %d was closed", call, c->index);
	if (role != EMU_ANY && (int)c->role != role)
		return emu_misuse("wrong-comm", "%s: comm %d is a %s comm", call, c->index,
				  c->role == EMU_SEND ? "send" : "receive");
	if (atomic_exchange(&c->inside, true))
		return emu_misuse("concurrent", "%s: another thread is inside %s comm %d: one "
				  "thread at a time drives a comm", call,
				  c->role == EMU_SEND ? "send" : "receive", c->index);
	*out = c;
	return NCCL_OK;
}

enum nccl_result
emu_comm_leave(struct emu_comm *c, enum nccl_result result)
{
	atomic_store(&c->inside, false);
	return result;
}

int
emu_comm_neglected(uint64_t before_ns)
{
	int index = -1;

	pthread_mutex_lock(&comms.lock);
	for (struct emu_kept_node *n = comms.all; n && index < 0; n = n->all) {
		struct emu_comm *c = (struct emu_comm *)n;
		uint64_t asked = atomic_load(&c->asked_ns);

		if (asked && asked < before_ns && atomic_compare_exchange_strong(&c->asked_ns, &asked, 0))
			index = c->index;
	}
	pthread_mutex_unlock(&comms.lock);
	return index;
}

struct emu_request *
emu_comm_request(struct emu_comm *c, uint64_t seq)
{
	return &c->request[seq % EMU_REQUESTS];
}

struct emu_request *
emu_comm_post(struct emu_comm *c, struct emu_reg *reg, void *data, uint32_t bytes, void **request)
{
	uint64_t seq = c->ring.tail++;
	struct emu_request *r = emu_comm_request(c, seq);
	struct emu_shell *shell = &c->shell[seq % (c->config->strict ? EMU_SHELLS : EMU_REQUESTS)];

	*r = (struct emu_request){ .reg = reg, .data = data, .posted = bytes, .late = -1,
				   .frag = r->frag, .group = r->group, .page = r->page };
	*shell = (struct emu_shell){ EMU_SHELL_MAGIC, c, seq };
	*request = shell;
	return r;
}

struct emu_fault *
emu_comm_fault(const struct emu_comm *c, enum emu_fault_kind kind, int64_t req)
{
	return emu_fault_find(c->faults, kind, c->role, c->index, req);
}

struct emu_fault *
emu_comm_fires(const struct emu_comm *c, enum emu_fault_kind kind, int64_t req)
{
	struct emu_fault *f = emu_comm_fault(c, kind, req);

	if (f)
		emu_fault_fired(f);
	return f;
}

int64_t
emu_comm_fault_byte(const struct emu_fault *f, const struct emu_socket *s,
		    const struct emu_task *t, uint32_t total)
{
	uint64_t byte = f->byte == EMU_ANY ? total / 2 : (uint64_t)f->byte;

	if (f->socket != EMU_ANY && f->socket != (int64_t)s->index)
		return -1;
	if (f->socket != EMU_ANY && f->byte == EMU_ANY)
		return t->len / 2;
	if (byte < t->offset || byte >= (uint64_t)t->offset + t->len)
		return -1;
	return (int64_t)(byte - t->offset);
}

bool
emu_socket_room(const struct emu_socket *s)
{
	return atomic_load_explicit(&s->tail, memory_order_relaxed) - s->head < EMU_TASKS_MAX;
}

struct emu_task *
emu_socket_task(struct emu_socket *s)
{
	struct emu_task *t = &s->task[atomic_load(&s->tail) % EMU_TASKS_MAX];

	*t = (struct emu_task){ .frag = t->frag, .flip = -1 };
	return t;
}

static void
trigger_set(struct emu_comm *c, const struct emu_socket *s, struct emu_task *t, uint32_t total)
{
	static const enum emu_fault_kind kinds[] = { EMU_FAULT_KILL, EMU_FAULT_DATA_CLOSE,
						     EMU_FAULT_FALSE_DONE, EMU_FAULT_HALF_OPEN };

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct emu_fault *f = emu_comm_fault(c, kinds[i], (int64_t)t->seq);
		int64_t at = f ? emu_comm_fault_byte(f, s, t, total) : -1;

		if (at >= 0) {
			t->trigger = (struct emu_trigger){ f, (uint32_t)at };
			return;
		}
	}
}

void
emu_socket_add(struct emu_comm *c, struct emu_socket *s, uint32_t total)
{
	struct emu_task *t = &s->task[atomic_load(&s->tail) % EMU_TASKS_MAX];
	struct emu_fault *delay = emu_comm_fault(c, EMU_FAULT_SOCKET_DELAY, (int64_t)t->seq);

	if (delay && (delay->socket == EMU_ANY || delay->socket == (int64_t)s->index)) {
		t->not_before = emu_now_ns() + (uint64_t)delay->ms * 1000000u;
		emu_fault_fired(delay);
	}
	trigger_set(c, s, t, total);
	s->queued += t->len;
	t->end = s->queued;
	c->last_socket = s->index;
	atomic_store_explicit(&s->tail, atomic_load(&s->tail) + 1, memory_order_release);
	emu_helper_wake(c, s);
}

struct emu_task *
emu_socket_moved(struct emu_socket *s)
{
	if (s->head == atomic_load_explicit(&s->moved, memory_order_acquire))
		return NULL;
	return &s->task[s->head % EMU_TASKS_MAX];
}

void
emu_socket_taken(struct emu_socket *s)
{
	s->head++;
}
