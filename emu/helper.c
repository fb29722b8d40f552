/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of a helper thread, and the effect of faults on a task. */
#include "emu/helper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "emu/rng.h"
#include "emu/say.h"

enum emu_step
emu_helper_lost(const struct emu_helper *h, const struct emu_socket *s)
{
	const struct emu_comm *c = h->comm;
	bool send = c->role == EMU_SEND;

	/* begins with the real plugin's words: its users search for them */
	if (errno)
		emu_warn("[data-closed] Call to socket op %s failed : %m: %s comm %d, socket %u; its "
			 "helper thread %u ends, with all its sockets", send ? "send" : "recv",
			 send ? "send" : "receive", c->index, s->index, h->index);
	else
		emu_warn("[data-closed] Net : Connection closed by remote peer: %s comm %d, socket %u; its "
			 "helper thread %u ends, with all its sockets", send ? "send" : "receive",
			 c->index, s->index, h->index);
	return EMU_STEP_END;
}

static enum emu_step
pull_trigger(struct emu_helper *h, struct emu_socket *s, struct emu_trigger *trigger)
{
	struct emu_fault *fault = trigger->fault;

	emu_fault_fired(fault);
	trigger->fault = NULL;
	switch (fault->kind) {
	case EMU_FAULT_KILL:
		kill(getpid(), SIGKILL);
		break;
	case EMU_FAULT_DATA_CLOSE:
		shutdown(s->fd, SHUT_RDWR);
		if (h->comm->role == EMU_SEND)
			return EMU_STEP_MOVED; /* its next send() fails, and raises SIGPIPE */
		errno = 0;
		return emu_helper_lost(h, s); /* else what has come before would still be read */
	case EMU_FAULT_FALSE_DONE:
		shutdown(s->fd, SHUT_RDWR);
		atomic_store(&s->lies, true);
		break;
	default: /* half-open: affects the whole comm */
		atomic_store(&h->comm->stalled, true);
		break;
	}
	return EMU_STEP_IDLE;
}

static enum emu_step
step(struct emu_helper *h, struct emu_socket *s)
{
	uint32_t at = atomic_load(&s->moved);
	struct emu_task *t = &s->task[at % EMU_TASKS_MAX];
	enum emu_step result;

	if (at == atomic_load_explicit(&s->tail, memory_order_acquire) || atomic_load(&s->lies) ||
	    atomic_load(&h->comm->stalled))
		return EMU_STEP_IDLE;
	if (t->not_before && emu_now_ns() < t->not_before)
		return EMU_STEP_WAIT;
	if (t->trigger.fault && t->moved >= t->trigger.at)
		return pull_trigger(h, s, &t->trigger);
	result = h->comm->role == EMU_SEND ? emu_step_send(h, s, t) : emu_step_recv(h, s, t);
	if (result == EMU_STEP_MOVED && t->moved == t->len)
		atomic_store_explicit(&s->moved, at + 1, memory_order_release);
	return result;
}

/* One look at each socket of this thread, in any order; returns what to poll for, 0: the thread ends. */
static unsigned
look(struct emu_helper *h, struct pollfd *fds, int *timeout, bool *moved)
{
	struct emu_comm *c = h->comm;
	unsigned n = 1, mine = (c->sockets + c->helpers - 1 - h->index) / c->helpers;
	unsigned first = mine > 1 ? emu_rng_below(&h->rng, mine) : 0;

	fds[0] = (struct pollfd){ .fd = h->wake, .events = POLLIN };
	*timeout = -1;
	*moved = false;
	for (unsigned i = 0; i < mine; i++) {
		struct emu_socket *s = &c->socket[h->index + (first + i) % mine * c->helpers];

		switch (step(h, s)) {
		case EMU_STEP_MOVED:
			*moved = true;
			break;
		case EMU_STEP_BLOCKED:
			fds[n++] = (struct pollfd){ .fd = s->fd,
				.events = c->role == EMU_SEND ? POLLOUT : POLLIN };
			break;
		case EMU_STEP_WAIT:
			*timeout = 1;
			break;
		case EMU_STEP_END:
			return 0;
		case EMU_STEP_IDLE:
			break;
		}
	}
	return n;
}

static void *
run(void *arg)
{
	struct emu_helper *h = arg;
	struct pollfd fds[EMU_SOCKETS_MAX + 1];
	uint64_t count;
	int timeout;
	bool moved;

	while (!atomic_load(&h->comm->stop)) {
		unsigned n = look(h, fds, &timeout, &moved);

		if (!n)
			break;
		if (moved)
			continue;
		poll(fds, n, timeout);
		if ((fds[0].revents & POLLIN) && read(h->wake, &count, sizeof(count)) < 0)
			emu_warn("a helper's eventfd: %m");
	}
	atomic_store(&h->ended, true);
	emu_copier_fini(&h->copier);
	return NULL;
}

static bool
start(struct emu_comm *c, struct emu_helper *h)
{
	h->comm = c;
	h->index = (unsigned)(h - c->helper);
	h->rng = emu_rng_mix(c->config->seed, (uint64_t)c->index * 64 + h->index);
	h->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (h->wake < 0 || !emu_copier_init(&h->copier, c->gpu) ||
	    pthread_create(&h->thread, NULL, run, h)) {
		emu_warn("no helper thread: %m");
		return false;
	}
	return h->started = true;
}

void
emu_helper_wake(struct emu_comm *c, struct emu_socket *s)
{
	struct emu_helper *h = &c->helper[s->index % c->helpers];
	uint64_t one = 1;

	if ((h->started || start(c, h)) && write(h->wake, &one, sizeof(one)) < 0)
		emu_warn("a helper's eventfd: %m");
}

void
emu_helpers_stop(struct emu_comm *c)
{
	uint64_t one = 1;

	atomic_store(&c->stop, true);
	for (unsigned i = 0; i < EMU_THREADS_MAX; i++) {
		struct emu_helper *h = &c->helper[i];

		if (!h->started)
			continue;
		if (write(h->wake, &one, sizeof(one)) < 0)
			emu_warn("a helper's eventfd: %m");
		pthread_join(h->thread, NULL);
		close(h->wake);
		h->started = false;
	}
}
