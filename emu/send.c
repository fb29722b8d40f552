/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A send comm's part of test(): chunks of the oldest active request go to sockets
 * with room, each with a header on the control connection. A chunk is done when the
 * peer's kernel has it.
 */
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "emu/comm.h"
#include "emu/say.h"

#define HASH_STEP (64u << 10)

/* ---- strict: was the source left alone? ------------------------------------------------ */

static uint64_t
hash_add(uint64_t hash, const char *bytes, size_t len)
{
	uint64_t word = 0;

	for (; len >= sizeof(word); bytes += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 29;
	}
	word = len;
	memcpy(&word, bytes, len);
	return (hash ^ word) * 0x9e3779b97f4a7c15ull;
}

uint64_t
emu_send_hash(struct emu_comm *c, const struct emu_request *r)
{
	uint64_t hash = r->posted;
	static _Thread_local char part[HASH_STEP];

	if (!r->reg->gpu || emu_gpu_direct(EMU_DEVICE))
		return hash_add(hash, r->data, r->posted);
	for (uint32_t at = 0; at < r->posted; at += HASH_STEP) {
		uint32_t len = r->posted - at < HASH_STEP ? r->posted - at : HASH_STEP;

		if (!emu_copier_copy(&c->copier, part, r->data + at, len) ||
		    !emu_copier_wait(&c->copier))
			return 0;
		hash = hash_add(hash, part, len);
	}
	return hash;
}

/* ---- taking finished chunks back --------------------------------------------------------- */

/* The kernel gives buffers back after a reset, too, and the real plugin takes that for an arrival. */
static void
collect_lies(struct emu_comm *c, struct emu_socket *s)
{
	for (; s->head != atomic_load(&s->tail); s->head++)
		emu_comm_request(c, s->task[s->head % EMU_TASKS_MAX].seq)->pending--;
	atomic_store(&s->moved, s->head);
}

static void
collect_socket(struct emu_comm *c, struct emu_socket *s)
{
	uint64_t sent = atomic_load(&s->sent), now = 0;
	struct emu_task *t;
	int waiting = 0;

	if (atomic_load(&s->lies))
		collect_lies(c, s);
	if (!emu_socket_moved(s) || s->fd < 0)
		return;
	/* bytes sent after the count was read make this later, never too early */
	if (ioctl(s->fd, SIOCOUTQ, &waiting) || (uint64_t)waiting > sent)
		return;
	while ((t = emu_socket_moved(s)) && t->end <= sent - (uint64_t)waiting) {
		struct emu_fault *f = emu_comm_fault(c, EMU_FAULT_ACK_DELAY, (int64_t)t->seq);
		struct emu_request *r = emu_comm_request(c, t->seq);

		now = f && !now ? emu_now_ns() : now;
		if (f && !r->hold)
			r->hold = now + (uint64_t)f->ms * 1000000u;
		r->pending--;
		emu_socket_taken(s);
	}
}

/* ---- cutting ----------------------------------------------------------------------------- */

static void
announce_read(struct emu_comm *c)
{
	struct emu_header h;

	while (emu_ctrl_peek(&c->ctrl, &h)) {
		if (h.type != EMU_HEADER_ANNOUNCE)
			c->ctrl.broken = true;
		emu_ctrl_taken(&c->ctrl);
		c->announced++;
	}
}

/* Bytes to send: the request's, unless a fault changes them. */
static uint32_t
total_of(struct emu_comm *c, const struct emu_request *r, int64_t seq)
{
	const struct emu_fault *larger = emu_comm_fires(c, EMU_FAULT_SIZE_LARGER, seq);
	const struct emu_fault *smaller = emu_comm_fires(c, EMU_FAULT_SIZE_SMALLER, seq);

	if (emu_comm_fires(c, EMU_FAULT_SIZE_ZERO, seq))
		return 0;
	if (larger) /* sizes are int, as the real plugin's */
		return larger->n < INT32_MAX - (int64_t)r->posted ? r->posted + (uint32_t)larger->n : INT32_MAX;
	if (smaller)
		return r->posted > smaller->n ? r->posted - (uint32_t)smaller->n : 0;
	return r->posted;
}

static unsigned
load(const struct emu_socket *s)
{
	return atomic_load(&s->tail) - s->head;
}

