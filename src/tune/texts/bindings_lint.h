/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Problems of bindings, by themselves and for a machine. Pure. Ids are stable:
 *
 *	error    malformed, reversed, empty, duplicate, overlap (of TX and RX), unknown-nic
 *	warning  single, blank, many, repeat, off-node, offline, not-allowed, isolated
 *	note     telemetry (the plugin's telemetry threads take CPUs 171 and 172 unless set
 *	         otherwise), missing (a NIC without entry: the plugin takes its node), unlike-plan
 *
 * Notes are no findings: the published bindings of A3-high hold CPUs 171 and 172, too.
 */
#ifndef TUNE_TEXTS_BINDINGS_LINT_H
#define TUNE_TEXTS_BINDINGS_LINT_H

#include <stddef.h>

#include "base/err.h"
#include "host/machine.h"
#include "host/plan.h"

enum tcpx_lint_level { TCPX_LINT_ERROR, TCPX_LINT_WARNING, TCPX_LINT_NOTE, TCPX_LINT_LEVELS };

struct tcpx_lint_finding {
	enum tcpx_lint_level level;
	const char *id;       /* static                                    */
	const char *where;    /* "tx", "rx", "tx+rx"; static               */
	char nic[16];         /* "": none, or several                      */
	char text[256];       /* one sentence with the CPUs                */
};

struct tcpx_lint {
	struct tcpx_lint_finding *at; /* heap; worst first, else in order of the text */
	unsigned count;
	unsigned of[TCPX_LINT_LEVELS];
};

/*
 * tcpx_lint_bindings - find the problems
 * @m:      NULL: of an unknown machine
 * @plan:   the machine's plan; NULL: not compared
 * @tx, @rx: texts; NULL: not set, not checked
 * @out:    for tcpx_lint_fini(); written only on success
 * Return: 0 with or without findings; -ENOMEM.
 */
TCPX_MUST_CHECK int tcpx_lint_bindings(const struct tcpx_machine *m,
				       const struct tcpx_plan *plan, const char *tx,
				       const char *rx, struct tcpx_lint *out);
void tcpx_lint_fini(struct tcpx_lint *lint);

/* "error"; static. */
const char *tcpx_lint_level_name(enum tcpx_lint_level level);

#endif
