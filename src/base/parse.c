/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as people write them; parse.h lists what is refused. */
#include "base/parse.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define FRACTION_DIGITS_MAX 6 /* so that fraction x 2^40 stays within 64 bits */

static const char suffixes[] = "KMGT";

/* Reads digits (at least one) and moves *text behind them. ASCII only: isdigit() may
 * ask the locale. */
static int
digits_parse(const char **text, uint64_t *out)
{
	const char *p = *text;
	uint64_t v = 0;

	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return -ERANGE;
	*text = p;
	*out = v;
	return 0;
}

int
tcpx_parse_count(const char *text, uint64_t *count)
{
	uint64_t v;
	int rc = digits_parse(&text, &v);

	if (rc)
		return rc;
	if (*text)
		return -EINVAL;
	*count = v;
	return 0;
}

/* ".25" as a numerator over *scale; without a point there is no fraction. */
static int
fraction_parse(const char **text, uint64_t *fraction, uint64_t *scale)
{
	const char *p = *text;
	uint64_t f = 0;
	uint64_t s = 1;

	if (*p == '.') {
		const char *from = ++p;

		if (digits_parse(&p, &f) || p - from > FRACTION_DIGITS_MAX)
			return -EINVAL;
		for (; from < p; from++)
			s *= 10;
	}
	*text = p;
	*fraction = f;
	*scale = s;
	return 0;
}

/* The power of @base named by a whole suffix. */
static int
suffix_parse(const char *text, uint64_t base, uint64_t *scale)
{
	char letter = *text & ~0x20; /* upper case */
	const char *at = letter ? strchr(suffixes, letter) : NULL;

	*scale = 1;
	if (!*text)
		return 0;
	if (!at || (text[1] && (base != 1024 ||
				(strcasecmp(text + 1, "i") && strcasecmp(text + 1, "iB")))))
		return -EINVAL;
	for (const char *s = suffixes; s <= at; s++)
		*scale *= base;
	return 0;
}

static int
scaled_parse(const char *text, uint64_t base, uint64_t *out)
{
	uint64_t whole, part, parts, scale;
	int rc;

	if ((rc = digits_parse(&text, &whole)) != 0 ||
	    (rc = fraction_parse(&text, &part, &parts)) != 0 ||
	    (rc = suffix_parse(text, base, &scale)) != 0)
		return rc;
	if (parts > 1 && scale == 1)
		return -EINVAL; /* a fraction of a byte */
	if (__builtin_mul_overflow(whole, scale, &whole) ||
	    __builtin_add_overflow(whole, part * scale / parts, &whole))
		return -ERANGE;
	*out = whole;
	return 0;
}

int
tcpx_parse_size(const char *text, uint64_t *bytes)
{
	return scaled_parse(text, 1024, bytes);
}

int
tcpx_parse_decimal(const char *text, uint64_t *rate)
{
	return scaled_parse(text, 1000, rate);
}

int
tcpx_parse_ms(const char *text, uint64_t *ms)
{
	uint64_t v;
	int rc = digits_parse(&text, &v);

	if (rc)
		return rc;
	if (!strcmp(text, "s")) {
		if (__builtin_mul_overflow(v, 1000, &v))
			return -ERANGE;
	} else if (*text && strcmp(text, "ms")) {
		return -EINVAL;
	}
	*ms = v;
	return 0;
}

const char *
tcpx_format_size(uint64_t bytes, char *buf, size_t cap)
{
	size_t n = 0;

	while (bytes && bytes % 1024 == 0 && suffixes[n]) {
		bytes /= 1024;
		n++;
	}
	snprintf(buf, cap, "%llu%.*s", (unsigned long long)bytes, n ? 1 : 0,
		 n ? suffixes + n - 1 : "");
	return buf;
}

static unsigned
smaller(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

unsigned
tcpx_word_distance(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b);
	unsigned d[64][64];

	if (la > 63 || lb > 63)
		return UINT_MAX;
	for (size_t i = 0; i <= la; i++)
		d[i][0] = (unsigned)i;
	for (size_t j = 0; j <= lb; j++)
		d[0][j] = (unsigned)j;
	for (size_t i = 1; i <= la; i++) {
		for (size_t j = 1; j <= lb; j++) {
			d[i][j] = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			d[i][j] = smaller(d[i][j], smaller(d[i - 1][j], d[i][j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d[i][j] = smaller(d[i][j], d[i - 2][j - 2] + 1);
		}
	}
	return d[la][lb];
}
