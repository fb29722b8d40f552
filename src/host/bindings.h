/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bindings: the CPUs that threads of each NIC may use, as NCCL's GPUDirect-TCPX plugin reads
 * them from NCCL_GPUDIRECTTCPX_TX_BINDINGS and _RX_BINDINGS:
 *
 *	bindings := entry { ";" entry } [";"]
 *	entry    := NIC ":" range { "," range }
 *	range    := LO "-" HI
 *
 * The plugin reads garbage as 0, accepts ends before beginnings, skips lone numbers, and lets
 * an entry overwrite an earlier one. This reader refuses the first two and the last. Lone
 * numbers and blanks around words are read, but never written.
 *
 * Threads: values.
 */
#ifndef HOST_BINDINGS_H
#define HOST_BINDINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cpuset.h"
#include "base/err.h"

#define TCPX_BINDING_RANGES 8 /* the plugin has this much room for a NIC, and no check */

struct tcpx_binding {
	char name[16];
	unsigned ranges; /* as written */
	struct tcpx_cpuset cpus;
};

struct tcpx_bindings {
	struct tcpx_binding *entry; /* heap; in the text's order */
	unsigned count;
};

/* The problems of a text by itself. */
enum tcpx_binding_problem_kind {
	TCPX_BINDING_MALFORMED, /* no NIC, no ":", no number, a CPU out of any range  */
	TCPX_BINDING_REVERSED,  /* "9-3"                                              */
	TCPX_BINDING_EMPTY,     /* a NIC without CPUs                                 */
	TCPX_BINDING_TWICE,     /* a NIC that had an entry                            */
	TCPX_BINDING_ERRORS,    /* the number of these; reading goes on after them */
	TCPX_BINDING_SINGLE = TCPX_BINDING_ERRORS, /* "5": the plugin skips it        */
	TCPX_BINDING_BLANK,     /* the plugin compares names with their blanks        */
	TCPX_BINDING_REPEAT,    /* a CPU in two ranges of the NIC                     */
	TCPX_BINDING_MANY,      /* more than TCPX_BINDING_RANGES                      */
	TCPX_BINDING_PROBLEMS
};

struct tcpx_binding_problem {
	enum tcpx_binding_problem_kind kind;
	char name[16];    /* the NIC; "" if unknown           */
	char text[48];    /* the place, perhaps cut           */
};

#define TCPX_BINDING_PROBLEMS_MAX 64 /* further ones are dropped */

struct tcpx_binding_problems {
	struct tcpx_binding_problem at[TCPX_BINDING_PROBLEMS_MAX];
	unsigned count;
};

/*
 * tcpx_bindings_parse - read bindings, strictly
 * @text: "" has no entries
 * @what: names the text in messages: a variable
 * @out:  for tcpx_bindings_fini(); written only on success
 * Return: 0, -EINVAL (logged), -ENOMEM.
 */
TCPX_MUST_CHECK int tcpx_bindings_parse(const char *text, const char *what,
					struct tcpx_bindings *out);
/* The same for a diagnosis: keeps the readable parts and lists all problems. -ENOMEM. */
TCPX_MUST_CHECK int tcpx_bindings_scan(const char *text, struct tcpx_bindings *out,
				       struct tcpx_binding_problems *problems);
void tcpx_bindings_fini(struct tcpx_bindings *b);

/* CPUs of a NIC; NULL: it has no entry. */
const struct tcpx_cpuset *tcpx_bindings_of(const struct tcpx_bindings *b, const char *name);
/* Copies. -EEXIST, -EINVAL (a name that cannot be written, no CPU), -ENOMEM. Not logged. */
TCPX_MUST_CHECK int tcpx_bindings_add(struct tcpx_bindings *b, const char *name,
				      const struct tcpx_cpuset *cpus);
/* @text: out: heap, the caller's. -ERANGE (more ranges than the plugin has room for,
 * logged), -ENOMEM. */
TCPX_MUST_CHECK int tcpx_bindings_format(const struct tcpx_bindings *b, char **text);

/* "reversed"; and a sentence without the place. Static. */
const char *tcpx_binding_problem_name(enum tcpx_binding_problem_kind kind);
const char *tcpx_binding_problem_text(enum tcpx_binding_problem_kind kind);

#endif
