/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks a template once; what a section repeats is walked again. A value reaches the output
 * through one escape of its format alone.
 */
#include "tool/template.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "tool/out_text.h"
#include "tool/output.h"
#include "tool/tool.h"

#define TAG_MAX 400

struct scope {
	const struct scope *outer;
	const json_t *value;
	bool first; /* of the innermost list */
};

static const char *walk(const struct template *t, FILE *f, const char *at, const struct scope *s);

/* ---- values ---------------------------------------------------------------------- */

static const json_t *
step(const json_t *value, const char *name, size_t len)
{
	char key[TAG_MAX];

	if (json_is_array(value))
		return json_array_get(value, strtoul(name, NULL, 10));
	snprintf(key, sizeof(key), "%.*s", (int)len, name);
	return json_object_get(value, key);
}

static const json_t *
look_up(const struct scope *s, const char *path)
{
	size_t len = strcspn(path, ".");
	const json_t *value = NULL;

	if (!len)
		return s->value;
	for (; s && !value; s = s->outer)
		value = json_is_object(s->value) ? step(s->value, path, len) : NULL;
	while (value && path[len]) {
		path += len + 1;
		len = strcspn(path, ".");
		value = step(value, path, len);
	}
	return value;
}

static bool
is_false(const json_t *value)
{
	return !value || json_is_null(value) || json_is_false(value) ||
	       (json_is_string(value) && !json_string_length(value)) ||
	       (json_is_integer(value) && !json_integer_value(value)) ||
	       (json_is_array(value) && !json_array_size(value)) ||
	       (json_is_object(value) && !json_object_size(value));
}

static bool
is_text(const json_t *value, const char *text)
{
	return json_is_integer(value) ? json_integer_value(value) == atoll(text)
				      : json_is_string(value) && !strcmp(json_string_value(value), text);
}

/* ---- texts ----------------------------------------------------------------------- */

/* A line of text: no character of it is markup. */
static void
put_markdown(FILE *f, const char *s)
{
	size_t len;

	for (; *s; s += len) {
		len = tcpx_utf8_len(s) ? tcpx_utf8_len(s) : 1;
		if (*s == '\n' || *s == '\r' || *s == '\t')
			fputc(' ', f);
		else if (*s == '<')
			fputs("&lt;", f);
		else if (!tcpx_text_shows(s))
			fputc('?', f);
		else if (strchr("|*`\\[]", *s))
			fprintf(f, "\\%c", *s);
		else
			fwrite(s, 1, len, f);
	}
}

/* In a block that is indented, where Markdown knows no markup. */
static void
put_code(FILE *f, const char *s)
{
	for (; *s; s++) {
		fputc(*s, f);
		if (*s == '\n' && s[1])
			fputs("    ", f);
	}
}

static void
put_text(const struct template *t, FILE *f, const char *format, const char *s)
{
	if (!strcmp(format, "script"))
		out_script_json(f, s);
	else if (!t->markdown)
		out_escape(f, s);
	else if (!strcmp(format, "code"))
		put_code(f, s);
	else
		put_markdown(f, s);
}

static const char *
number_text(const char *format, double scale, const json_t *value, char buf[OUT_QUANTITY])
{
	double v = scale * json_number_value(value);
	int digits = *format == '%' ? atoi(format + 2) : 6;

	if (!strcmp(format, "size"))
		return out_size((uint64_t)json_integer_value(value), buf);
	if (!strcmp(format, "amount"))
		return out_amount((uint64_t)json_integer_value(value), buf);
	if (!strcmp(format, "time"))
		return out_time(v, buf);
	if (!strcmp(format, "digits"))
		return out_digits(v, buf);
	if (*format != '%' && json_is_integer(value))
		snprintf(buf, OUT_QUANTITY, "%lld", (long long)json_integer_value(value));
	else if (strchr(format, 'f'))
		snprintf(buf, OUT_QUANTITY, "%.*f", digits, v);
	else
		snprintf(buf, OUT_QUANTITY, "%.*g", digits, v);
	return buf;
}

/* "FORMAT 100 name|text" */
static void
put_value(const struct template *t, FILE *f, char *tag, const struct scope *s)
{
	char *other = strchr(tag, '|'), *rest = tag, *word[3] = { 0 }, buf[OUT_QUANTITY];
	const json_t *value;
	const char *format;
	size_t n = 0;

	if (other)
		*other++ = '\0';
	while (n < ARRAY_LEN(word) && (word[n] = strsep(&rest, " ")))
		n++;
	format = n > 1 ? word[0] : "";
	value = look_up(s, word[n - 1]);
	if (!strcmp(format, "count"))
		fprintf(f, "%zu", json_array_size(value));
	else if (json_is_number(value) && !(other && is_false(value)))
		fputs(number_text(format, n > 2 ? atof(word[1]) : 1, value, buf), f);
	else if (json_is_string(value) && !(other && is_false(value)))
		put_text(t, f, format, json_string_value(value));
	else if (other)
		fputs(other, f);
}

/* ---- sections -------------------------------------------------------------------- */

/* Walks what begins at @at, as often as "#name=text" says; its end. */
static const char *
section(const struct template *t, FILE *f, char *tag, const char *at, const struct scope *s)
{
	char *want = strchr(tag, '=');
	struct scope inner = { s, NULL, s && s->first };
	const char *end = at;
	bool holds;

	if (!s)
		return walk(t, f, at, NULL);
	if (want)
		*want++ = '\0';
	inner.value = look_up(s, tag + 1);
	holds = !strcmp(tag + 1, "@first") ? s->first
		: want ? is_text(inner.value, want) : !is_false(inner.value);
	if (holds == (tag[0] == '^'))
		return walk(t, f, at, NULL);
	if (!holds || want || !json_is_array(inner.value))
		return walk(t, f, at, holds && !want && inner.value ? &inner : s);
	for (size_t i = 0; i < json_array_size(inner.value); i++)
		end = walk(t, f, at, &(struct scope){ s, json_array_get(inner.value, i), !i });
	return end;
}

/* Writes up to the end of the section that @at is in; where it goes on. @s NULL: only goes
 * there. */
static const char *
walk(const struct template *t, FILE *f, const char *at, const struct scope *s)
{
	const char *open;
	char tag[TAG_MAX];

	while ((open = strstr(at, "{{"))) {
		const char *end = strstr(open, "}}");

		if (!end)
			break;
		if (s)
			fwrite(at, 1, (size_t)(open - at), f);
		snprintf(tag, sizeof(tag), "%.*s", (int)(end - open) - 2, open + 2);
		at = end + 2;
		if (tag[0] == '/')
			return at;
		if (tag[0] == '#' || tag[0] == '^')
			at = section(t, f, tag, at, s);
		else if (s)
			put_value(t, f, tag, s);
	}
	if (s)
		fputs(at, f);
	return at + strlen(at);
}

int
template_write(const struct template *t, const json_t *value, const char *path)
{
	const struct scope root = { NULL, value, true };
	struct output out;
	int rc;

	if (!value)
		return tcpx_fail(TCPX_SUB_TOOL, -ENOMEM, "write report %s", path);
	rc = output_open(&out, path);
	if (!rc) {
		walk(t, out.f, t->text, &root);
		rc = output_close(&out, false);
	}
	return rc ? tcpx_fail(TCPX_SUB_TOOL, rc, "write report %s", path) : 0;
}

void
template_add(json_t *object, json_t *more)
{
	json_object_update(object, more);
	json_decref(more);
}
