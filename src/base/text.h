/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growing text. A failed allocation is remembered: write everything, check once at the end.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct tcpx_text {
	char *at;    /* heap, NUL-terminated; NULL while empty */
	size_t len, room;
	bool bad;    /* no memory                                          */
};

/* Begin with a zeroed struct. */
void tcpx_text_add(struct tcpx_text *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Bytes of the UTF-8 character that @s begins with; 0: none does, or it is the NUL. */
size_t tcpx_utf8_len(const char *s);
/* Bytes of a character that readers see: 0 also for controls (C0, DEL, C1) and for what is
 * invisible, or turns the direction of the text beside it. All texts of others pass here before
 * people read them. */
size_t tcpx_text_shows(const char *s);
/* Copies @s, cut to @cap bytes with its NUL, with '?' for each character, or byte, that does not
 * show. @to may be @s. */
void tcpx_text_show(char *to, size_t cap, const char *s);
/* Copies @s, cut to @cap bytes with its NUL, as printable ASCII: every other byte is \xNN. */
void tcpx_text_escape(char *to, size_t cap, const char *s);
/* Adds @s as a JSON string with its quotes. Bytes that are not UTF-8 or not printable are
 * escaped one by one. */
void tcpx_text_quote(struct tcpx_text *t, const char *s);
/* Gives the text to the caller (free()), at least "", and empties @t. -ENOMEM:
 * the text is freed. */
int tcpx_text_detach(struct tcpx_text *t, char **text);
void tcpx_text_drop(struct tcpx_text *t);

#endif
