/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads and rounds of the plain-socket comparison. Connection k belongs to thread
 * k mod threads. The client's threads meet after each round; the server's threads are
 * driven by the bytes that arrive and sleep in the kernel between runs.
 */
#include "measure/perf/baseline.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "measure/perf/baseline_conn.h"
#include "measure/perf/sides.h"
#include "measure/perf/usage.h"

enum { STUCK_MS = 30000 };

struct raw_thread {
	struct baseline *b;
	unsigned index;
	pthread_t id;
	uint64_t start_ns, end_ns; /* of the last run */
};

struct baseline {
	struct baseline_plan plan;
	struct raw_conn conn[BASELINE_CONNS];
	struct raw_thread thread[BASELINE_THREADS];
	struct raw_conn *answer;  /* carries the answer "everything has arrived";
				   * NULL: no data out */
	unsigned receivers;       /* server: connections with a share to receive           */
	_Atomic unsigned received; /* server: of this round                                */
	_Atomic uint64_t call;
	_Atomic int rc;           /* first failure                                         */
	_Atomic bool stop;
	int listener;             /* server; -1 none                                       */
	unsigned started;
	/* client: synchronises runs */
	pthread_barrier_t meet;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t run, rounds;     /* lock */
	unsigned running;         /* lock */
	char congestion[BASELINE_NAMES]; /* lock; of connections that send */
};

static void
fail_all(struct baseline *b, int rc)
{
	int none = 0;

	atomic_compare_exchange_strong(&b->rc, &none, rc);
	for (size_t i = 0; i < b->plan.conns; i++)
		if (b->conn[i].fd >= 0)
			shutdown(b->conn[i].fd, SHUT_RDWR);
}

/* Sleeps until one of the thread's blocked connections can go on. */
static int
sleep_blocked(struct raw_thread *t, int timeout_ms)
{
	struct baseline *b = t->b;
	struct pollfd p[BASELINE_CONNS];
	struct raw_conn *of[BASELINE_CONNS];
	nfds_t n = 0;

	for (size_t i = t->index; i < b->plan.conns; i += b->plan.threads) {
		struct raw_conn *c = &b->conn[i];

		if (b->plan.client && !c->active)
			continue;
		of[n] = c;
		p[n++] = (struct pollfd){ c->fd, c->sends && c->active ? POLLOUT : POLLIN, 0 };
	}
	if (poll(p, n, timeout_ms) == 0)
		return -ETIMEDOUT;
	for (nfds_t i = 0; i < n; i++)
		if (p[i].revents)
			of[i]->blocked = false;
	return 0;
}

static int
client_round(struct raw_thread *t)
{
	struct baseline *b = t->b;
	uint64_t call = atomic_load(&b->call);
	size_t left = 0;
	int rc = 0;

	for (size_t i = t->index; !rc && i < b->plan.conns; i += b->plan.threads) {
		if (raw_conn_is_empty(&b->conn[i]))
			continue;
		raw_conn_begin(&b->conn[i]);
		left++;
		if (!b->conn[i].sends)
			rc = raw_conn_put_byte(&b->conn[i]);
	}
	while (rc >= 0 && left) {
		bool moved = false;

		for (size_t i = t->index; i < b->plan.conns; i += b->plan.threads) {
			struct raw_conn *c = &b->conn[i];

			if (!c->active || c->blocked)
				continue;
			rc = raw_conn_step(c, call);
			if (rc < 0)
				return rc;
			moved |= rc != RAW_BLOCKED;
			left -= rc == RAW_DONE;
		}
		if (!moved && left)
			rc = sleep_blocked(t, STUCK_MS);
	}
	if (rc >= 0 && b->answer &&
	    (size_t)(b->answer - b->conn) % b->plan.threads == t->index)
		rc = raw_conn_get_byte(b->answer, STUCK_MS);
	return rc < 0 ? rc : 0;
}

static void *
client_thread(void *arg)
{
	struct raw_thread *t = arg;
	struct baseline *b = t->b;
	uint64_t seen = 0, rounds;
	int rc;

	for (;;) {
		pthread_mutex_lock(&b->lock);
		while (b->run == seen && !b->stop)
			pthread_cond_wait(&b->changed, &b->lock);
		seen = b->run;
		rounds = b->rounds;
		pthread_mutex_unlock(&b->lock);
		if (b->stop)
			return NULL;

		t->start_ns = tcpx_clock_now(&tcpx_clock_system);
		for (uint64_t i = 0; i < rounds && !b->rc; i++) {
			rc = client_round(t);
			if (rc)
				fail_all(b, rc);
			if (b->plan.threads > 1)
				pthread_barrier_wait(&b->meet);
		}
		t->end_ns = tcpx_clock_now(&tcpx_clock_system);
		pthread_mutex_lock(&b->lock);
		b->running--;
		pthread_cond_broadcast(&b->changed);
		pthread_mutex_unlock(&b->lock);
	}
}

