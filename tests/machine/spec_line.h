/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line of a spec, cut into words in place. A mistake is logged once, with the name of the
 * text and the line, and -EINVAL returned.
 */
#ifndef MACHINE_SPEC_LINE_H
#define MACHINE_SPEC_LINE_H

#include "host/machine.h"

#define SPEC_BLANKS " \t\r"

struct spec_line {
	const char *what; /* name of the text                  */
	unsigned number;  /* of the line, from 1               */
	char *rest;       /* the unread part of the line       */
};

TCPX_MUST_CHECK int tcpx_spec_bad(const struct spec_line *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The next word, or NULL at the end of the line. */
char *tcpx_spec_word(struct spec_line *l);
/* @text may be NULL for a missing word; then @value gets 0. */
TCPX_MUST_CHECK int tcpx_spec_number(const struct spec_line *l, const char *what, const char *text,
				long long low, long long high, long long *value);
TCPX_MUST_CHECK int tcpx_spec_copy(const struct spec_line *l, const char *what, const char *text,
			      char *out, size_t cap);

/* Lines of devices, behind their first word. */
TCPX_MUST_CHECK int tcpx_spec_read_nic(struct spec_line *l, struct tcpx_machine *m);
TCPX_MUST_CHECK int tcpx_spec_read_gpu(struct spec_line *l, struct tcpx_machine *m);
TCPX_MUST_CHECK int tcpx_spec_read_irq(struct spec_line *l, struct tcpx_machine *m);

#endif
