/* SPDX-License-Identifier: Apache-2.0 */
/* tcpx top, as functions of engines' reports: rates, the view, Prometheus's text. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "measure/top/top.h"
#include "measure/top/top_screen.h"

/* One engine that has sent @sent bytes by @time_ns, on channels of two NICs. */
static json_t *
engine(const char *name, double time_ns, double sent)
{
	return json_pack(
		"{s:i s:s s:s s:i s:s s:s s:f s:f s:{s:f s:i s:i}"
		" s:[{s:s s:b s:s s:s s:i s:[{s:b s:b s:i s:i s:s s:s s:n s:f s:i s:i s:i s:i}"
		"                            {s:b s:b s:i s:i s:s s:s s:i s:f s:i s:i s:i s:i}]}]"
		" s:[{s:s s:f s:i s:i s:i}] s:[{s:i s:f s:i}] s:[{s:s s:i s:s}]}",
		"schema", 1, "version", "0.1.0", "provider", "sock", "pid", 4711, "incarnation",
		"00000000deadbeef", "name", name, "time_ns", time_ns, "uptime_ns", time_ns,
		"totals", "bytes_tx", sent, "bytes_rx", 0, "xfers_done", (int)(sent / 1e6),
		"sessions", "id", "0000000000000001", "opener", 1, "peer", "bert", "state", "open",
		"transfers", 1, "channels",
		"sending", 1, "up", 1, "index", 0, "generation", 1, "nic", "eth0", "peer_nic", "eth0",
		"gpu", "bytes", sent / 4, "in_flight", 3, "window", 16, "rtt_us", 120, "stalls", 9,
		"sending", 1, "up", 1, "index", 1, "generation", 1, "nic", "eth1", "peer_nic", "eth1",
		"gpu", 2, "bytes", sent * 3 / 4, "in_flight", 1, "window", 16, "rtt_us", 90, "stalls", 0,
		"nics", "name", "eth0", "bytes_tx", sent, "bytes_rx", 0, "retransmits", 5, "rtt_us", 120,
		"gpus", "gpu", 2, "bytes_packed", sent, "bytes_unpacked", 0,
		"threads", "name", "tcpx-io-0", "tid", 4712, "granted", "0-3");
}

static json_t *
document(json_t *one, json_t *two)
{
	json_t *doc = json_pack("{s:i s:[] s:[]}", "schema", 1, "engines", "silent");

	assert_non_null(doc);
	assert_non_null(one);
	json_array_append_new(json_object_get(doc, "engines"), one);
	if (two)
		json_array_append_new(json_object_get(doc, "engines"), two);
	return doc;
}

static const json_t *
at(const json_t *o, const char *list, size_t i)
{
	return json_array_get(json_object_get(o, list), i);
}

static char *
text_of(void (*format)(struct tcpx_text *t, const json_t *doc), const json_t *doc)
{
	struct tcpx_text t = { .at = NULL };
	char *text;

	format(&t, doc);
	assert_int_equal(tcpx_text_detach(&t, &text), 0);
	return text;
}

static void
rates_are_by_the_engines_clock(void **state)
{
	json_t *before = document(engine("anna", 1e9, 1e6), NULL);
	json_t *now = document(engine("anna", 3e9, 9e6), NULL);
	const json_t *e = at(now, "engines", 0), *c;

	top_rates(now, before);
	assert_true(top_number(e, "interval_s") == 2);
	assert_true(top_per_s(json_object_get(e, "totals"), "bytes_tx") == 4e6);
	assert_true(top_per_s(at(e, "nics", 0), "bytes_tx") == 4e6);
	assert_true(top_per_s(at(e, "gpus", 0), "bytes_packed") == 4e6);
	c = at(at(e, "sessions", 0), "channels", 1);
	assert_true(top_per_s(c, "bytes") == 3e6);
	json_decref(now);
	json_decref(before);
}