/* RR: the next after the last one used. KATY: the one with the least to do. */
static struct emu_socket *
socket_choose(struct emu_comm *c, uint32_t used)
{
	struct emu_socket *best = NULL;

	for (unsigned i = 1; i <= c->sockets; i++) {
		unsigned at = (c->last_socket + i) % c->sockets;
		struct emu_socket *s = &c->socket[at];

		if (!emu_socket_room(s))
			continue;
		if (!c->config->katy) {
			if (!(used & 1u << at))
				return s;
		} else if (!best || load(s) < load(best)) {
			best = s;
		}
	}
	return best;
}

static void
chunk_queue(struct emu_comm *c, struct emu_socket *s, struct emu_request *r, uint64_t seq)
{
	uint32_t left = r->total - r->cut, len = left < c->config->chunk ? left : c->config->chunk;
	struct emu_task *t = emu_socket_task(s);

	t->seq = seq;
	t->offset = r->cut;
	t->len = len;
	t->src = r->data + r->cut;
	t->real = r->cut >= r->posted ? 0 : r->posted - r->cut < len ? r->posted - r->cut : len;
	t->gpu = r->reg->gpu && !emu_gpu_direct(EMU_DEVICE);
	emu_ctrl_put(&c->ctrl, &(struct emu_header){ EMU_HEADER_DATA, (uint16_t)s->index, len,
						     r->cut, r->total });
	r->cut += len;
	r->pending++;
	emu_socket_add(c, s, r->total);
}

/* A fault closes the control connection before the chunk with its byte. */
static bool
ctrl_cut(struct emu_comm *c, const struct emu_request *r, uint64_t seq)
{
	struct emu_fault *f = emu_comm_fault(c, EMU_FAULT_CTRL_CLOSE, (int64_t)seq);
	uint32_t chunk = c->config->chunk;

	if (!f || (f->byte != EMU_ANY && (uint64_t)f->byte >= (uint64_t)r->cut + chunk))
		return false;
	emu_fault_fired(f);
	emu_ctrl_flush(&c->ctrl);
	shutdown(c->ctrl.fd, SHUT_RDWR);
	return c->ctrl.broken = true;
}

static void
cut(struct emu_comm *c)
{
	uint64_t seq = c->ring.cut;
	struct emu_request *r = emu_comm_request(c, seq);
	unsigned quanta = c->config->katy ? 2 : c->sockets;
	struct emu_socket *s;
	uint32_t used = 0;

	if (c->config->recv_sync && seq >= c->announced)
		return;
	if (!r->known) {
		r->total = total_of(c, r, (int64_t)seq);
		emu_comm_fires(c, EMU_FAULT_ACK_DELAY, (int64_t)seq);
		r->known = true;
		if (!r->total && emu_ctrl_room(&c->ctrl)) {
			emu_ctrl_put(&c->ctrl, &(struct emu_header){ .type = EMU_HEADER_DATA });
			c->ring.cut++;
			return;
		}
		r->known = r->total != 0;
	}
	while (r->cut < r->total && quanta-- && emu_ctrl_room(&c->ctrl) &&
	       !ctrl_cut(c, r, seq) && (s = socket_choose(c, used))) {
		used |= 1u << s->index;
		chunk_queue(c, s, r, seq);
	}
	if (r->known && r->cut == r->total)
		c->ring.cut++;
}

static bool
unfinished(struct emu_comm *c)
{
	for (uint64_t seq = c->ring.done; seq < c->ring.cut; seq++) {
		if (emu_comm_request(c, seq)->pending)
			return true;
	}
	return c->ring.cut < c->ring.tail;
}

enum nccl_result
emu_send_progress(struct emu_comm *c)
{
	if (atomic_load(&c->stalled))
		return NCCL_OK;
	for (unsigned i = 0; i < c->sockets; i++)
		collect_socket(c, &c->socket[i]);
	if (c->config->recv_sync) /* else nothing that the peer says is read, not even its end */
		announce_read(c);
	emu_ring_activate(&c->ring);
	if (emu_ring_has_active(&c->ring) && !c->ctrl.broken)
		cut(c);
	emu_ctrl_flush(&c->ctrl);
	if (!c->ctrl.broken || !unfinished(c))
		return NCCL_OK;
	emu_warn("[ctrl-closed] send comm %d: the control connection is closed", c->index);
	return NCCL_SYSTEM_ERROR;
}

bool
emu_send_done(struct emu_comm *c, struct emu_request *r)
{
	(void)c;
	return !r->pending && (!r->hold || emu_now_ns() >= r->hold);
}
