/* SPDX-License-Identifier: Apache-2.0 */
/* Growing text. */
#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for this many bytes more, and a NUL. */
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

void
tcpx_text_escape(char *to, size_t cap, const char *s)
{
	static const char digit[] = "0123456789abcdef";
	size_t len = 0, want;

	for (; *s; s++, len += want) {
		unsigned char c = (unsigned char)*s;

		want = c >= ' ' && c < 0x7f ? 1 : 4;
		if (len + want >= cap)
			break;
		if (want == 1)
			to[len] = *s;
		else
			memcpy(to + len, (char[]){ '\\', 'x', digit[c >> 4], digit[c & 15] }, 4);
	}
	to[len] = '\0';
}

size_t
tcpx_utf8_len(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t len = s[0] < 0x80 ? s[0] != 0 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 :
		     s[0] < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* shortest form only, no surrogates, none above U+10FFFF */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return len;
}

/* Controls, then Unicode's invisible format characters, those of direction among them. */
static const struct {
	uint32_t first, last;
} hidden[] = {
	{ 0x00, 0x1f }, { 0x7f, 0x9f }, { 0xad, 0xad }, { 0x61c, 0x61c }, { 0x180e, 0x180e },
	{ 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0xfeff, 0xfeff },
	{ 0xfff9, 0xfffb }, { 0xe0000, 0xe0fff },
};

size_t
tcpx_text_shows(const char *s)
{
	size_t len = tcpx_utf8_len(s);
	uint32_t c = (unsigned char)*s & (len > 1 ? 0x7fu >> len : 0x7fu);

	for (size_t i = 1; i < len; i++)
		c = c << 6 | ((unsigned char)s[i] & 0x3f);
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (c >= hidden[i].first && c <= hidden[i].last)
			return 0;
	return len;
}

void
tcpx_text_show(char *to, size_t cap, const char *s)
{
	size_t at = 0, len, shows;

	for (; *s; s += len, at += shows ? shows : 1) {
		len = tcpx_utf8_len(s) ? tcpx_utf8_len(s) : 1;
		shows = tcpx_text_shows(s);
		if (at + (shows ? shows : 1) >= cap)
			break;
		memmove(to + at, shows ? s : "?", shows ? shows : 1);
	}
	to[at] = '\0';
}

void
tcpx_text_quote(struct tcpx_text *t, const char *s)
{
	const unsigned char *at = (const unsigned char *)s;
	size_t len;

	tcpx_text_add(t, "\"");
	for (; *at; at += len) {
		for (len = 0; at[len] >= ' ' && at[len] < 0x7f && at[len] != '"' &&
			      at[len] != '\\'; len++)
			;
		if (len == 0 && *at > 0x7f)
			len = tcpx_utf8_len((const char *)at);
		if (len)
			tcpx_text_add(t, "%.*s", (int)len, (const char *)at);
		else
			tcpx_text_add(t, "\\u%04x", *at);
		len += len == 0;
	}
	tcpx_text_add(t, "\"");
}

int
tcpx_text_detach(struct tcpx_text *t, char **text)
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
