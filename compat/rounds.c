/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The iterations. The interval of one begins when the client hears "ready", the barrier;
 * filling, comparing and printing lie outside. Each side sees the end for itself: the client
 * when its last message was acknowledged, the server when its last receive was in place. The
 * beginning is the client's, told in its time, of which the server has just learnt how it
 * relates to its own.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "tally.h"

enum { TELLINGS = 6 };

const char *
role_of(const struct link *l)
{
	return l->run->server ? "SERVER" : "CLIENT";
}

/* The warm-up takes the tags behind the last iteration's. */
static uint64_t
tag_of(const struct tally *t, int i, uint64_t chunk)
{
	uint64_t n = i == WARM_UP ? t->iters : (uint64_t)i;

	return t->link->run->program->first_tag + n * 10000 + chunk;
}

static uint64_t
chunks_of(const struct tally *t)
{
	return (t->size + t->chunk - 1) / t->chunk;
}

static struct tcpx_desc
desc_of(const struct tally *t, uint64_t c)
{
	uint64_t at = c * t->chunk, left = t->size - at;

	return (struct tcpx_desc){ t->memory.region, at, left < t->chunk ? left : t->chunk };
}

/* "[ERROR] Send timeout at iteration i chunk=c", or failed, and why. */
static int
explain(struct tally *t, int i, uint64_t c, tcpx_xfer *x, int rc)
{
	struct tcpx_xfer_info info = { .struct_size = sizeof(info) };
	bool late = rc == -EAGAIN || rc == TCPX_ESTALLED || rc == TCPX_ETIMEDOUT;
	struct link *l = t->link;

	if (x && tcpx_xfer_query(x, &info))
		info.cause[0] = '\0';
	fprintf(l->out, "[ERROR] %s %s at iteration %d chunk=%" PRIu64 "\n",
		l->run->server ? "Receive" : "Send", late ? "timeout" : "failed", i, c);
	fprintf(l->out, "[ERROR] %s (%s) %s\n", tcpx_strerror(rc), tcpx_strerror_name(rc),
		info.cause);
	fflush(l->out);
	return rc == -EAGAIN ? TCPX_ETIMEDOUT : rc;
}

static int
post(struct tally *t, int i, uint64_t c, tcpx_xfer **x)
{
	struct tcpx_desc d = desc_of(t, c);
	struct link *l = t->link;
	int rc = l->run->server ? tcpx_recv(l->peer, &d, 1, tag_of(t, i, c), x)
				: tcpx_send(l->peer, &d, 1, tag_of(t, i, c), x);

	return rc ? explain(t, i, c, NULL, rc) : 0;
}

/* A window of messages, oldest first. */
struct window {
	tcpx_xfer *x[SENDS_MAX];
	uint64_t room, posted, done;
	uint64_t end_ns;          /* when the last of them ended, by the library   */
};

static void
window_free(struct window *w)
{
	for (; w->done < w->posted; w->done++)
		tcpx_free(w->x[w->done % w->room]);
}

static int
window_fill(struct tally *t, struct window *w, int i)
{
	int rc = 0;

	while (!rc && w->posted < chunks_of(t) && w->posted - w->done < w->room) {
		rc = post(t, i, w->posted, &w->x[w->posted % w->room]);
		w->posted += !rc;
	}
	return rc;
}

/* Waits for the oldest and posts as many as have room, to the end. */
static int
window_run(struct tally *t, struct window *w, int i)
{
	int rc = window_fill(t, w, i);

	while (!rc && w->done < w->posted) {
		struct tcpx_xfer_info info = { .struct_size = sizeof(info) };
		tcpx_xfer **x = &w->x[w->done % w->room];

		rc = tcpx_wait(*x, (int)t->link->run->timeout_s * 1000);
		if (rc)
			return explain(t, i, w->done, *x, rc);
		if (!tcpx_xfer_query(*x, &info) && info.done_ns > w->end_ns)
			w->end_ns = info.done_ns;
		tcpx_free(*x);
		w->done++;
		rc = window_fill(t, w, i);
	}
	return rc;
}

static void
print_chunks(struct tally *t, int i)
{
	struct link *l = t->link;

	for (uint64_t c = 0; l->run->verbose && c < chunks_of(t); c++) {
		struct tcpx_desc d = desc_of(t, c);

		fprintf(l->out, "[%s][%s] chunk_idx=%" PRIu64 " tag=%" PRIu64 " size=%" PRIu64
			" offset=%" PRIu64 "\n", l->run->program->tag, role_of(l), c, tag_of(t, i, c),
			d.len, d.offset);
	}
}

