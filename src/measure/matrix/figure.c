/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of a command is foreign text. The result is a finite number, or a sentence
 * with the reason for none.
 */
#include "measure/matrix/figure.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/matrix/key.h"

#define FILE_MAX (8u << 20)

char *
matrix_file_read(const char *path, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t cap = 65536, n = 0;
	char *text = fd < 0 ? NULL : malloc(cap + 1), *more;
	ssize_t got = 0;

	while (text && n < FILE_MAX && (got = read(fd, text + n, cap - n)) > 0) {
		n += (size_t)got;
		if (n < cap)
			continue;
		cap *= 2;
		more = realloc(text, cap + 1);
		if (!more)
			free(text);
		text = more;
	}
	if (text && got < 0) {
		free(text);
		text = NULL;
	}
	if (fd >= 0)
		close(fd);
	if (!text)
		return NULL;
	text[n] = '\0';
	if (len)
		*len = n;
	return text;
}

/* One step "name" or "[-1]" from @json; NULL: not there, or no path. */
static const json_t *
json_step(const json_t *json, const char **path)
{
	const char *at = *path;
	char name[128];
	size_t len;

	if (*at == '[') {
		char *end;
		long index = strtol(at + 1, &end, 10);

		if (end == at + 1 || *end != ']' || !json_is_array(json))
			return NULL;
		if (index < 0)
			index += (long)json_array_size(json);
		*path = end + 1;
		return index < 0 ? NULL : json_array_get(json, (size_t)index);
	}
	at += *at == '.';
	len = strcspn(at, ".[");
	if (!len || len >= sizeof(name))
		return NULL;
	memcpy(name, at, len);
	name[len] = '\0';
	*path = at + len;
	return json_object_get(json, name);
}

static int
find_json(const char *path, const char *text, double *out, char *why)
{
	json_error_t error;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	const json_t *at = root;
	const char *rest = path;
	int rc = 0;

	if (!root) {
		snprintf(why, MATRIX_WHY, "the output is no JSON: line %d: %.80s", error.line,
			 error.text);
		return -ENOENT;
	}
	if (json_is_object(json_object_get(root, "failed"))) { /* of tcpx perf, whatever its code */
		const char *cause = json_string_value(json_object_get(
			json_object_get(root, "failed"), "cause"));

		snprintf(why, MATRIX_WHY, "the run has failed: %.150s", cause ? cause : "");
		json_decref(root);
		return -ENOENT;
	}
	while (at && *rest)
		at = json_step(at, &rest);
	if (json_is_number(at)) {
		*out = json_number_value(at);
	} else if (json_is_boolean(at)) {
		*out = json_is_true(at);
	} else {
		snprintf(why, MATRIX_WHY, at ? "%.80s is no number" : "there is no %.80s", path);
		rc = -ENOENT;
	}
	json_decref(root);
	return rc;
}

static int
find_regex(const char *expression, const char *text, double *out, char *why)
{
	regmatch_t match[2];
	bool found = false;
	char number[64];
	regex_t re;
	int rc;

	rc = regcomp(&re, expression, REG_EXTENDED | REG_NEWLINE);
	if (rc) {
		regerror(rc, &re, why, MATRIX_WHY);
		return -ENOENT;
	}
	for (const char *at = text; !regexec(&re, at, 2, match, at > text ? REG_NOTBOL : 0);) {
		size_t len = match[1].rm_so < 0 ? 0 : (size_t)(match[1].rm_eo - match[1].rm_so);

		if (len && len < sizeof(number)) {
			memcpy(number, at + match[1].rm_so, len);
			number[len] = '\0';
			found = true;
		}
		at += match[0].rm_eo > 0 ? match[0].rm_eo : 1;
		if (!at[-1] || !*at)
			break;
	}
	regfree(&re);
	if (found) {
		char *end, *begin = number + strspn(number, " \t");

		*out = strtod(begin, &end);
		if (end != begin && !*end)
			return 0;
		snprintf(why, MATRIX_WHY, "'%.60s' is no number", number);
	} else {
		snprintf(why, MATRIX_WHY, "nothing in the output matches %.100s", expression);
	}
	return -ENOENT;
}

int
matrix_figure_find(const char *how, const char *text, double *out, char why[MATRIX_WHY])
{
	double v = NAN;
	int rc;

	if (!text[strspn(text, " \t\r\n")]) {
		snprintf(why, MATRIX_WHY, "no output");
		return -ENOENT;
	}
	rc = strncmp(how, "json:", 5) ? find_regex(how + 6, text, &v, why)
				      : find_json(how + 5, text, &v, why);
	if (!rc && !isfinite(v)) {
		snprintf(why, MATRIX_WHY, "the figure is not finite");
		rc = -ENOENT;
	}
	if (!rc)
		*out = v;
	return rc;
}

int
matrix_figure_check(const char *how, const char *what)
{
	char text[128];
	size_t groups;
	regex_t re;
	int rc;

	if (strncmp(how, "regex:", 6))
		return 0;
	rc = regcomp(&re, how + 6, REG_EXTENDED | REG_NEWLINE);
	if (rc) {
		regerror(rc, &re, text, sizeof(text));
		return tcpx_fail(TCPX_SUB_TOOL, TCPX_ECONFIG, "%s: expression %.80s: %s", what,
				 how + 6, text);
	}
	groups = re.re_nsub;
	regfree(&re);
	if (!groups)
		return tcpx_fail(TCPX_SUB_TOOL, TCPX_ECONFIG, "%s: expression %.80s has no group "
				 "(...) around the number", what, how + 6);
	return 0;
}

int
matrix_expect_cut(const char *value, char *how, size_t cap, struct matrix_want *want)
{
	size_t len = strlen(value);

	while (len && !isspace((unsigned char)value[len - 1]))
		len--;
	want->above = value[len] == '>';
	if (!len || !matrix_number_parse(value + len + want->above, &want->number))
		return -EINVAL;
	while (len && isspace((unsigned char)value[len - 1]))
		len--;
	if (!len || len >= cap)
		return -EINVAL;
	memcpy(how, value, len);
	how[len] = '\0';
	return 0;
}
