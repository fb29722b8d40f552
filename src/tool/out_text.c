/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Escapes and quantities. Every foreign text passes through exactly one of the escapes,
 * where it is printed; what shows is for base/text.h to say.
 */
#include "tool/out_text.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "tool/tool.h"

#define REPLACEMENT "\xef\xbf\xbd"

char *
out_utf8_clean(const char *s)
{
	char *clean = malloc(strlen(s) * strlen(REPLACEMENT) + 1), *to = clean;

	while (clean && *s) {
		size_t len = tcpx_utf8_len(s);

		to = len ? mempcpy(to, s, len) : mempcpy(to, REPLACEMENT, strlen(REPLACEMENT));
		s += len ? len : 1;
	}
	if (clean)
		*to = '\0';
	return clean;
}

json_t *
out_json(const char *s)
{
	char *clean = out_utf8_clean(s);
	json_t *json = clean ? json_string(clean) : NULL;

	free(clean);
	return json;
}

void
out_plain(FILE *f, const char *s)
{
	while (*s) {
		size_t len = tcpx_utf8_len(s);

		if (tcpx_text_shows(s))
			fwrite(s, 1, len, f);
		else
			fputc('?', f);
		s += len ? len : 1;
	}
}

void
out_wrapped(FILE *f, const char *s, int indent)
{
	int column = indent;

	s += strspn(s, " \t\n");
	while (*s) {
		size_t len = strcspn(s, " \t\n");
		char word[256];
		int width = 0;

		len = len < sizeof(word) ? len : sizeof(word) - 1;
		memcpy(word, s, len);
		word[len] = '\0';
		for (const char *at = word; *at; at += tcpx_utf8_len(at) ? tcpx_utf8_len(at) : 1)
			width++;
		if (column > indent && column + 1 + width > OUT_COLUMNS) {
			fprintf(f, "\n%*s", indent, "");
			column = indent;
		} else if (column > indent) {
			column += fprintf(f, " ");
		}
		out_plain(f, word);
		column += width;
		s += len;
		s += strspn(s, " \t\n");
	}
	fputc('\n', f);
}

void
out_wrapf(FILE *f, int indent, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	out_wrapped(f, text ? text : "(no memory)", indent);
	free(text);
}

static const char *
entity(const char *s)
{
	switch (*s) {
	case '&':  return "&amp;";
	case '<':  return "&lt;";
	case '>':  return "&gt;";
	case '"':  return "&quot;";
	case '\'': return "&#39;";
	case '\t':
	case '\n': return NULL;
	}
	return tcpx_text_shows(s) ? NULL : REPLACEMENT;
}

void
out_escape(FILE *f, const char *s)
{
	while (*s) {
		const char *instead = entity(s);
		size_t len = tcpx_utf8_len(s);

		if (instead)
			fputs(instead, f);
		else
			fwrite(s, 1, len, f);
		s += len ? len : 1;
	}
}

void
out_script_json(FILE *f, const char *json)
{
	for (; *json; json++) {
		if (*json == '<')
			fputs("\\u003c", f);
		else
			fputc(*json, f);
	}
}

void
out_csv_text(FILE *f, const char *s)
{
	if (!strpbrk(s, "\",\r\n")) {
		fputs(s, f);
		return;
	}
	fputc('"', f);
	for (; *s; s++) {
		if (*s == '"')
			fputc('"', f);
		fputc(*s, f);
	}
	fputc('"', f);
}

const char *
out_now(char *buf)
{
	time_t now = time(NULL);
	struct tm utc;

	strftime(buf, OUT_QUANTITY, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
	return buf;
}

const char *
out_digits(double v, char *buf)
{
	double size = fabs(v);
	int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;

	if (!isfinite(v))
		snprintf(buf, OUT_QUANTITY, "-");
	else if (size < 1e15)
		snprintf(buf, OUT_QUANTITY, "%.*f", size > 0 ? decimals : 0, v);
	else
		snprintf(buf, OUT_QUANTITY, "%.2e", v);
	return buf;
}

/* @v in the largest of @units, each @base times the one before, that leaves it >= 1. */
static const char *
with_unit(double v, double base, const char *const *units, size_t count, char *buf)
{
	char digits[OUT_QUANTITY];
	size_t unit = 0;

	while (unit + 1 < count && v >= base * 0.9995) {
		v /= base;
		unit++;
	}
	out_digits(v, digits);
	if (strchr(digits, '.') && v == floor(v)) /* "64 MiB", not "64.0 MiB" */
		*strchr(digits, '.') = '\0';
	snprintf(buf, OUT_QUANTITY, "%.20s %s", digits, units[unit]);
	return buf;
}

const char *
out_size(uint64_t bytes, char *buf)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };

	return with_unit((double)bytes, 1024, units, ARRAY_LEN(units), buf);
}

const char *
out_amount(uint64_t bytes, char *buf)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB" };

	return with_unit((double)bytes, 1000, units, ARRAY_LEN(units), buf);
}

const char *
out_time(double us, char *buf)
{
	static const char *const units[] = { "\u00b5s", "ms", "s" };

	if (us > 0 && us < 1)
		return with_unit(us * 1000, 1000, (const char *const[]){ "ns" }, 1, buf);
	return with_unit(us, 1000, units, ARRAY_LEN(units), buf);
}
