/* SPDX-License-Identifier: Apache-2.0 */
/* tcpx top, as functions of engines' reports: rates, and the view. */
#include "cases.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "measure/top/screen.h"
#include "top_reports.h"

TEST(rates_are_by_the_engines_clock)
{
	json_t *before = top_document(top_engine("anna", 1e9, 1e6), NULL);
	json_t *now = top_document(top_engine("anna", 3e9, 9e6), NULL);
	const json_t *e = top_at(now, "engines", 0), *c;

	top_rates(now, before);
	assert_true(top_number(e, "interval_s") == 2);
	assert_true(top_per_s(json_object_get(e, "totals"), "bytes_tx") == 4e6);
	assert_true(top_per_s(top_at(e, "nics", 0), "bytes_tx") == 4e6);
	assert_true(top_per_s(top_at(e, "gpus", 0), "bytes_packed") == 4e6);
	c = top_at(top_at(e, "sessions", 0), "channels", 1);
	assert_true(top_per_s(c, "bytes") == 3e6);
	json_decref(now);
	json_decref(before);
}

TEST(what_is_new_has_no_rate)
{
	json_t *before = top_document(top_engine("anna", 1e9, 1e6), NULL), *other;
	json_t *now = top_document(top_engine("zoe", 2e9, 5e6), top_engine("anna", 2e9, 2e6));
	const json_t *e;

	/* another engine, and in the old one another generation of a channel and a new NIC */
	other = json_array_get(json_object_get(now, "engines"), 0);
	json_object_set_new(other, "incarnation", json_string("1"));
	other = json_array_get(json_object_get(now, "engines"), 1);
	json_object_set_new((json_t *)top_at(top_at(other, "sessions", 0), "channels", 0), "generation",
			    json_integer(2));
	json_object_set_new((json_t *)top_at(other, "nics", 0), "name", json_string("eth7"));
	top_rates(now, before);
	e = top_at(now, "engines", 0);
	assert_true(json_is_null(json_object_get(json_object_get(e, "totals"), "per_s")));
	e = top_at(now, "engines", 1);
	assert_true(top_per_s(json_object_get(e, "totals"), "bytes_tx") == 1e6);
	assert_true(json_is_null(json_object_get(top_at(top_at(e, "sessions", 0), "channels", 0), "per_s")));
	assert_true(top_per_s(top_at(top_at(e, "sessions", 0), "channels", 1), "bytes") == 750e3);
	assert_true(json_is_null(json_object_get(top_at(e, "nics", 0), "per_s")));
	json_decref(before);
	before = NULL;
	top_rates(now, before);
	assert_true(json_is_null(json_object_get(top_at(e, "nics", 0), "per_s")));
	json_decref(now);
}