static void
what_is_new_has_no_rate(void **state)
{
	json_t *before = document(engine("anna", 1e9, 1e6), NULL), *other;
	json_t *now = document(engine("zoe", 2e9, 5e6), engine("anna", 2e9, 2e6));
	const json_t *e;

	/* another engine, and in the old one another generation of a channel and a new NIC */
	other = json_array_get(json_object_get(now, "engines"), 0);
	json_object_set_new(other, "incarnation", json_string("1"));
	other = json_array_get(json_object_get(now, "engines"), 1);
	json_object_set_new((json_t *)at(at(other, "sessions", 0), "channels", 0), "generation",
			    json_integer(2));
	json_object_set_new((json_t *)at(other, "nics", 0), "name", json_string("eth7"));
	top_rates(now, before);
	e = at(now, "engines", 0);
	assert_true(json_is_null(json_object_get(json_object_get(e, "totals"), "per_s")));
	e = at(now, "engines", 1);
	assert_true(top_per_s(json_object_get(e, "totals"), "bytes_tx") == 1e6);
	assert_true(json_is_null(json_object_get(at(at(e, "sessions", 0), "channels", 0), "per_s")));
	assert_true(top_per_s(at(at(e, "sessions", 0), "channels", 1), "bytes") == 750e3);
	assert_true(json_is_null(json_object_get(at(e, "nics", 0), "per_s")));
	json_decref(before);
	before = NULL;
	top_rates(now, before);
	assert_true(json_is_null(json_object_get(at(e, "nics", 0), "per_s")));
	json_decref(now);
}

static void
counter_that_fell_has_rate_zero(void **state)
{
	json_t *before = document(engine("anna", 1e9, 9e6), NULL);
	json_t *now = document(engine("anna", 2e9, 1e6), NULL);

	top_rates(now, before);
	assert_true(top_per_s(json_object_get(at(now, "engines", 0), "totals"), "bytes_tx") == 0);
	json_decref(before);
	json_decref(now);
}

static void
busiest_stands_first(void **state)
{
	json_t *before = document(engine("calm", 1e9, 0), engine("busy", 1e9, 0));
	json_t *now = document(engine("calm", 2e9, 1e9), engine("busy", 2e9, 8e9));
	char *text;
	size_t i;

	for (i = 0; i < 2; i++) {
		json_object_set_new(json_array_get(json_object_get(before, "engines"), i), "pid",
				    json_integer((int)i));
		json_object_set_new(json_array_get(json_object_get(now, "engines"), i), "pid",
				    json_integer((int)i));
	}
	top_rates(now, before);
	text = text_of(top_format, now);
	assert_non_null(strstr(text, "2 engines  out 9.000 GB/s"));
	assert_non_null(strstr(text, "busy"));
	assert_true(strstr(text, "busy") < strstr(text, "calm"));
	assert_true(strstr(text, "eth1 -> eth1") < strstr(text, "eth0 -> eth0"));
	assert_non_null(strstr(text, "3/16"));
	assert_non_null(strstr(text, "0-3"));
	free(text);
	json_decref(before);
	json_decref(now);
}

static void
names_cannot_steer_a_terminal(void **state)
{
	json_t *doc = document(engine("\033[2J\nbad\r", 1e9, 1e6), NULL);
	const json_t *s = at(at(doc, "engines", 0), "sessions", 0);
	char *text;

	json_object_set_new((json_t *)s, "peer", json_string("\xc2\x9b" "31m\x7f"));
	text = text_of(top_format, doc);
	for (char *p = text; *p; p++)
		assert_true(*p == '\n' || isprint((unsigned char)*p));
	assert_non_null(strstr(text, "?[2J?bad?"));
	free(text);
	json_decref(doc);
}

/* ---- Prometheus ---- */

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

static void
prometheus_text_is_valid(void **state)
{
	json_t *doc = document(engine("an\"na\\ \n", 1e9, 7e15), engine("bo", 2e9, 5));
	json_t *none = json_pack("{s:i s:[] s:[{s:s s:s}]}", "schema", 1, "engines", "silent", "path",
				 "/x", "why", "y");
	char *text;

	json_object_set_new(json_array_get(json_object_get(doc, "engines"), 1), "pid", json_integer(2));
	text = text_of(top_prometheus, doc);
	assert_non_null(strstr(text, "engine=\"an\\\"na\\\\ \\n\""));
	assert_non_null(strstr(text, "\"tx\"} 7000000000000000\n")); /* every digit of a counter */
	assert_non_null(strstr(text, "tcpx_engines 2\n"));
	assert_true(check_prometheus(text) > 60);
	free(text);
	text = text_of(top_prometheus, none);
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
	json_t *session = (json_t *)at(engine, "sessions", 0);

	json_object_update_new(session, json_pack("{s:i s:i s:i s:i s:I s:i}", "lanes", 2,
						  "lanes_failed", 1, "lane_messages_tx", messages,
						  "lane_messages_rx", 0, "lane_bytes_tx",
						  (json_int_t)messages * 1000000, "lane_bytes_rx", 0));
	return engine;
}

