/* SPDX-License-Identifier: Apache-2.0 */
/* Notes with times: sent by the client, read by the server. */
#include "measure/perf/sync.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "tool/tool.h"

enum {
	TELL_MIN = 4,
	TELL_MAX = 16,
	QUICK_NS = 100 * 1000, /* a note and its answer this fast: no more are sent */
	PATIENCE_NS = 100 * 1000 * 1000 /* else for so long; at least TELL_MIN notes */
};

void
sync_init(struct sync *s)
{
	*s = (struct sync){ 0 };
}

void
sync_hear(struct sync *s, uint64_t said_ns, uint64_t heard_ns)
{
	int64_t offset_ns = (int64_t)(heard_ns - said_ns);

	if (!s->any || offset_ns < s->offset_ns)
		s->offset_ns = offset_ns;
	s->any = true;
}

uint64_t
sync_map(const struct sync *s, uint64_t said_ns)
{
	return said_ns + (uint64_t)s->offset_ns;
}

uint64_t
sync_took(const struct sync *s, uint64_t begin_ns, uint64_t end_said_ns, uint64_t took_said_ns)
{
	int64_t ns = (int64_t)(sync_map(s, end_said_ns) - begin_ns);

	return ns < (int64_t)(took_said_ns - took_said_ns / 1000) ? took_said_ns : (uint64_t)ns;
}

size_t
sync_format(char note[SYNC_NOTE_BYTES], char kind, const uint64_t *ns, size_t count)
{
	note[0] = kind;
	for (size_t i = 0; i < count; i++) {
		uint64_t big = htobe64(ns[i]);

		memcpy(note + 1 + 8 * i, &big, 8);
	}
	return 1 + 8 * count;
}

int
sync_parse(const char *note, size_t len, uint64_t *ns, size_t count)
{
	if (len != 1 + 8 * count)
		return -EINVAL;
	for (size_t i = 0; i < count; i++) {
		uint64_t big;

		memcpy(&big, note + 1 + 8 * i, 8);
		ns[i] = be64toh(big);
	}
	return 0;
}

/* Waits for the server's answer to a time; other notes are ignored now. */
static int
wait_answer(struct perf *p)
{
	uint64_t timeout_ms = p->args->timeout_s * 1000, until = tool_now_ns() + timeout_ms * TCPX_MS;
	bool answer = false;
	tcpx_note *note;
	const char *data;
	size_t len;
	int rc;

	while (!answer) {
		rc = perf_await_note(p, until, &note);
		if (rc)
			return perf_no_answer(p, "time", timeout_ms, rc);
		data = tcpx_note_data(note, &len);
		answer = len == 1 && data[0] == JOB_NOTE_TIME;
		tcpx_note_free(note);
	}
	return 0;
}

static int
tell(struct perf *p)
{
	uint64_t begin_ns = tool_now_ns(), said_ns = begin_ns, took_ns, least_ns = UINT64_MAX;
	char note[SYNC_NOTE_BYTES];
	int rc = 0;

	for (int i = 0; i < TELL_MAX; i++) {
		if (i >= TELL_MIN && (least_ns < QUICK_NS || said_ns - begin_ns > PATIENCE_NS))
			break;
		said_ns = tool_now_ns();
		rc = tcpx_notify(p->peer, note, sync_format(note, JOB_NOTE_TIME, &said_ns, 1));
		if (!rc)
			rc = wait_answer(p);
		if (rc)
			break;
		took_ns = tool_now_ns() - said_ns;
		least_ns = took_ns < least_ns ? took_ns : least_ns;
	}
	return rc;
}

int
sync_begin(struct perf *p)
{
	const char go = JOB_NOTE_GO;
	int rc = tell(p);

	return rc ? rc : tcpx_notify(p->peer, &go, 1);
}

int
sync_end(struct perf *p, uint64_t begin_ns, uint64_t end_ns)
{
	const uint64_t ns[] = { begin_ns, end_ns };
	char note[SYNC_NOTE_BYTES];
	const char done = JOB_NOTE_DONE;
	int rc = tcpx_notify(p->peer, note, sync_format(note, JOB_NOTE_END, ns, 2));

	if (!rc)
		rc = tell(p);
	return rc ? rc : tcpx_notify(p->peer, &done, 1);
}
