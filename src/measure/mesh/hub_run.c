/* SPDX-License-Identifier: Apache-2.0 */
/* The hub's connections: one thread, one poll(). */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "measure/mesh/env.h"
#include "measure/mesh/hub.h"
#include "measure/mesh/line.h"

enum { CONNS = MESH_RANKS_MAX + 64, TURN_MS = 200, LAST_MS = 10000, LATE_MS = 30000 };

struct serving {
	struct hub hub;
	struct pollfd poll[CONNS + 1]; /* the last: the listener; fd -1: free      */
	struct mesh_line in[CONNS];
};

static void
send_to(void *arg, unsigned conn, const char *type, json_t *msg)
{
	struct serving *s = arg;

	if (mesh_line_send(s->poll[conn].fd, type, msg))
		shutdown(s->poll[conn].fd, SHUT_RDWR); /* the next poll() reports it lost */
}

static void
drop(struct serving *s, unsigned conn)
{
	close(s->poll[conn].fd);
	s->poll[conn].fd = -1;
	mesh_line_fini(&s->in[conn]);
	hub_lost(&s->hub, conn);
}

static void
take_in(struct serving *s)
{
	const struct timeval patience = { 10, 0 };
	int fd = accept4(s->poll[CONNS].fd, NULL, NULL, SOCK_CLOEXEC);
	unsigned i = 0;

	while (i < CONNS && s->poll[i].fd >= 0)
		i++;
	if (fd < 0)
		return;
	if (i == CONNS) {
		close(fd);
		return;
	}
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	s->poll[i] = (struct pollfd){ .fd = fd, .events = POLLIN };
}

static void
hear(struct serving *s, unsigned conn)
{
	json_t *msg;
	int rc = mesh_line_fill(&s->in[conn], s->poll[conn].fd);

	while (!rc && !(rc = mesh_line_take(&s->in[conn], &msg))) {
		rc = hub_take(&s->hub, conn, msg);
		json_decref(msg);
	}
	if (rc && rc != -EAGAIN)
		drop(s, conn);
}

/* Is a rank connected, or still to come and be sent the failure? */
static bool
anybody_left(const struct serving *s)
{
	for (unsigned i = 0; i < s->hub.size; i++)
		if (s->hub.conn[i] >= 0)
			return true;
	return s->hub.failed && s->hub.came < s->hub.size;
}

/* Serves until the mesh has ended and the ranks have hung up. */
static void
serve(struct serving *s, uint64_t meet_ms, uint64_t idle_ms)
{
	uint64_t heard = tcpx_clock_now(&tcpx_clock_system), now, patience_ms;
	char text[96];

	while (s->hub.stage != HUB_OVER || anybody_left(s)) {
		int n = poll(s->poll, CONNS + 1, TURN_MS);

		now = tcpx_clock_now(&tcpx_clock_system);
		heard = n > 0 ? now : heard;
		patience_ms = s->hub.stage == HUB_MEET ? meet_ms
			      : s->hub.stage != HUB_OVER ? idle_ms
			      : s->hub.came < s->hub.size ? LATE_MS : LAST_MS;
		if (now - heard > patience_ms * TCPX_MS) {
			if (s->hub.stage == HUB_OVER)
				return;
			snprintf(text, sizeof(text), "%u of %u ranks have come in %llu s", s->hub.here,
				 s->hub.size, (unsigned long long)patience_ms / 1000);
			hub_fail(&s->hub, text);
			heard = now;
		}
		if (n > 0 && s->poll[CONNS].revents)
			take_in(s);
		for (unsigned i = 0; n > 0 && i < CONNS; i++)
			if (s->poll[i].fd >= 0 && s->poll[i].revents)
				hear(s, i);
	}
}

int
mesh_hub_run(int listener, unsigned size, unsigned steps, const char *job, uint64_t meet_ms,
	     uint64_t idle_ms)
{
	struct serving *s = calloc(1, sizeof(*s));
	int rc = s ? hub_init(&s->hub, size, steps, job, send_to, s) : -ENOMEM;

	for (unsigned i = 0; s && i < CONNS; i++)
		s->poll[i].fd = -1;
	if (!rc) {
		s->poll[CONNS] = (struct pollfd){ .fd = listener, .events = POLLIN };
		serve(s, meet_ms, idle_ms);
		for (unsigned i = 0; i < CONNS; i++)
			if (s->poll[i].fd >= 0)
				drop(s, i);
		rc = s->hub.failed ? TCPX_EPEERGONE : 0;
		hub_fini(&s->hub);
	}
	close(listener);
	free(s);
	return rc;
}