int
baseline_run(struct baseline *b, uint64_t rounds, uint64_t *ns)
{
	uint64_t start = UINT64_MAX, end = 0;

	pthread_mutex_lock(&b->lock);
	b->run++;
	b->rounds = rounds;
	b->running = b->plan.threads;
	pthread_cond_broadcast(&b->changed);
	while (b->running)
		pthread_cond_wait(&b->changed, &b->lock);
	pthread_mutex_unlock(&b->lock);
	if (b->rc)
		return tcpx_fail(TCPX_SUB_TOOL, b->rc, "baseline over %zu connections",
				 b->plan.conns);
	for (unsigned i = 0; i < b->plan.threads; i++) {
		start = b->thread[i].start_ns < start ? b->thread[i].start_ns : start;
		end = b->thread[i].end_ns > end ? b->thread[i].end_ns : end;
	}
	*ns = end - start;
	return 0;
}

/* Steps a connection. A complete share is answered, and the next round begins. */
static int
server_step(struct baseline *b, struct raw_conn *c)
{
	int rc;

	if (!c->active) { /* waits for the client's "go", or has no share and
			   * waits for the end */
		rc = raw_conn_get_byte(c, 0);
		if (rc == -ETIMEDOUT && !c->blocking) {
			c->blocked = true;
			return RAW_BLOCKED;
		}
		if (rc)
			return rc == -ETIMEDOUT ? RAW_BLOCKED : rc;
		raw_conn_begin(c);
		return RAW_MOVED;
	}
	rc = raw_conn_step(c, atomic_load(&b->call));
	if (rc == -ETIMEDOUT)
		return RAW_BLOCKED; /* between runs */
	if (rc != RAW_DONE)
		return rc;
	if (c->sends)
		return RAW_DONE;
	raw_conn_begin(c);
	if (atomic_fetch_add(&b->received, 1) + 1 < b->receivers)
		return RAW_DONE;
	atomic_store(&b->received, 0);
	rc = raw_conn_put_byte(b->answer);
	return rc ? rc : RAW_DONE;
}

static void
server_rounds(struct raw_thread *t)
{
	struct baseline *b = t->b;
	int rc = 0;

	while (rc >= 0 && !b->stop) {
		bool moved = false;

		for (size_t i = t->index; rc >= 0 && i < b->plan.conns; i += b->plan.threads) {
			if (b->conn[i].blocked)
				continue;
			rc = server_step(b, &b->conn[i]);
			moved |= rc == RAW_MOVED || rc == RAW_DONE;
		}
		if (rc >= 0 && !moved)
			(void)sleep_blocked(t, -1);
	}
	fail_all(b, rc);
}

/* Echoes bytes as they come. */
static void
server_echo(struct baseline *b)
{
	uint8_t *buf = malloc(1 << 20);
	struct placed here = { 0 }; /* this thread ends with the echo: no need to release it */
	ssize_t n = buf && !(b->plan.placed && thread_place(&here, b->plan.cpu)) ? 1 : 0;

	while (n > 0) {
		n = recv(b->conn[0].fd, buf, 1 << 20, 0);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			n = 1;
		else if (n > 0)
			n = send(b->conn[0].fd, buf, (size_t)n, MSG_NOSIGNAL);
	}
	free(buf);
}

static void *
server_thread(void *arg)
{
	server_rounds(arg);
	return NULL;
}

/* Connection @k stands. */
static void
take_connection(struct baseline *b, size_t k, int fd)
{
	struct raw_conn *c = &b->conn[k];
	char name[16];

	c->fd = fd;
	raw_congestion(fd, name, sizeof(name));
	pthread_mutex_lock(&b->lock);
	if (c->sends || b->plan.echo)
		usage_add_name(b->congestion, sizeof(b->congestion), name);
	pthread_mutex_unlock(&b->lock);
	if (!c->blocking)
		fcntl(c->fd, F_SETFL, fcntl(c->fd, F_GETFL) | O_NONBLOCK);
}

/* The server's first thread: accepts the connections, then works like the others. */
static void *
server_host(void *arg)
{
	struct raw_thread *t = arg;
	struct baseline *b = t->b;
	uint32_t number;
	int fd, rc = 0;

	for (size_t i = 0; i < b->plan.conns && !rc && !b->stop; i++) {
		rc = raw_accept(b->listener, b->plan.token, &number, &fd);
		if (rc)
			break;
		if (number >= b->plan.conns || b->conn[number].fd >= 0) {
			close(fd);
			rc = -EPROTO;
			break;
		}
		take_connection(b, number, fd);
	}
	if (rc || b->stop)
		return NULL;
	if (b->plan.echo) {
		server_echo(b);
		return NULL;
	}
	for (unsigned k = 1; k < b->plan.threads; k++) {
		if (pthread_create(&b->thread[k].id, NULL, server_thread, &b->thread[k]))
			break; /* its connections stand still: the client's deadline notices */
		b->started++;
	}
	server_rounds(t);
	for (unsigned k = 1; k <= b->started; k++)
		pthread_join(b->thread[k].id, NULL);
	return NULL;
}