static void
lanes_have_a_line_for_each_session(void **state)
{
	json_t *before = document(with_lanes(engine("anna", 1e9, 1e6), 1000), NULL);
	json_t *now = document(with_lanes(engine("anna", 2e9, 2e6), 3000), NULL);
	char *text;

	top_rates(now, before);
	assert_true(top_per_s(at(at(now, "engines", 0), "sessions", 0), "lane_messages_tx") == 2000);
	text = text_of(top_format, now);
	assert_non_null(strstr(text, "  bert                     2      1    2.000    0.000      3000"
				     "         0    0+0\n"));
	free(text);
	text = text_of(top_prometheus, now);
	assert_non_null(strstr(text, "# TYPE tcpx_session_lanes gauge\n"));
	assert_non_null(strstr(text, "# TYPE tcpx_session_lane_bytes_total counter\n"));
	assert_non_null(strstr(text, "peer=\"bert\",direction=\"tx\"} 3000000000\n"));
	assert_true(check_prometheus(text) > 30);
	free(text);
	json_decref(now);
	now = document(engine("anna", 1e9, 1e6), NULL);
	text = text_of(top_format, now);
	assert_null(strstr(text, "LANES")); /* there were none */
	free(text);
	json_decref(now);
	json_decref(before);
}

/* A label's lanes have had so many messages; one that has none any more is not in the view. */
static json_t *
with_labels(json_t *engine, const char *label, int messages)
{
	json_object_set_new(engine, "lane_labels",
			    json_pack("[{s:s s:i s:i} {s:s s:i s:i s:i s:i s:i s:I s:i s:i}]", "label",
				      "gone", "lanes", 0, "lane_messages_tx", 77, "label", label,
				      "lanes", 4, "lanes_failed", 0, "lane_messages_tx", 1,
				      "lane_messages_rx", messages, "lane_bytes_tx", 0,
				      "lane_bytes_rx", (json_int_t)messages * 1000000,
				      "lane_waiting_tx", 2, "lane_waiting_rx", 17));
	return engine;
}

static void
lanes_have_a_line_for_each_label(void **state)
{
	json_t *before = document(with_labels(engine("anna", 1e9, 1e6), "comm d1ce", 1000), NULL);
	json_t *now = document(with_labels(engine("anna", 2e9, 2e6), "comm d1ce", 3000), NULL);
	char *text;

	top_rates(now, before);
	text = text_of(top_format, now);
	assert_non_null(strstr(text, "  LANES OF LABEL       lanes failed out GB/s  in GB/s      sent"
				     "  received  waits\n")); /* 80 columns */
	assert_non_null(strstr(text, "  comm d1ce                4      0    0.000    2.000         1"
				     "      3000   2+17\n"));
	assert_null(strstr(text, "gone"));
	free(text);
	text = text_of(top_prometheus, now);
	assert_non_null(strstr(text, "label=\"gone\",direction=\"tx\"} 77\n"));
	assert_non_null(strstr(text, "label=\"comm d1ce\",direction=\"rx\"} 3000000000\n"));
	assert_non_null(strstr(text, "# TYPE tcpx_lane_waiting gauge\n"));
	assert_non_null(strstr(text, "# TYPE tcpx_lane_bytes_total counter\n"));
	assert_true(check_prometheus(text) > 40);
	free(text);
	json_decref(now);
	now = document(with_labels(engine("anna", 2e9, 2e6), "a\"b\\c\nd\033[2J", 0), NULL);
	text = text_of(top_prometheus, now);
	assert_non_null(strstr(text, "label=\"a\\\"b\\\\c\\nd"));
	assert_true(check_prometheus(text) > 40);
	free(text);
	text = text_of(top_format, now);
	assert_non_null(strstr(text, "  a\"b\\c?d?[2J "));
	free(text);
	json_decref(now);
	json_decref(before);
}

/* ---- what no engine says ---- */

/* Something else in the place of some value or other. */
static void
spoil(json_t *o, struct tcpx_rng *rng)
{
	static const char *const other[] = { "null", "[]", "{}", "-1", "1e300", "\"x\"", "[[1]]",
					     "{\"per_s\":3}", "[null, 3]", "true" };
	json_t *value, *with;
	const char *key;
	size_t i;
	void *next;

	if (json_is_array(o)) {
		json_array_foreach(o, i, value) {
			with = json_loads(other[tcpx_rng_below(rng, 10)], JSON_DECODE_ANY, NULL);
			if (tcpx_rng_below(rng, 20) == 0)
				json_array_set(o, i, with);
			else
				spoil(value, rng);
			json_decref(with);
		}
		return;
	}
	json_object_foreach_safe(o, next, key, value) {
		if (tcpx_rng_below(rng, 12) == 0) {
			with = json_loads(other[tcpx_rng_below(rng, 10)], JSON_DECODE_ANY, NULL);
			json_object_set(o, key, with);
			json_decref(with);
		} else if (tcpx_rng_below(rng, 40) == 0) {
			json_object_del(o, key);
		} else {
			spoil(value, rng);
		}
	}
}

