/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of CPUs. A parser reads into a set of its own and copies it out at the end, so
 * refused text changes nothing.
 */
#include "base/cpuset.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define WORDS         (TCPX_CPUS_MAX / 64)
#define MASK_GROUPS   (TCPX_CPUS_MAX / 32)
#define GROUP_DIGITS  8

void
tcpx_cpuset_init(struct tcpx_cpuset *set)
{
	memset(set, 0, sizeof(*set));
}

int
tcpx_cpuset_add(struct tcpx_cpuset *set, int cpu)
{
	return tcpx_cpuset_add_range(set, cpu, cpu);
}

int
tcpx_cpuset_add_range(struct tcpx_cpuset *set, int first, int last)
{
	if (first < 0 || last >= TCPX_CPUS_MAX)
		return -ERANGE;
	for (int cpu = first; cpu <= last; cpu++)
		set->bits[cpu / 64] |= 1ull << (cpu % 64);
	return 0;
}

void
tcpx_cpuset_remove(struct tcpx_cpuset *set, int cpu)
{
	if (cpu >= 0 && cpu < TCPX_CPUS_MAX)
		set->bits[cpu / 64] &= ~(1ull << (cpu % 64));
}

bool
tcpx_cpuset_has(const struct tcpx_cpuset *set, int cpu)
{
	return cpu >= 0 && cpu < TCPX_CPUS_MAX && (set->bits[cpu / 64] >> (cpu % 64) & 1);
}

void
tcpx_cpuset_or(struct tcpx_cpuset *set, const struct tcpx_cpuset *other)
{
	for (size_t i = 0; i < WORDS; i++)
		set->bits[i] |= other->bits[i];
}

void
tcpx_cpuset_and(struct tcpx_cpuset *set, const struct tcpx_cpuset *other)
{
	for (size_t i = 0; i < WORDS; i++)
		set->bits[i] &= other->bits[i];
}

void
tcpx_cpuset_andnot(struct tcpx_cpuset *set, const struct tcpx_cpuset *other)
{
	for (size_t i = 0; i < WORDS; i++)
		set->bits[i] &= ~other->bits[i];
}

bool
tcpx_cpuset_empty(const struct tcpx_cpuset *set)
{
	return tcpx_cpuset_first(set) < 0;
}

bool
tcpx_cpuset_equal(const struct tcpx_cpuset *a, const struct tcpx_cpuset *b)
{
	return !memcmp(a, b, sizeof(*a));
}

bool
tcpx_cpuset_within(const struct tcpx_cpuset *inner, const struct tcpx_cpuset *outer)
{
	for (size_t i = 0; i < WORDS; i++)
		if (inner->bits[i] & ~outer->bits[i])
			return false;
	return true;
}

bool
tcpx_cpuset_overlap(const struct tcpx_cpuset *a, const struct tcpx_cpuset *b)
{
	for (size_t i = 0; i < WORDS; i++)
		if (a->bits[i] & b->bits[i])
			return true;
	return false;
}

unsigned
tcpx_cpuset_count(const struct tcpx_cpuset *set)
{
	unsigned count = 0;

	for (size_t i = 0; i < WORDS; i++)
		count += (unsigned)__builtin_popcountll(set->bits[i]);
	return count;
}

int
tcpx_cpuset_first(const struct tcpx_cpuset *set)
{
	return tcpx_cpuset_next(set, -1);
}

int
tcpx_cpuset_last(const struct tcpx_cpuset *set)
{
	for (int i = WORDS - 1; i >= 0; i--)
		if (set->bits[i])
			return i * 64 + 63 - __builtin_clzll(set->bits[i]);
	return -1;
}