static int
baseline_new(const struct baseline_plan *asked, bool client, struct baseline **out)
{
	struct baseline *b = calloc(1, sizeof(*b));
	const struct baseline_plan *plan;

	if (!b)
		return -ENOMEM;
	b->plan = *asked;
	b->plan.client = client;
	if (!b->plan.slots)
		b->plan.slots = b->plan.depth;
	plan = &b->plan;
	b->listener = -1;
	b->call = 1 << 20;
	for (unsigned i = 0; i < BASELINE_THREADS; i++)
		b->thread[i] = (struct raw_thread){ .b = b, .index = i };
	for (size_t i = 0; i < plan->conns; i++) {
		struct raw_conn *c = &b->conn[i];

		if (plan->echo) {
			c->fd = -1;
			c->blocking = true;
			continue;
		}
		raw_conn_init(c, plan, i);
		if (raw_conn_is_empty(c))
			continue;
		if (!plan->client && !c->sends) {
			b->receivers++;
			raw_conn_begin(c);
		}
		if (plan->conn[i].out && !b->answer)
			b->answer = c;
	}
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->changed, NULL);
	pthread_barrier_init(&b->meet, NULL, plan->threads);
	*out = b;
	return 0;
}

int
baseline_serve(const struct baseline_plan *plan, uint16_t *port, struct baseline **out)
{
	struct baseline *b;
	int rc = baseline_new(plan, false, &b);

	if (rc)
		return rc;
	rc = raw_listen(plan->congestion, port, &b->listener);
	if (!rc && pthread_create(&b->thread[0].id, NULL, server_host, &b->thread[0]))
		rc = -EAGAIN;
	if (rc) {
		b->plan.threads = 0;
		baseline_close(b);
		return rc;
	}
	*out = b;
	return 0;
}

int
baseline_connect(const struct baseline_plan *plan, uint16_t port, struct baseline **out)
{
	struct baseline *b;
	int rc = baseline_new(plan, true, &b), fd;

	if (rc)
		return rc;
	for (size_t i = 0; !rc && i < plan->conns; i++) {
		rc = raw_connect(plan, i, port, &fd);
		if (!rc)
			take_connection(b, i, fd);
	}
	for (unsigned k = 0; !rc && !plan->echo && k < plan->threads; k++) {
		if (pthread_create(&b->thread[k].id, NULL, client_thread, &b->thread[k]))
			rc = tcpx_fail(TCPX_SUB_TOOL, -EAGAIN, "thread %u of the baseline", k);
		else
			b->started++;
	}
	if (rc)
		baseline_close(b);
	else
		*out = b;
	return rc;
}

void
baseline_close(struct baseline *b)
{
	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	b->stop = true;
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
	if (b->listener >= 0)
		shutdown(b->listener, SHUT_RDWR);
	fail_all(b, -ECANCELED);
	if (b->plan.client)
		for (unsigned k = 0; k < b->started; k++)
			pthread_join(b->thread[k].id, NULL);
	else if (b->plan.threads)
		pthread_join(b->thread[0].id, NULL); /* which joins the others */
	for (size_t i = 0; i < b->plan.conns; i++)
		if (b->conn[i].fd >= 0)
			close(b->conn[i].fd);
	if (b->listener >= 0)
		close(b->listener);
	pthread_barrier_destroy(&b->meet);
	pthread_cond_destroy(&b->changed);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

void
baseline_set_call(struct baseline *b, uint64_t bytes)
{
	atomic_store(&b->call, bytes);
}

const char *
baseline_congestion(struct baseline *b, char buf[BASELINE_NAMES])
{
	pthread_mutex_lock(&b->lock);
	memcpy(buf, b->congestion, BASELINE_NAMES);
	pthread_mutex_unlock(&b->lock);
	return buf;
}

int
baseline_echo(struct baseline *b, uint64_t slot)
{
	const struct baseline_plan *plan = &b->plan;
	uint64_t got = 0, len = plan->out->total, at = slot * plan->span;
	uint8_t *to = plan->in_mem + at + layout_piece_at(plan->in, 0);
	const struct raw_conn *c = &b->conn[0];
	ssize_t n = send(c->fd, plan->out_mem + at + layout_piece_at(plan->out, 0), len,
			 MSG_NOSIGNAL);

	if (n != (ssize_t)len)
		return tcpx_fail_errno(TCPX_SUB_TOOL, "baseline round trip of %zu bytes",
				       (size_t)len);
	while (got < len) {
		n = recv(c->fd, to + got, len - got, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return tcpx_fail(TCPX_SUB_TOOL, -ETIMEDOUT, "baseline round trip: nothing"
					 " came back");
		if (n <= 0)
			return n < 0 ? tcpx_fail_errno(TCPX_SUB_TOOL, "baseline round trip")
				     : tcpx_fail(TCPX_SUB_TOOL, -EPIPE, "baseline round trip");
		got += (uint64_t)n;
	}
	return 0;
}
