/* SPDX-License-Identifier: Apache-2.0 */
/* What one side adds up over its iterations. */
#ifndef COMPAT_TALLY_H
#define COMPAT_TALLY_H

#include "compat.h"

struct tally {
	struct link *link;
	struct memory memory;
	uint64_t size, chunk, iters; /* as the client says                         */
	bool warm_up;
	bool copied;                 /* --unpack none copies nothing: no check     */
	uint64_t ns, steady_ns;      /* all timed iterations; all but the first    */
	uint64_t wrong;
};

/* "SERVER", "CLIENT". */
const char *role_of(const struct link *l);
/* One iteration, WARM_UP or 0 and up. 0, or a code; what went wrong has been printed. */
int send_iteration(struct tally *t, int i);
int receive_iteration(struct tally *t, int i);
/* Waits for "word i n": the number n, 0 if there is none. */
int hear_number(struct tally *t, const char *word, int i, uint64_t *n);

#endif