/* Megabits and gigabits of a second, as bytes. */
TEST(a_link_carries_an_eighth_of_its_bits)
{
	static const struct { const char *nic; double Bps; } rows[] = {
		{ "{\"mbps\":200000,\"gbps\":0}", 25e9 }, { "{\"mbps\":800}", 1e8 },
		{ "{\"gbps\":200}", 25e9 }, { "{\"mbps\":0,\"gbps\":0}", 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *nic = json_loads(rows[i].nic, 0, NULL);

		assert_non_null(nic);
		assert_true(top_link_Bps(nic) == rows[i].Bps);
		json_decref(nic);
	}
}

TEST(counter_that_fell_has_rate_zero)
{
	json_t *before = top_document(top_engine("anna", 1e9, 9e6), NULL);
	json_t *now = top_document(top_engine("anna", 2e9, 1e6), NULL);

	top_rates(now, before);
	assert_true(top_per_s(json_object_get(top_at(now, "engines", 0), "totals"), "bytes_tx") == 0);
	json_decref(before);
	json_decref(now);
}

TEST(busiest_stands_first)
{
	json_t *before = top_document(top_engine("calm", 1e9, 0), top_engine("busy", 1e9, 0));
	json_t *now = top_document(top_engine("calm", 2e9, 1e9), top_engine("busy", 2e9, 8e9));
	char *text;
	size_t i;

	for (i = 0; i < 2; i++) {
		json_object_set_new(json_array_get(json_object_get(before, "engines"), i), "pid",
				    json_integer((int)i));
		json_object_set_new(json_array_get(json_object_get(now, "engines"), i), "pid",
				    json_integer((int)i));
	}
	top_rates(now, before);
	text = top_text_of(top_format, now);
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

TEST(names_cannot_steer_a_terminal)
{
	json_t *doc = top_document(top_engine("\033[2J\nbad\r", 1e9, 1e6), NULL);
	const json_t *s = top_at(top_at(doc, "engines", 0), "sessions", 0);
	char *text;

	json_object_set_new((json_t *)s, "peer", json_string("\xc2\x9b" "31m\x7f"));
	text = top_text_of(top_format, doc);
	for (char *p = text; *p; p++)
		assert_true(*p == '\n' || isprint((unsigned char)*p));
	assert_non_null(strstr(text, "?[2J?bad?"));
	free(text);
	json_decref(doc);
}

/* Figures stand in their columns: beside what fits, and below what does not. */
TEST(a_channel_has_a_line_if_its_names_fit)
{
	json_t *doc = top_document(top_engine("anna", 1e9, 1e6), NULL);
	json_t *s = (json_t *)top_at(top_at(doc, "engines", 0), "sessions", 0);
	json_t *c = (json_t *)top_at(s, "channels", 0);
	char *text;

	json_object_set_new(s, "peer", json_string("vm:11606.4f27c85a"));
	json_object_set_new(c, "nic", json_string("lo"));
	json_object_set_new(c, "peer_nic", json_string("lo"));
	text = top_text_of(top_format, doc);
	assert_non_null(strstr(text, "  vm:11606.4f27c85a   0 lo -> lo      -"));
	assert_non_null(strstr(text, "   1 eth1 -> eth1\n                                      2"));
	free(text);
	json_decref(doc);
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

TEST(nonsense_is_shown_as_nothing)
{
	struct tcpx_rng rng;

	rng = tcpx_rng_seed(4711);
	for (unsigned i = 0; i < 1000; i++) {
		json_t *before = top_document(top_engine("anna", 1e9, 1e6), top_engine("bert", 1e9, 1e6));
		json_t *now = top_document(top_with_labels(top_engine("anna", 2e9, 3e6), "x", 1),
				       top_engine("bert", 1e9, 1e6));

		spoil(before, &rng);
		spoil(now, &rng);
		top_rates(now, before);
		free(top_text_of(top_format, now));
		free(top_text_of(top_prometheus, now));
		json_decref(before);
		json_decref(now);
	}
}

/* ---- the screen ---- */

static json_t *
many(unsigned n, double time_ns, double sent)
{
	json_t *doc = top_document(top_engine("e", time_ns, sent), NULL), *e;

	json_array_clear(json_object_get(doc, "engines"));
	for (unsigned i = 0; i < n; i++) {
		e = top_engine("e", time_ns, sent * (i + 1));
		json_object_set_new(e, "pid", json_integer(100 + (int)i));
		json_object_set_new(e, "command", json_string(i % 2 ? "python serve_a_long_model_name.py "
							      "--tensor-parallel 8" : "tcpx serve"));
		json_object_set_new((json_t *)top_at(e, "nics", 0), "gbps", json_integer(8));
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

TEST(screens_hold_any_number_of_engines)
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

TEST(a_line_tells_an_engine)
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

TEST(keys_move_and_open)
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
TEST(idle_channels_are_one_line)
{
	struct top_screen s = { .rows = 24, .columns = 80 };
	json_t *doc = top_document(top_engine("anna", 1e9, 0), NULL), *c;

	top_rates(doc, NULL);
	c = (json_t *)top_at(top_at(top_at(doc, "engines", 0), "sessions", 0), "channels", 0);
	json_object_set_new(c, "in_flight", json_integer(0));
	top_press(&s, doc, TOP_KEY_OPEN);
	drawn_has(&s, doc, "and 1 idle channel\n");
	drawn_has(&s, doc, "eth1 -> eth1");
	top_press(&s, doc, TOP_KEY_IDLE);
	drawn_has(&s, doc, "eth0 -> eth0");
	json_decref(doc);
}

TEST(bytes_are_keys)
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

TEST(what_arrived_changed_has_a_line_of_its_own)
{
	json_t *now = top_document(top_engine("anna", 1e9, 1e6), NULL);
	char *text = top_text_of(top_format, now);

	assert_null(strstr(text, "arrived changed"));
	free(text);
	json_object_set_new(json_object_get(top_at(now, "engines", 0), "totals"), "chunks_corrupt",
			    json_integer(3));
	text = top_text_of(top_format, now);
	assert_non_null(strstr(text, "  arrived changed: 3 chunks, 0 control frames\n"));
	free(text);
	json_decref(now);
}