static void
nonsense_is_shown_as_nothing(void **state)
{
	struct tcpx_rng rng;

	rng = tcpx_rng_seed(4711);
	for (unsigned i = 0; i < 1000; i++) {
		json_t *before = document(engine("anna", 1e9, 1e6), engine("bert", 1e9, 1e6));
		json_t *now = document(with_labels(engine("anna", 2e9, 3e6), "x", 1),
				       engine("bert", 1e9, 1e6));

		spoil(before, &rng);
		spoil(now, &rng);
		top_rates(now, before);
		free(text_of(top_format, now));
		free(text_of(top_prometheus, now));
		json_decref(before);
		json_decref(now);
	}
}

/* ---- the screen ---- */

static json_t *
many(unsigned n, double time_ns, double sent)
{
	json_t *doc = document(engine("e", time_ns, sent), NULL), *e;

	json_array_clear(json_object_get(doc, "engines"));
	for (unsigned i = 0; i < n; i++) {
		e = engine("e", time_ns, sent * (i + 1));
		json_object_set_new(e, "pid", json_integer(100 + (int)i));
		json_object_set_new(e, "command", json_string(i % 2 ? "python serve_a_long_model_name.py "
							      "--tensor-parallel 8" : "tcpx serve"));
		json_object_set_new((json_t *)at(e, "nics", 0), "gbps", json_integer(8));
		json_array_append_new(json_object_get(doc, "engines"), e);
	}
	return doc;
}

/* Two looks at @n engines; pid 100 + i sends i + 1 times 1 MB/s. */
static json_t *
looked(unsigned n)
{
	json_t *before = many(n, 1e9, 0), *now = many(n, 2e9, 1e6);

	top_rates(now, before);
	json_decref(before);
	return now;
}

/* As it is drawn: exactly the rows, none wider than the screen. */
static char *
drawn(struct top_screen *s, const json_t *doc)
{
	struct tcpx_text t = { .at = NULL };
	unsigned rows = 0;
	char *text, *line, *end;

	top_draw(&t, s, doc);
	assert_int_equal(tcpx_text_detach(&t, &text), 0);
	for (line = text; (end = strchr(line, '\n')); line = end + 1) {
		if ((size_t)(end - line) > s->columns)
			fail_msg("%zu columns of %u: %.*s", (size_t)(end - line), s->columns,
				 (int)(end - line), line);
		rows++;
	}
	assert_int_equal(rows, s->rows);
	return text;
}

static void
drawn_has(struct top_screen *s, const json_t *doc, const char *wanted)
{
	char *text = drawn(s, doc);

	if (!strstr(text, wanted))
		fail_msg("no \"%s\" in\n%s", wanted, text);
	free(text);
}

static void
screens_hold_any_number_of_engines(void **state)
{
	static const unsigned sizes[][2] = { { 24, 80 }, { 40, 120 }, { 10, 40 }, { 200, 300 } };
	static const unsigned counts[] = { 0, 1, 2, 21, 22, 300 };

	for (size_t i = 0; i < 4; i++)
		for (size_t k = 0; k < 6; k++) {
			struct top_screen s = { .rows = sizes[i][0], .columns = sizes[i][1] };
			json_t *doc = looked(counts[k]);

			free(drawn(&s, doc));
			top_press(&s, doc, TOP_KEY_OPEN);
			free(drawn(&s, doc));
			top_press(&s, doc, TOP_KEY_IDLE);
			free(drawn(&s, doc));
			json_decref(doc);
		}
}

static void
a_line_tells_an_engine(void **state)
{
	struct top_screen s = { .rows = 24, .columns = 80 };
	json_t *doc = looked(300);

	drawn_has(&s, doc, "300 engines");
	drawn_has(&s, doc, "1-21 of 300");
	/* 300 MB/s of a link of 1 GB/s; the longest names are cut with a mark */
	drawn_has(&s, doc, ">    399 python serve_a.. ");
	drawn_has(&s, doc, "..     1    0.300 ||...  30%");
	json_decref(doc);
}

