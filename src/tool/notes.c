/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part is "J<message>.<index>.<count> " and a slice of the text. Notes of one peer
 * arrive in the order sent, so a part out of turn is an error, not a puzzle.
 */
#include "tool/notes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"

size_t
job_part(const char *text, size_t len, uint32_t msg, uint32_t index,
	 char out[JOB_PART_BYTES + 32])
{
	uint32_t count = (uint32_t)((len + JOB_PART_BYTES - 1) / JOB_PART_BYTES);
	size_t from = (size_t)index * JOB_PART_BYTES, n;
	int head;

	if (index >= count)
		return 0;
	n = len - from < JOB_PART_BYTES ? len - from : JOB_PART_BYTES;
	head = snprintf(out, 32, "J%" PRIu32 ".%" PRIu32 ".%" PRIu32 " ", msg, index, count);
	memcpy(out + head, text + from, n);
	return (size_t)head + n;
}

int
job_send(tcpx_peer *peer, const char *type, json_t *msg)
{
	char part[JOB_PART_BYTES + 32], *text;
	uint32_t number = (uint32_t)tcpx_clock_now(&tcpx_clock_system); /* distinguishes them */
	size_t len;
	int rc = 0;

	if (!msg)
		msg = json_object();
	json_object_set_new(msg, "t", json_string(type));
	text = json_dumps(msg, JSON_COMPACT);
	json_decref(msg);
	if (!text)
		return -ENOMEM;
	for (uint32_t i = 0; !rc && (len = job_part(text, strlen(text), number, i, part)); i++)
		rc = tcpx_notify(peer, part, len);
	free(text);
	return rc;
}

static int
inbox_drop(struct job_inbox *in, const char *why)
{
	job_inbox_fini(in);
	return tcpx_fail(TCPX_SUB_TOOL, TCPX_EBLOB, "message of the peer: %s", why);
}

/* Three decimal numbers and their separators: the length of the head, 0 if it is none. */
static size_t
parse_head(const char *s, size_t len, uint32_t v[3])
{
	size_t at = 1;

	if (!len || s[0] != 'J')
		return 0;
	for (int i = 0; i < 3; i++) {
		uint64_t n = 0;
		size_t from = at;

		while (at < len && s[at] >= '0' && s[at] <= '9' && n <= UINT32_MAX)
			n = n * 10 + (uint64_t)(s[at++] - '0');
		if (at == from || at == len || n > UINT32_MAX || s[at++] != (i < 2 ? '.' : ' '))
			return 0;
		v[i] = (uint32_t)n;
	}
	return at;
}

/* All texts in @v as people may read them. False: no memory. */
static bool
show(json_t *v)
{
	bool good = true;
	const char *key;
	json_t *each;
	char *text;
	size_t i;

	json_object_foreach(v, key, each)
		good &= show(each);
	json_array_foreach(v, i, each)
		good &= show(each);
	if (!json_is_string(v))
		return good;
	text = strdup(json_string_value(v));
	if (text)
		tcpx_text_show(text, strlen(text) + 1, text);
	good = text && !json_string_set(v, text);
	free(text);
	return good;
}

int
job_inbox_feed(struct job_inbox *in, const void *data, size_t len, json_t **msg)
{
	uint32_t v[3];
	size_t head = parse_head(data, len, v);
	json_t *root;
	char *text;

	if (!head || !v[2] || v[1] >= v[2] || v[2] > JOB_MSG_BYTES / JOB_PART_BYTES)
		return inbox_drop(in, "not a part of a message");
	if (v[1] == 0) {
		job_inbox_fini(in);
		in->msg = v[0];
		in->parts = v[2];
	}
	if (v[0] != in->msg || v[2] != in->parts || v[1] != in->have)
		return inbox_drop(in, "a part out of turn");
	text = realloc(in->text, in->len + len - head + 1);
	if (!text)
		return -ENOMEM;
	memcpy(text + in->len, (const char *)data + head, len - head);
	in->text = text;
	in->len += len - head;
	if (++in->have < in->parts)
		return -EAGAIN;

	root = json_loadb(in->text, in->len, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(root)) {
		json_decref(root);
		return inbox_drop(in, "not a JSON object");
	}
	job_inbox_fini(in);
	if (!show(root)) {
		json_decref(root);
		return -ENOMEM;
	}
	*msg = root;
	return 0;
}

void
job_inbox_fini(struct job_inbox *in)
{
	free(in->text);
	*in = (struct job_inbox){ 0 };
}
