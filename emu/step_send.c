/* SPDX-License-Identifier: Apache-2.0 */
/* A helper's look at a send: bytes of the source, through staging for GPU memory. */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "emu/helper.h"
#include "emu/say.h"

/* Sent behind the end of a message that a fault made longer. */
static const char filler[4096];

/* Up to the byte at which a fault triggers. */
static uint32_t
limit(const struct emu_task *t, uint32_t n)
{
	if (t->trigger.fault && t->trigger.at > t->moved && n > t->trigger.at - t->moved)
		return t->trigger.at - t->moved;
	return n;
}

/* The source's bytes from moved on, in host memory; NULL: the driver failed. */
static const char *
staged(struct emu_helper *h, struct emu_socket *s, const struct emu_task *t, uint32_t *n)
{
	uint32_t at;

	if (!s->staging && !(s->staging = malloc(EMU_STAGING)))
		return NULL;
	if (s->staged_seq != t->seq || !s->staged_len || t->moved < s->staged_from ||
	    t->moved >= s->staged_from + s->staged_len) {
		uint32_t len = *n < EMU_STAGING ? *n : EMU_STAGING;

		if (!emu_copier_copy(&h->copier, s->staging, t->src + t->moved, len) ||
		    !emu_copier_wait(&h->copier))
			return NULL;
		s->staged_seq = t->seq;
		s->staged_from = t->moved;
		s->staged_len = len;
	}
	at = t->moved - s->staged_from;
	if (*n > s->staged_len - at)
		*n = s->staged_len - at;
	return s->staging + at;
}

enum emu_step
emu_step_send(struct emu_helper *h, struct emu_socket *s, struct emu_task *t)
{
	uint32_t n = t->len - t->moved;
	const char *from;
	ssize_t sent;

	if (t->moved >= t->real) {
		from = filler;
		if (n > sizeof(filler))
			n = sizeof(filler);
	} else {
		n = t->real - t->moved;
		from = t->gpu ? staged(h, s, t, &n) : t->src + t->moved;
	}
	sent = from ? send(s->fd, from, limit(t, n), MSG_DONTWAIT) : -1;
	if (!from)
		return EMU_STEP_END; /* no memory, or gpu.c has said why */
	if (sent < 0 && errno == EFAULT) {
		emu_misuse("send-unmapped", "send comm %d, request %llu: its memory went before test() said "
			   "done", h->comm->index, (unsigned long long)t->seq);
		errno = EFAULT;
	}
	if (sent < 0)
		return errno == EAGAIN || errno == EINTR ? EMU_STEP_BLOCKED : emu_helper_lost(h, s);
	t->moved += (uint32_t)sent;
	if (t->moved == t->len)
		s->staged_len = 0;
	atomic_fetch_add(&s->sent, (uint64_t)sent);
	return EMU_STEP_MOVED;
}
