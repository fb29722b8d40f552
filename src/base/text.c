/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that grow. */
#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for so many bytes more, and a NUL. */
static bool
reserve(struct tcpx_text *t, size_t more)
{
	size_t want = t->room ? t->room : 256;
	char *bigger;

	if (t->bad || more < t->room - t->len)
		return !t->bad;
	while (want <= t->len + more)
		want *= 2;
	bigger = realloc(t->at, want);
	if (!bigger) {
		t->bad = true;
		return false;
	}
	t->at = bigger;
	t->room = want;
	return true;
}

void
tcpx_text_add(struct tcpx_text *t, const char *fmt, ...)
{
	va_list args, again;
	int n;

	va_start(args, fmt);
	va_copy(again, args);
	n = vsnprintf(t->at ? t->at + t->len : NULL, t->room - t->len, fmt, args);
	if (n < 0)
		t->bad = true;
	else if ((size_t)n < t->room - t->len)
		t->len += (size_t)n;
	else if (reserve(t, (size_t)n))
		t->len += (size_t)vsnprintf(t->at + t->len, t->room - t->len, fmt, again);
	va_end(again);
	va_end(args);
}

int
tcpx_text_take(struct tcpx_text *t, char **text)
{
	tcpx_text_add(t, "%s", "");
	if (t->bad) {
		tcpx_text_drop(t);
		return -ENOMEM;
	}
	*text = t->at;
	memset(t, 0, sizeof(*t));
	return 0;
}

void
tcpx_text_drop(struct tcpx_text *t)
{
	free(t->at);
	memset(t, 0, sizeof(*t));
}
