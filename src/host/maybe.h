/* SPDX-License-Identifier: Apache-2.0 */
/* Facts that may be missing, with the reason; never an invented value. */
#ifndef HOST_MAYBE_H
#define HOST_MAYBE_H

#include <stdint.h>

#include "base/cpuset.h"

struct tcpx_maybe {
	int64_t value;
	const char *why; /* static: the reason for none; NULL: there is a value */
};

struct tcpx_maybe_set {
	struct tcpx_cpuset cpus; /* empty without a value */
	const char *why;
};

/* The reason behind a negative code of reading; static. */
const char *tcpx_maybe_why(int code);

static inline struct tcpx_maybe
tcpx_maybe_not(const char *why)
{
	return (struct tcpx_maybe){ 0, why };
}

static inline struct tcpx_maybe
tcpx_maybe_is(int64_t value)
{
	return (struct tcpx_maybe){ value, 0 };
}

/* A file of one number. */
struct tcpx_maybe tcpx_maybe_number(const char *root, const char *path);
/* A file with a list of CPUs; an empty one is the empty set. */
void tcpx_maybe_list(const char *root, const char *path, struct tcpx_maybe_set *set);
/* A file with a mask of CPUs. */
void tcpx_maybe_mask(const char *root, const char *path, struct tcpx_maybe_set *set);

#endif
