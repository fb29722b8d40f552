/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of CPUs and their two texts: lists ("8-21,112-125") and the kernel's hex masks
 * ("3,ffffffff"). A plain value of fixed size; cpu_set_t belongs to the system calls.
 */
#ifndef BASE_CPUSET_H
#define BASE_CPUSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TCPX_CPUS_MAX 8192

struct tcpx_cpuset {
	uint64_t bits[TCPX_CPUS_MAX / 64]; /* CPU n is bit n % 64 of word n / 64 */
};

/* Empty. */
void tcpx_cpuset_init(struct tcpx_cpuset *set);
/* CPUs outside [0, TCPX_CPUS_MAX) are never in a set: adding one returns -ERANGE and adds none.
 * A range includes @last; with @last below @first it is empty. */
int tcpx_cpuset_add(struct tcpx_cpuset *set, int cpu);
int tcpx_cpuset_add_range(struct tcpx_cpuset *set, int first, int last);
void tcpx_cpuset_remove(struct tcpx_cpuset *set, int cpu);
bool tcpx_cpuset_has(const struct tcpx_cpuset *set, int cpu);

/* set = set op other */
void tcpx_cpuset_or(struct tcpx_cpuset *set, const struct tcpx_cpuset *other);
void tcpx_cpuset_and(struct tcpx_cpuset *set, const struct tcpx_cpuset *other);
void tcpx_cpuset_andnot(struct tcpx_cpuset *set, const struct tcpx_cpuset *other);

bool tcpx_cpuset_empty(const struct tcpx_cpuset *set);
bool tcpx_cpuset_equal(const struct tcpx_cpuset *a, const struct tcpx_cpuset *b);
/* Is every CPU of @inner in @outer? */
bool tcpx_cpuset_within(const struct tcpx_cpuset *inner, const struct tcpx_cpuset *outer);
bool tcpx_cpuset_overlap(const struct tcpx_cpuset *a, const struct tcpx_cpuset *b);
unsigned tcpx_cpuset_count(const struct tcpx_cpuset *set);

/* -1 when there is none. */
int tcpx_cpuset_first(const struct tcpx_cpuset *set);
int tcpx_cpuset_last(const struct tcpx_cpuset *set);
/* The lowest CPU above @cpu (-1 to start); -1 when there is none. */
int tcpx_cpuset_next(const struct tcpx_cpuset *set, int cpu);

#define tcpx_cpuset_for_each(cpu, set)                                                 \
	for (int cpu = tcpx_cpuset_first(set); cpu >= 0; cpu = tcpx_cpuset_next(set, cpu))

/*
 * tcpx_cpuset_parse - read a list: numbers and rising ranges between commas
 * @text: not empty; no blanks, newline, signs, strides, empty items
 * @set:  out: unchanged on failure
 * Return: 0, -EINVAL (malformed), -ERANGE (a CPU of TCPX_CPUS_MAX or above). Not logged.
 */
int tcpx_cpuset_parse(const char *text, struct tcpx_cpuset *set);
/* Reads a kernel mask: groups of 8 hex digits between commas, highest first; the first
 * group may be shorter. All zero is the empty set. Failures as of tcpx_cpuset_parse(). */
int tcpx_cpuset_parse_mask(const char *text, struct tcpx_cpuset *set);

/* As the kernel prints lists: shortest ranges, "" when empty. Like snprintf(): returns the
 * length of the whole text, writes what fits and a NUL. */
size_t tcpx_cpuset_format(const struct tcpx_cpuset *set, char *buf, size_t cap);
/* The same for a mask that the kernel reads: "0" when empty, no leading zeros. */
size_t tcpx_cpuset_format_mask(const struct tcpx_cpuset *set, char *buf, size_t cap);

#endif
