/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One name of the list at a time. Brackets are expanded from the left, by recursion over
 * the rest of the name, so the depth is bounded by its length.
 */
#include "measure/mesh/hosts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS_MAX = 9, BRACKETS_MAX = 4 };

static int expand(struct mesh_hosts *h, const char *done, const char *rest, size_t len, int depth);

static int
add(struct mesh_hosts *h, const char *name)
{
	if (h->count == MESH_HOSTS_MAX)
		return -E2BIG;
	if ((h->count & (h->count - 1)) == 0) { /* full at 0, 1, 2, 4, 8 */
		void *more = realloc(h->name, (h->count ? 2 * h->count : 1) * sizeof(*h->name));

		if (!more)
			return -ENOMEM;
		h->name = more;
	}
	snprintf(h->name[h->count++], MESH_HOST, "%s", name);
	return 0;
}

/* Reads digits at @s, at least one: their value and number. */
static int
number(const char *s, const char *end, unsigned long *value, size_t *digits)
{
	size_t n = 0;

	*value = 0;
	while (s + n < end && s[n] >= '0' && s[n] <= '9' && n <= DIGITS_MAX)
		*value = *value * 10 + (unsigned long)(s[n++] - '0');
	if (!n || n > DIGITS_MAX)
		return -EINVAL;
	*digits = n;
	return 0;
}

/* Expands "3" or "07-12" before the text behind the bracket. */
static int
range(struct mesh_hosts *h, const char *done, const char **at, const char *close,
      const char *rest, size_t len, int depth)
{
	unsigned long first, last;
	size_t width, digits;
	char name[MESH_HOST];
	int rc = number(*at, close, &first, &width);

	if (rc)
		return rc;
	*at += width;
	last = first;
	if (*at < close && **at == '-') {
		rc = number(++*at, close, &last, &digits);
		if (rc || last < first)
			return -EINVAL;
		*at += digits;
	}
	for (unsigned long n = first; !rc && n <= last; n++) {
		if (snprintf(name, sizeof(name), "%s%0*lu", done, (int)width, n) >= MESH_HOST)
			return -E2BIG;
		rc = expand(h, name, rest, len, depth + 1);
	}
	return rc;
}

/* Adds @done with every expansion of @rest. */
static int
expand(struct mesh_hosts *h, const char *done, const char *rest, size_t len, int depth)
{
	const char *open = memchr(rest, '[', len), *end = rest + len, *close, *at;
	char head[MESH_HOST];
	size_t plain = open ? (size_t)(open - rest) : len;
	int rc = 0;

	if (memchr(rest, ']', plain) || depth > BRACKETS_MAX)
		return -EINVAL;
	if (snprintf(head, sizeof(head), "%s%.*s", done, (int)plain, rest) >= MESH_HOST)
		return -E2BIG;
	if (!open)
		return head[0] ? add(h, head) : -EINVAL;
	close = memchr(open, ']', (size_t)(end - open));
	if (!close)
		return -EINVAL;
	for (at = open + 1; !rc; at++) {
		rc = range(h, head, &at, close, close + 1, (size_t)(end - close - 1), depth);
		if (!rc && at == close)
			return 0;
		if (!rc && *at != ',')
			rc = -EINVAL;
	}
	return rc;
}

/* The length of the first name: up to a comma outside brackets. */
static size_t
name_len(const char *text)
{
	size_t n = 0;
	bool inside = false;

	for (; text[n] && (inside || text[n] != ','); n++)
		inside = text[n] == '[' || (inside && text[n] != ']');
	return n;
}

int
mesh_hosts_parse(const char *text, struct mesh_hosts *hosts)
{
	struct mesh_hosts h = { 0 };
	int rc = 0;

	*hosts = h;
	for (const char *at = text; !rc; at++) {
		size_t len = name_len(at);

		rc = strpbrk(at, " \t\n") ? -EINVAL : expand(&h, "", at, len, 0);
		at += len;
		if (!*at)
			break;
	}
	if (rc)
		mesh_hosts_fini(&h);
	else
		*hosts = h;
	return rc;
}

void
mesh_hosts_fini(struct mesh_hosts *hosts)
{
	free(hosts->name);
	*hosts = (struct mesh_hosts){ 0 };
}
