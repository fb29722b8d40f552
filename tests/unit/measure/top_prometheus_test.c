/* SPDX-License-Identifier: Apache-2.0 */
/* Prometheus's text of engines' reports. */
#include "cases.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "top_reports.h"

static bool
is_name(const char *s, size_t len)
{
	if (!len || isdigit((unsigned char)*s))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)s[i]) && s[i] != '_' && s[i] != ':')
			return false;
	return true;
}

/* Behind the '{': label="value", and so on; what is behind the '}', or NULL. */
static const char *
labels_end(const char *s)
{
	size_t len;

	for (;;) {
		len = strcspn(s, "=");
		if (!is_name(s, len) || s[len + 1] != '"')
			return NULL;
		for (s += len + 2; *s && *s != '"' && *s != '\n'; s++)
			if (*s == '\\' && !strchr("\\\"n", *++s))
				return NULL;
		if (*s++ != '"')
			return NULL;
		if (*s == '}')
			return s + 1;
		if (*s++ != ',')
			return NULL;
	}
}

static unsigned
occurrences(const char *text, const char *what)
{
	unsigned n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

/* HELP and TYPE once before all lines of a metric, and every line reads. Changes the text. */
static unsigned
check_prometheus(char *text)
{
	char metric[80] = "", line[1024], other[96], *all = strdup(text);
	unsigned samples = 0;

	assert_int_equal(text[strlen(text) - 1], '\n');
	for (char *l = strtok(text, "\n"); l; l = strtok(NULL, "\n")) {
		const char *end;
		char *rest;
		size_t len;

		assert_in_range(strlen(l), 1, sizeof(line) - 1);
		if (!strncmp(l, "# HELP ", 7)) {
			len = strcspn(l + 7, " ");
			assert_true(is_name(l + 7, len));
			snprintf(metric, sizeof(metric), "%.*s", (int)len, l + 7);
			snprintf(other, sizeof(other), "# HELP %s ", metric);
			assert_int_equal(occurrences(all, other), 1);
			l = strtok(NULL, "\n");
			assert_non_null(l);
			assert_int_equal(strncmp(l, "# TYPE ", 7), 0);
			assert_int_equal(strncmp(l + 7, metric, len), 0);
			assert_true(!strcmp(l + 7 + len, " counter") || !strcmp(l + 7 + len, " gauge"));
			continue;
		}
		len = strcspn(l, "{ ");
		assert_int_equal(len, strlen(metric));
		assert_int_equal(strncmp(l, metric, len), 0);
		end = l[len] == '{' ? labels_end(l + len + 1) : l + len;
		if (!end)
			fail_msg("bad labels: %s", l);
		assert_int_equal(*end, ' ');
		strtod(end + 1, &rest);
		assert_true(rest > end + 1 && *rest == '\0');
		/* no series stands twice */
		snprintf(line, sizeof(line), "\n%.*s ", (int)(end - l), l);
		assert_int_equal(occurrences(all, line), 1);
		samples++;
	}
	free(all);
	return samples;
}

TEST(prometheus_text_is_valid)
{
	json_t *doc = top_document(top_engine("an\"na\\ \n", 1e9, 7e15), top_engine("bo", 2e9, 5));
	json_t *none = json_pack("{s:i s:[] s:[{s:s s:s}]}", "schema", 1, "engines", "silent", "path",
				 "/x", "why", "y");
	char *text;

	json_object_set_new(json_array_get(json_object_get(doc, "engines"), 1), "pid", json_integer(2));
	text = top_text_of(top_prometheus, doc);
	assert_non_null(strstr(text, "engine=\"an\\\"na\\\\ \\n\""));
	assert_non_null(strstr(text, "\"tx\"} 7000000000000000\n")); /* every digit of a counter */
	assert_non_null(strstr(text, "tcpx_engines 2\n"));
	assert_true(check_prometheus(text) > 60);
	free(text);
	text = top_text_of(top_prometheus, none);
	assert_non_null(strstr(text, "tcpx_engines 0\n"));
	assert_non_null(strstr(text, "tcpx_engines_silent 1\n"));
	assert_int_equal(check_prometheus(text), 2);
	free(text);
	json_decref(none);
	json_decref(doc);
}

/* The only session has had so many messages of two lanes. */
static json_t *
with_lanes(json_t *engine, int messages)
{
	json_t *session = (json_t *)top_at(engine, "sessions", 0);

	json_object_update_new(session, json_pack("{s:i s:i s:i s:i s:I s:i}", "lanes", 2,
						  "lanes_failed", 1, "lane_messages_tx", messages,
						  "lane_messages_rx", 0, "lane_bytes_tx",
						  (json_int_t)messages * 1000000, "lane_bytes_rx", 0));
	return engine;
}

TEST(lanes_have_a_line_for_each_session)
{
	json_t *before = top_document(with_lanes(top_engine("anna", 1e9, 1e6), 1000), NULL);
	json_t *now = top_document(with_lanes(top_engine("anna", 2e9, 2e6), 3000), NULL);
	char *text;

	top_rates(now, before);
	assert_true(top_per_s(top_at(top_at(now, "engines", 0), "sessions", 0), "lane_messages_tx") == 2000);
	text = top_text_of(top_format, now);
	assert_non_null(strstr(text, "  bert                     2      1    2.000    0.000      3000"
				     "         0    0+0\n"));
	free(text);
	text = top_text_of(top_prometheus, now);
	assert_non_null(strstr(text, "# TYPE tcpx_session_lanes gauge\n"));
	assert_non_null(strstr(text, "# TYPE tcpx_session_lane_bytes_total counter\n"));
	assert_non_null(strstr(text, "peer=\"bert\",direction=\"tx\"} 3000000000\n"));
	assert_true(check_prometheus(text) > 30);
	free(text);
	json_decref(now);
	now = top_document(top_engine("anna", 1e9, 1e6), NULL);
	text = top_text_of(top_format, now);
	assert_null(strstr(text, "LANES")); /* there were none */
	free(text);
	json_decref(now);
	json_decref(before);
}

TEST(lanes_have_a_line_for_each_label)
{
	json_t *before = top_document(top_with_labels(top_engine("anna", 1e9, 1e6), "comm d1ce", 1000), NULL);
	json_t *now = top_document(top_with_labels(top_engine("anna", 2e9, 2e6), "comm d1ce", 3000), NULL);
	char *text;

	top_rates(now, before);
	text = top_text_of(top_format, now);
	assert_non_null(strstr(text, "  LANES OF LABEL       lanes failed out GB/s  in GB/s      sent"
				     "  received  waits\n")); /* 80 columns */
	assert_non_null(strstr(text, "  comm d1ce                4      0    0.000    2.000         1"
				     "      3000   2+17\n"));
	assert_null(strstr(text, "gone"));
	free(text);
	text = top_text_of(top_prometheus, now);
	assert_non_null(strstr(text, "label=\"gone\",direction=\"tx\"} 77\n"));
	assert_non_null(strstr(text, "label=\"comm d1ce\",direction=\"rx\"} 3000000000\n"));
	assert_non_null(strstr(text, "# TYPE tcpx_lane_waiting gauge\n"));
	assert_non_null(strstr(text, "# TYPE tcpx_lane_bytes_total counter\n"));
	assert_true(check_prometheus(text) > 40);
	free(text);
	json_decref(now);
	now = top_document(top_with_labels(top_engine("anna", 2e9, 2e6), "a\"b\\c\nd\033[2J\u202e", 0), NULL);
	text = top_text_of(top_prometheus, now);
	assert_non_null(strstr(text, "label=\"a\\\"b\\\\c\\nd?[2J?\""));
	assert_true(check_prometheus(text) > 40);
	free(text);
	text = top_text_of(top_format, now);
	assert_non_null(strstr(text, "  a\"b\\c?d?[2J? "));
	free(text);
	json_decref(now);
	json_decref(before);
}
