/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables of NCCL as NCCL finds them: in the environment, else in the user's file (NCCL_CONF_FILE, else
 * ~/.nccl.conf, by HOME), else in /etc/nccl.conf. Of two lines with one name the first counts. A line
 * is "NAME=VALUE", blanks included; # begins a comment at the start of a line.
 * They were set for another program: a file that cannot be read is none.
 */
#ifndef BASE_HINTS_H
#define BASE_HINTS_H

#include <stddef.h>

#include "base/err.h"

/* The value of a name in "NAME=VALUE" strings; NULL: it is not there, or @env is NULL. */
const char *tcpx_env_find(char *const *env, const char *name);

struct tcpx_hint {
	char *name, *value;
	char *source; /* "NCCL_DEBUG (/etc/nccl.conf line 2)" */
};

/* Lines of the files, in the order in which they count. All zero: no files. */
struct tcpx_hints {
	struct tcpx_hint *at;
	size_t count;
};

/* Adds a file's lines. 0, which a missing file gives, too, or -ENOMEM. */
TCPX_MUST_CHECK int tcpx_hints_add(struct tcpx_hints *h, const char *file);
/* The files that NCCL would read in this process with @env; only /etc/nccl.conf in a setuid
 * program, and with NULL. 0 or -ENOMEM, with nothing in *h. */
TCPX_MUST_CHECK int tcpx_hints_read(struct tcpx_hints *h, char *const *env);
void tcpx_hints_free(struct tcpx_hints *h);

/* The value, borrowed, or NULL. *source: @name, or that of the line. @h NULL: no files. */
const char *tcpx_hints_find(const struct tcpx_hints *h, char *const *env, const char *name,
			    const char **source);

/* Puts the lines into the environment where it lacks their names, as NCCL does. 0 or
 * -ENOMEM. */
TCPX_MUST_CHECK int tcpx_hints_export(const struct tcpx_hints *h);

/*
 * tcpx_hint_nics - NCCL's list of NICs as a list for TCPX_NICS
 * @out: "=eth0,eth1" for "=eth0,,eth1:2,"; "" where NCCL's default counts. NCCL reads no port and no
 *	 empty name, takes no list of one byte and no name after the 16th. Whole names, as many as fit.
 * Return: @out.
 */
const char *tcpx_hint_nics(const char *list, char *out, size_t cap);

#endif