int
tcpx_cpuset_next(const struct tcpx_cpuset *set, int cpu)
{
	uint64_t mask;

	if (cpu < -1 || cpu >= TCPX_CPUS_MAX - 1)
		return -1;
	cpu++;
	mask = ~0ull << (cpu % 64);
	for (int i = cpu / 64; i < WORDS; i++, mask = ~0ull)
		if (set->bits[i] & mask)
			return i * 64 + __builtin_ctzll(set->bits[i] & mask);
	return -1;
}

static int
cpu_parse(const char **text, int *cpu)
{
	const char *p = *text;
	int v = 0;

	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++) {
		v = v * 10 + (*p - '0');
		if (v >= TCPX_CPUS_MAX)
			return -ERANGE;
	}
	*text = p;
	*cpu = v;
	return 0;
}

int
tcpx_cpuset_parse(const char *text, struct tcpx_cpuset *set)
{
	struct tcpx_cpuset read;
	int first, last, rc;

	tcpx_cpuset_init(&read);
	for (;;) {
		rc = cpu_parse(&text, &first);
		if (rc)
			return rc;
		last = first;
		if (*text == '-') {
			text++;
			rc = cpu_parse(&text, &last);
			if (rc)
				return rc;
		}
		if (last < first)
			return -EINVAL;
		tcpx_cpuset_add_range(&read, first, last);
		if (!*text)
			break;
		if (*text++ != ',')
			return -EINVAL;
	}
	*set = read;
	return 0;
}

static int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20; /* lower case */
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int
tcpx_cpuset_parse_mask(const char *text, struct tcpx_cpuset *set)
{
	struct tcpx_cpuset read;
	size_t digit = 0; /* from the right; one digit is 4 CPUs */
	size_t top = strcspn(text, ",");
	size_t len = strlen(text);

	if (!top || top > GROUP_DIGITS)
		return -EINVAL;
	tcpx_cpuset_init(&read);
	for (size_t i = len; i-- > 0;) {
		/* every ninth place from the right is a comma */
		bool comma = (len - i) % (GROUP_DIGITS + 1) == 0;
		int v = hex_value(text[i]);

		if (comma != (text[i] == ',') || (!comma && v < 0))
			return -EINVAL;
		if (comma)
			continue;
		if (v && digit >= MASK_GROUPS * GROUP_DIGITS)
			return -ERANGE;
		if (v)
			read.bits[digit / 16] |= (uint64_t)v << (digit % 16 * 4);
		digit++;
	}
	*set = read;
	return 0;
}

/* Appends to a text that may be longer than the buffer; *len counts all of it. */
static void __attribute__((format(printf, 4, 5)))
append(char *buf, size_t cap, size_t *len, const char *fmt, ...)
{
	size_t at = *len < cap ? *len : cap;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(at < cap ? buf + at : NULL, cap - at, fmt, args);
	va_end(args);
	*len += n > 0 ? (size_t)n : 0;
}

size_t
tcpx_cpuset_format(const struct tcpx_cpuset *set, char *buf, size_t cap)
{
	size_t len = 0;

	if (cap)
		buf[0] = '\0';
	for (int first = tcpx_cpuset_first(set), last; first >= 0;
	     first = tcpx_cpuset_next(set, last)) {
		last = first;
		while (tcpx_cpuset_has(set, last + 1))
			last++;
		append(buf, cap, &len, "%s%d", len ? "," : "", first);
		if (last > first)
			append(buf, cap, &len, "-%d", last);
	}
	return len;
}

static uint32_t
mask_group(const struct tcpx_cpuset *set, int group)
{
	return (uint32_t)(set->bits[group / 2] >> (group % 2 * 32));
}

size_t
tcpx_cpuset_format_mask(const struct tcpx_cpuset *set, char *buf, size_t cap)
{
	int group = tcpx_cpuset_empty(set) ? 0 : tcpx_cpuset_last(set) / 32;
	size_t len = 0;

	append(buf, cap, &len, "%x", mask_group(set, group));
	while (group-- > 0)
		append(buf, cap, &len, ",%08x", mask_group(set, group));
	return len;
}