static void
keys_move_and_open(void **state)
{
	struct top_screen s = { .rows = 24, .columns = 120 };
	json_t *doc = looked(30);

	assert_true(top_press(&s, doc, TOP_KEY_DOWN));
	drawn_has(&s, doc, ">    128");
	assert_true(top_press(&s, doc, TOP_KEY_PAGE_DOWN));
	drawn_has(&s, doc, ">    107");
	assert_true(top_press(&s, doc, TOP_KEY_PAGE_DOWN)); /* the last */
	drawn_has(&s, doc, ">    100");
	assert_true(top_press(&s, doc, TOP_KEY_SORT)); /* the cursor stays with its engine */
	drawn_has(&s, doc, "by pid");
	drawn_has(&s, doc, ">    100");
	assert_true(top_press(&s, doc, TOP_KEY_OPEN));
	drawn_has(&s, doc, "#100  tcpx serve");
	drawn_has(&s, doc, "tcpx-io-0");
	assert_true(top_press(&s, doc, TOP_KEY_BACK));
	drawn_has(&s, doc, "30 engines");
	assert_false(top_press(&s, doc, TOP_KEY_QUIT));
	json_decref(doc);
}

/* A channel that sends nothing is counted, not listed, until asked for. */
static void
idle_channels_are_one_line(void **state)
{
	struct top_screen s = { .rows = 24, .columns = 80 };
	json_t *doc = document(engine("anna", 1e9, 0), NULL), *c;

	top_rates(doc, NULL);
	c = (json_t *)at(at(at(doc, "engines", 0), "sessions", 0), "channels", 0);
	json_object_set_new(c, "in_flight", json_integer(0));
	top_press(&s, doc, TOP_KEY_OPEN);
	drawn_has(&s, doc, "and 1 idle channel\n");
	drawn_has(&s, doc, "eth1 -> eth1");
	top_press(&s, doc, TOP_KEY_IDLE);
	drawn_has(&s, doc, "eth0 -> eth0");
	json_decref(doc);
}

static void
bytes_are_keys(void **state)
{
	static const struct {
		const char *bytes;
		enum top_key key;
		size_t used;
	} rows[] = {
		{ "\033[A", TOP_KEY_UP, 3 }, { "\033OB", TOP_KEY_DOWN, 3 }, { "q", TOP_KEY_QUIT, 1 },
		{ "\r", TOP_KEY_OPEN, 1 }, { "\033[6~q", TOP_KEY_PAGE_DOWN, 4 },
		{ "\033", TOP_KEY_NONE, 0 }, { "\033[", TOP_KEY_NONE, 0 }, { "x", TOP_KEY_NONE, 1 },
		{ "\033[1;5Hq", TOP_KEY_NONE, 6 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t used = 99;

		assert_int_equal(top_key(rows[i].bytes, strlen(rows[i].bytes), &used), rows[i].key);
		assert_int_equal(used, rows[i].used);
	}
}

static void
what_arrived_changed_has_a_line_of_its_own(void **state)
{
	json_t *now = document(engine("anna", 1e9, 1e6), NULL);
	char *text = text_of(top_format, now);

	assert_null(strstr(text, "arrived changed"));
	free(text);
	json_object_set_new(json_object_get(at(now, "engines", 0), "totals"), "chunks_corrupt",
			    json_integer(3));
	text = text_of(top_format, now);
	assert_non_null(strstr(text, "  arrived changed: 3 chunks, 0 control frames\n"));
	free(text);
	json_decref(now);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_are_by_the_engines_clock),
		cmocka_unit_test(what_is_new_has_no_rate),
		cmocka_unit_test(what_arrived_changed_has_a_line_of_its_own),
		cmocka_unit_test(counter_that_fell_has_rate_zero),
		cmocka_unit_test(busiest_stands_first),
		cmocka_unit_test(names_cannot_steer_a_terminal),
		cmocka_unit_test(prometheus_text_is_valid),
		cmocka_unit_test(lanes_have_a_line_for_each_session),
		cmocka_unit_test(lanes_have_a_line_for_each_label),
		cmocka_unit_test(nonsense_is_shown_as_nothing),
		cmocka_unit_test(screens_hold_any_number_of_engines),
		cmocka_unit_test(a_line_tells_an_engine),
		cmocka_unit_test(keys_move_and_open),
		cmocka_unit_test(idle_channels_are_one_line),
		cmocka_unit_test(bytes_are_keys),
	};

	return cmocka_run_group_tests_name("tool/top", tests, NULL, NULL);
}
