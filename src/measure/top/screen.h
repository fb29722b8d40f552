/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcpx top on a terminal: a document and a state give lines, a key changes the state. Pure:
 * no terminal, no clock. No line is wider than the screen, and what does not fit is counted.
 */
#ifndef MEASURE_TOP_SCREEN_H
#define MEASURE_TOP_SCREEN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

enum top_key { TOP_KEY_NONE, TOP_KEY_UP, TOP_KEY_DOWN, TOP_KEY_OPEN, TOP_KEY_BACK, TOP_KEY_SORT,
	       TOP_KEY_IDLE, TOP_KEY_PAGE_UP, TOP_KEY_PAGE_DOWN, TOP_KEY_QUIT };

enum top_sort { TOP_BY_RATE, TOP_BY_PID, TOP_BY_COMMAND, TOP_BY_RESENT, TOP_SORTS };

struct top_screen {
	unsigned rows, columns;
	enum top_sort sort;
	bool opened;     /* one engine fills the screen      */
	bool idle;       /* its idle channels are listed     */
	char chosen[80]; /* an engine; "": always the first  */
	unsigned first;  /* lines scrolled away, when opened */
};

/* The key that @len bytes from a terminal begin with; @used: how many it takes. 0: an escape
 * sequence that is not whole. */
enum top_key top_key(const char *bytes, size_t len, size_t *used);
/* False: quit. */
bool top_press(struct top_screen *s, const json_t *doc, enum top_key key);
/* At most s->rows lines, each ended by \n. Lines that begin with '>' or '#' are to be shown
 * reversed and bold; the character is not part of the text. Others begin with ' '. */
void top_draw(struct tcpx_text *t, struct top_screen *s, const json_t *doc);

#endif
