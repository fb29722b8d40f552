/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text that grows. What finds no memory is remembered: write all of it, look once at the
 * end.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct tcpx_text {
	char *at;    /* heap, NUL-terminated; NULL while nothing was added */
	size_t len, room;
	bool bad;    /* no memory                                          */
};

/* Begin with a zeroed struct. */
void tcpx_text_add(struct tcpx_text *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* @s as a JSON string with its quotes: what is not UTF-8 or not printable is escaped, byte by
 * byte. */
void tcpx_text_quote(struct tcpx_text *t, const char *s);
/* Gives the text to the caller (free()), "" at least, and empties @t; or frees it: -ENOMEM. */
int tcpx_text_take(struct tcpx_text *t, char **text);
void tcpx_text_drop(struct tcpx_text *t);

#endif