static void
count_time(struct tally *t, int i, uint64_t ns)
{
	struct link *l = t->link;

	print_chunks(t, i);
	if (i == WARM_UP)
		return;
	t->ns += ns;
	t->steady_ns += i ? ns : 0;
	if (!l->run->program->text)
		fprintf(l->out, "[%s] Iter %d time=%.3fms\n", l->run->program->tag, i,
			(double)ns / 1e6);
	fflush(l->out);
}

int
hear_number(struct tally *t, const char *word, int i, uint64_t *v)
{
	char text[256];
	int at = 0, rc = link_hear(t->link, word, text, sizeof(text));

	if (rc)
		return link_fail(t->link, rc, "the other side says nothing");
	*v = 0;
	if (sscanf(text + strlen(word), "%d %" SCNu64, &at, v) < 1 || at != i)
		return link_fail(t->link, -EBADMSG, text);
	return 0;
}

/* The client tells its time several times. */
static int
tell_times(struct tally *t)
{
	uint64_t none;
	int rc = 0;

	for (int i = 0; !rc && i < TELLINGS; i++) {
		rc = link_tell(t->link, "time %d %" PRIu64, i, now_ns());
		if (!rc)
			rc = hear_number(t, "heard", i, &none);
	}
	return rc;
}

/* What is to be added to the client's times: of several, what was underway least. */
static int
hear_times(struct tally *t, int64_t *offset_ns)
{
	int64_t offset;
	uint64_t said;
	int rc = 0;

	for (int i = 0; !rc && i < TELLINGS; i++) {
		rc = hear_number(t, "time", i, &said);
		offset = (int64_t)(now_ns() - said);
		if (!rc && (!i || offset < *offset_ns))
			*offset_ns = offset;
		if (!rc)
			rc = link_tell(t->link, "heard %d", i);
	}
	return rc;
}

int
send_iteration(struct tally *t, int i)
{
	struct window w = { .room = t->link->run->sends };
	uint64_t begin = 0, wrong;
	int rc = memory_fill(&t->memory, i, t->link->run->program->text);

	if (!rc)
		rc = tell_times(t);
	if (!rc)
		rc = hear_number(t, "ready", i, &wrong);
	if (!rc) {
		begin = now_ns();
		rc = window_run(t, &w, i);
	}
	window_free(&w);
	if (!rc)
		rc = link_tell(t->link, "begun %d %" PRIu64, i, begin);
	if (!rc)
		rc = hear_number(t, "checked", i, &wrong);
	if (!rc) {
		count_time(t, i, w.end_ns - begin);
		t->wrong += wrong;
	}
	return rc;
}

static int
check(struct tally *t, int i, uint64_t *wrong)
{
	struct link *l = t->link;
	const char *text = l->run->program->text;
	uint64_t first = 0;
	int rc = memory_verify(&t->memory, i, text, wrong, &first);

	if (rc)
		return link_fail(l, rc, "reading the GPU's memory");
	if (*wrong)
		fprintf(l->out, "[ERROR] Data mismatch at iteration %d: %" PRIu64 " wrong bytes, the"
			" first at %" PRIu64 ", expected 0x%02x, got 0x%02x\n", i, *wrong, first,
			memory_byte(i, text, first), t->memory.host[first]);
	else if (text)
		fprintf(l->out, "[TCPX] Received: '%s'\n", (const char *)t->memory.host);
	t->wrong += *wrong;
	return 0;
}

int
receive_iteration(struct tally *t, int i)
{
	struct window w = { .room = t->link->run->receives };
	uint64_t begin = 0, wrong = 0;
	int64_t offset_ns = 0;
	int rc = memory_poison(&t->memory);

	if (!rc)
		rc = window_fill(t, &w, i);
	if (!rc)
		rc = hear_times(t, &offset_ns);
	if (!rc)
		rc = link_tell(t->link, "ready %d", i);
	if (!rc)
		rc = window_run(t, &w, i);
	window_free(&w);
	if (!rc)
		rc = hear_number(t, "begun", i, &begin);
	if (rc)
		return rc;
	count_time(t, i, w.end_ns - (begin + (uint64_t)offset_ns));
	if (t->copied)
		rc = check(t, i, &wrong);
	return rc ? rc : link_tell(t->link, "checked %d %" PRIu64, i, wrong);
}
