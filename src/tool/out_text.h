/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text and numbers for people: escapes, and quantities with a fitting unit. Foreign texts
 * may hold any bytes; the output is UTF-8 and harmless in its place.
 */
#ifndef TOOL_OUT_TEXT_H
#define TOOL_OUT_TEXT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define OUT_COLUMNS  80 /* of lines for people */
#define OUT_QUANTITY 32 /* room that any of the texts below needs */

/* A copy with U+FFFD for bytes that are not UTF-8; the caller frees it.
 * NULL: out of memory. */
char *out_utf8_clean(const char *s);

/* The clean text as JSON; NULL: out of memory. */
json_t *out_json(const char *s);

/* @s for a terminal: what does not show (base/text.h), as controls that could command it, becomes '?'. */
void out_plain(FILE *f, const char *s);
/* @s like out_plain(), broken between words at OUT_COLUMNS: the first line begins where the
 * cursor is, at column @indent, and so do the others. A longer word stays whole. Line ends in @s are spaces. Ends the line. */
void out_wrapped(FILE *f, const char *s, int indent);
void out_wrapf(FILE *f, int indent, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* @s as text or attribute value of HTML: & < > " ' escaped, what does not show
 * (XML forbids some of it) replaced. */
void out_escape(FILE *f, const char *s);
/* @json inside <script>: no "<" is left in it. */
void out_script_json(FILE *f, const char *json);
/* @s as a CSV field: quoted when it holds a quote, comma or line end. */
void out_csv_text(FILE *f, const char *s);

/* Each writes at most OUT_QUANTITY bytes into @buf and returns it. */

/* "64 MiB", "1.5 KiB", "100 B": sizes that people type are powers of 1024. */
const char *out_size(uint64_t bytes, char *buf);
/* "67.1 MB", "1.07 GB": amounts that were moved are powers of 1000. */
const char *out_amount(uint64_t bytes, char *buf);
/* "8.40 µs", "12.3 ms", "1.20 s"; three digits. */
const char *out_time(double us, char *buf);
/* The time in UTC, RFC 3339: "2025-01-31T12:00:00Z". */
const char *out_now(char *buf);
/* Three significant digits, plain notation: "0.123", "12.3", "1230". */
const char *out_digits(double v, char *buf);

#endif
