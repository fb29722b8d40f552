/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session of one run and its conversation: short texts in notes, one waited for at a
 * time.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compat.h"

enum { LOOK_MS = 200 };

uint64_t
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

int
link_fail(struct link *l, int rc, const char *what)
{
	char last[256] = "";

	if (l->engine)
		tcpx_last_error(l->engine, last, sizeof(last));
	fprintf(l->out, "[ERROR] %s: %s (%s)%s%s\n", what, tcpx_strerror(rc),
		tcpx_strerror_name(rc), last[0] ? ": " : "", last);
	fflush(l->out);
	return rc;
}

static uint64_t
port_of(const struct link *l)
{
	return l->run->port + (l->run->program->port_by_gpu ? l->gpu : 0);
}

/* Over a plugin, channels belong to the GPU whose memory is moved, and so to its NIC. */
static bool
is_of_gpu(const struct link *l)
{
	char why[96];

	return !l->run->host_only && !getenv("TCPX_GPU") && !getenv("UCCL_TCPX_LOCAL_DEVICE") &&
	       !getenv("UCCL_TCPX_DEVICE_IDX") && !driver_open(l->gpu, why, sizeof(why));
}

static int
open_engine(struct link *l)
{
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	char chunk[40], channels[40], port[40], gpu[40];
	const char *settings[] = { chunk, channels, port, is_of_gpu(l) ? gpu : NULL, NULL };

	snprintf(chunk, sizeof(chunk), "TCPX_CHUNK=%llu", (unsigned long long)l->run->chunk);
	snprintf(channels, sizeof(channels), "TCPX_CHANNELS=%llu",
		 (unsigned long long)l->run->channels);
	snprintf(port, sizeof(port), "TCPX_PORT=%llu",
		 (unsigned long long)(l->run->server ? port_of(l) : 0));
	snprintf(gpu, sizeof(gpu), "TCPX_GPU=%u", l->gpu);
	opts.settings = settings;
	return tcpx_open(&opts, &l->engine);
}

static int
connect_peer(struct link *l)
{
	struct tcpx_peer_info info = { .struct_size = sizeof(info) };
	char where[320];
	int rc;

	snprintf(where, sizeof(where), strchr(l->run->ip, ':') ? "[%s]:%llu" : "%s:%llu",
		 l->run->ip, (unsigned long long)port_of(l));
	fprintf(l->out, "[Bootstrap] Connecting to %s\n", where);
	rc = tcpx_peer_connect(l->engine, where, &l->peer);
	if (!rc)
		rc = tcpx_peer_wait(l->peer, (int)l->run->timeout_s * 1000);
	if (rc == -EAGAIN)
		rc = TCPX_ETIMEDOUT;
	if (!rc)
		rc = tcpx_peer_query(l->peer, &info);
	if (!rc)
		snprintf(l->peer_name, sizeof(l->peer_name), "%s", info.name);
	return rc;
}

int
link_open(struct link *l)
{
	int rc = open_engine(l);

	if (rc)
		return link_fail(l, rc, "cannot start");
	if (l->run->server) {
		fprintf(l->out, "[Bootstrap] Listening on port %u\n", tcpx_port(l->engine));
		fflush(l->out);
		return 0;
	}
	rc = connect_peer(l);
	if (rc) {
		link_fail(l, rc, "no session");
		link_close(l);
		return rc;
	}
	fprintf(l->out, "[Bootstrap] Connected to %s\n", l->peer_name);
	return 0;
}

void
link_close(struct link *l)
{
	if (l->peer)
		tcpx_peer_drop(l->peer);
	if (l->engine)
		tcpx_stop(l->engine, 1000);
	l->peer = NULL;
	l->engine = NULL;
}

int
link_tell(struct link *l, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return tcpx_notify(l->peer, text, strlen(text));
}

/* One note into @text, if it is of our peer (of anybody, before there is one). -EAGAIN: none
 * within a moment. */
static int
take_note(struct link *l, char *text, size_t cap)
{
	tcpx_note *note;
	const char *data;
	size_t len;
	int rc = tcpx_note_wait(l->engine, LOOK_MS, &note);

	if (rc)
		return rc;
	data = tcpx_note_data(note, &len);
	if (l->peer && strcmp(tcpx_note_sender(note), l->peer_name)) {
		rc = -EAGAIN;
	} else {
		snprintf(text, cap, "%.*s", (int)len, data);
		snprintf(l->peer_name, sizeof(l->peer_name), "%s", tcpx_note_sender(note));
	}
	tcpx_note_free(note);
	return rc;
}

int
link_accept(struct link *l, char *hello, size_t cap)
{
	int rc;

	do {
		rc = take_note(l, hello, cap);
		if (!rc && strncmp(hello, "hello ", 6))
			rc = -EAGAIN; /* whoever that is, it is none of ours */
	} while (rc == -EAGAIN);
	if (!rc)
		rc = tcpx_peer_find(l->engine, l->peer_name, &l->peer);
	if (rc)
		return link_fail(l, rc, "no client");
	fprintf(l->out, "[Bootstrap] Accepted %s\n", l->peer_name);
	return 0;
}

int
link_hear(struct link *l, const char *word, char *text, size_t cap)
{
	uint64_t until = now_ns() + l->run->timeout_s * 1000000000ull;
	struct tcpx_peer_info info = { .struct_size = sizeof(info) };
	size_t len = strlen(word);
	int rc;

	for (;;) {
		rc = take_note(l, text, cap);
		if (!rc && !strncmp(text, word, len) && (text[len] == ' ' || !text[len]))
			return 0;
		if (!rc || rc == -EAGAIN)
			rc = tcpx_peer_query(l->peer, &info) ? -EIO : info.status;
		if (rc && rc != -EAGAIN)
			return rc;
		if (now_ns() > until)
			return -ETIMEDOUT;
	}
}
