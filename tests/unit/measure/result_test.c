/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record as JSON: it reads back the same, the schema in docs/ agrees, and a file that
 * is no record is refused with the name of the field.
 */
#include "cases.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "result_sample.h"
#include "tcpx/err.h"
#include "tool/envlist.h"
#include "measure/mesh/sum.h"
#include "measure/report/result.h"
#include "measure/report/result_fields.h"

static char logged[1024];

static void
keep_line(void *arg, int level, const char *line)
{
	snprintf(logged, sizeof(logged), "%s", line);
}

TEST(what_is_written_reads_back_the_same)
{
	struct result before, after;
	char *first, *second;

	sample_result(&before);
	sample_row(&before, 1 << 26);
	sample_latency_row(&before);
	first = result_text(&before);
	assert_int_equal(result_parse(first, strlen(first), "sample", &after), 0);
	second = result_text(&after);
	assert_string_equal(first, second);
	assert_int_equal(after.rows.at[0].per_nic.at[1].retransmits, 1);
	assert_string_equal(after.note, "made up");
	assert_true(isnan(after.rows.at[0].half_rtt_us.p50));
	assert_float_equal(after.rows.at[1].half_rtt_us.p50, 18.6, 1e-9);
	free(first);
	free(second);
	result_fini(&before);
	result_fini(&after);
}

TEST(what_was_not_measured_is_left_out)
{
	struct result r;
	char *text;

	sample_result(&r);
	free(r.note);
	r.note = NULL;
	r.setup_ms = NAN;
	result_add_row(&r);
	text = result_text(&r);
	assert_null(strstr(text, "\"note\""));
	assert_null(strstr(text, "\"setup_ms\""));
	assert_null(strstr(text, "\"ratio\""));
	assert_null(strstr(text, "\"ratio_ci\""));
	assert_null(strstr(text, "\"half_rtt_us\""));
	assert_non_null(strstr(text, "\"pairs\": []"));
	free(text);
	result_fini(&r);
}

TEST(the_schema_in_docs_accepts_every_field)
{
	const char *root = getenv("TCPX_SOURCE_ROOT");
	char path[] = "/tmp/tcpx-result-XXXXXX", command[512];
	struct result r;
	int fd;

	if (!root || system("python3 -c pass >/dev/null 2>&1") != 0) {
		print_message("# skipped: no python3, or not run by meson\n");
		skip();
	}
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	sample_result(&r);
	sample_row(&r, 1 << 26);
	sample_latency_row(&r);
	assert_int_equal(result_save(&r, path), 0);
	snprintf(command, sizeof(command), "python3 '%s/scripts/check-result.py' %s", root, path);
	assert_int_equal(system(command), 0);

	SET(r.rows.at[0].op, "steal");
	assert_int_equal(result_save(&r, path), 0);
	snprintf(command, sizeof(command), "python3 '%s/scripts/check-result.py' %s 2>/dev/null",
		 root, path);
	assert_int_not_equal(system(command), 0);
	unlink(path);
	result_fini(&r);
}

/* A mesh has no rows; what was not measured of it is left out. */
TEST(a_mesh_comes_back)
{
	const char *root = getenv("TCPX_SOURCE_ROOT");
	char path[] = "/tmp/tcpx-result-XXXXXX", command[512];
	struct result r, out;
	struct result_mesh *m;
	char *text;

	result_init(&r);
	SET(r.role, "mesh");
	SET(r.peer, "2 ranks");
	m = LIST_ADD(&r.mesh);
	shape_clear(&mesh_shape, m);
	SET(m->launcher, "Slurm");
	SET(m->plan, "at once");
	SET(m->op, "write");
	SET(m->dir, "uni");
	m->size = 1 << 20;
	for (unsigned i = 0; i < 2; i++) {
		struct result_mesh_rank *rank = LIST_ADD(&m->ranks);
		struct result_mesh_pair *pair = LIST_ADD(&m->pairs);

		rank->rank = i;
		SET(rank->host, i ? "beta" : "alpha");
		SET(rank->mem, "cuda:1");
		*pair = (struct result_mesh_pair){ .from = i, .to = !i, .GBps = 2 + i, .iters = 3,
						   .peer_GBps = NAN, .p50_us = i ? 7 : NAN };
	}
	mesh_sum(m);
	close(mkstemp(path));
	assert_int_equal(result_save(&r, path), 0);
	snprintf(command, sizeof(command), "python3 '%s/scripts/check-result.py' %s", root, path);
	if (root)
		assert_int_equal(system(command), 0);
	unlink(path);
	text = result_text(&r);
	assert_null(strstr(text, "peer_GBps"));
	assert_null(strstr(text, "seconds"));
	assert_int_equal(result_parse(text, strlen(text), "text", &out), 0);
	assert_int_equal(out.mesh.n, 1);
	assert_string_equal(out.mesh.at[0].ranks.at[1].host, "beta");
	assert_true(out.mesh.at[0].pairs.at[1].GBps == 3);
	assert_true(isnan(out.mesh.at[0].pairs.at[0].p50_us));
	assert_int_equal(out.mesh.at[0].worst_from, 0);
	free(text);
	result_fini(&out);
	result_fini(&r);
}

TEST(a_wrong_field_is_named)
{
	static const struct {
		const char *from, *to, *says;
	} cases[] = {
		{ "\"schema\": 1", "\"schema\": 2", "schema is 2" },
		{ "\"size\": 67108864", "\"size\": \"big\"", "rows[0].size: is a text" },
		{ "\"size\": 67108864", "\"size\": -1", "rows[0].size: is -1" },
		{ "\"iters\": 20", "\"iters\": 0", "rows[0].iters: is 0" },
		{ "\"op\": \"write\"", "\"op\": \"steal\"", "rows[0].op: is \"steal\"" },
		{ "\"p99\"", "\"p98\"", "rows[0].time_us.p99: is missing" },
		{ "\"checked\": true", "\"checked\": 1", "rows[0].checked: is a whole number" },
		{ "\"share\": 0.75", "\"share\": -0.75", "rows[0].per_nic[0].share: is negative" },
		{ "\"host\": \"alpha\"", "\"host\": null", "machine.host: is null" },
		{ "\"started\": \"", "\"started\": \"and then the text is longer than its room ",
		  "started: is" },
		{ "\"numa\": -1", "\"numa\": -2", "nics[1].numa: is -2" },
		{ "\"env\": [", "\"env\": 7, \"was\": [", "env: is a whole number" },
		{ "\"role\": \"client\",", "\"role\": \"client\", \"role\": \"self\",",
		  "not JSON" },
		{ "{\n", "[\n", "not JSON" },
	};
	struct result r, out;
	char *text;

	sample_result(&r);
	sample_row(&r, 1 << 26);
	text = result_text(&r);
	tcpx_log_sink(keep_line, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *at = strstr(text, cases[i].from);
		char *bad;

		assert_non_null(at);
		assert_true(asprintf(&bad, "%.*s%s%s", (int)(at - text), text, cases[i].to,
				     at + strlen(cases[i].from)) > 0);
		logged[0] = '\0';
		assert_int_equal(result_parse(bad, strlen(bad), "bad", &out), TCPX_EBLOB);
		if (!strstr(logged, cases[i].says))
			fail_msg("\"%s\" is not in: %s", cases[i].says, logged);
		free(bad);
	}
	tcpx_log_sink(NULL, NULL);
	free(text);
	result_fini(&r);
}

TEST(every_truncation_is_refused)
{
	struct result r, out;
	char *text;

	sample_result(&r);
	text = result_text(&r);
	tcpx_log_sink(keep_line, NULL);
	for (size_t len = 0; len < strlen(text); len += 3)
		assert_int_equal(result_parse(text, len, "cut", &out), TCPX_EBLOB);
	tcpx_log_sink(NULL, NULL);
	free(text);
	result_fini(&r);
}

TEST(fields_of_a_newer_version_are_skipped)
{
	struct result r, out;
	char *text, *newer;

	sample_result(&r);
	text = result_text(&r);
	assert_true(asprintf(&newer, "{ \"colour\": [1, {}],%s", text + 1) > 0);
	assert_int_equal(result_parse(newer, strlen(newer), "newer", &out), 0);
	result_fini(&out);
	result_fini(&r);
	free(text);
	free(newer);
}

TEST(bytes_that_are_no_utf8_are_replaced)
{
	struct result r, out;
	char *text;

	sample_result(&r);
	result_add_setting(&r, "TCPX_NAME", "a\xff" "b\xe2\x82", "flag");
	text = result_text(&r);
	assert_int_equal(result_parse(text, strlen(text), "utf8", &out), 0);
	assert_string_equal(out.settings.at[1].value, "a\uFFFD" "b\uFFFD\uFFFD");
	free(text);
	result_fini(&r);
	result_fini(&out);
}

TEST(secrets_never_get_in)
{
	static const char *const words[] = { "tcpx", "perf", "--secret", "hunter2",
					     "TCPX_TOKEN=hunter2", "it's" };
	struct result r = { 0 };

	result_add_setting(&r, "TCPX_SECRET", "hunter2", "flag");
	result_set_command(&r, 6, (char *const *)words);
	assert_string_equal(r.settings.at[0].value, ENVLIST_HIDDEN);
	assert_string_equal(r.command,
			    "tcpx perf --secret (hidden) TCPX_TOKEN=(hidden) 'it'\\''s'");
	result_fini(&r);
}

static void
add_env(void *arg, const char *name, const char *value)
{
	char *text = arg;

	snprintf(text + strlen(text), 256 - strlen(text), "%s=%s;", name, value);
}

TEST(only_known_variables_are_listed)
{
	static char *const environment[] = {
		(char *)"PATH=/bin",
		(char *)"TCPX_PORT=1",
		(char *)"AWS_KEY=x",
		(char *)"NCCL_DEBUG=a=b",
		(char *)"MY_TCPX_PORT=2",
		(char *)"UCCL_TCPX_AuthToken=x",
		(char *)"TCPX_BROKEN",
		(char *)"NCCL_PASSWORD_FILE=x",
		NULL,
	};
	char text[256] = "";

	envlist_each(environment, add_env, text);
	assert_string_equal(text, "NCCL_DEBUG=a=b;NCCL_PASSWORD_FILE=(hidden);TCPX_PORT=1;"
				  "UCCL_TCPX_AuthToken=(hidden);");
}

TEST(pairs_sum_up_to_median_and_interval)
{
	struct result r = { 0 };
	struct row *row = result_add_row(&r);

	row_sum_up_pairs(row);
	assert_true(isnan(row->ratio));
	sample_lists(row);
	assert_float_equal(row->ratio, 0.97, 1e-12);
	assert_float_equal(row->ratio_ci.lo, 0.94, 1e-12);
	assert_float_equal(row->ratio_ci.hi, 1.00, 1e-12);
	result_fini(&r);
}

TEST(the_largest_size_speaks_for_the_run)
{
	struct result r = { 0 };

	assert_null(result_subject(&r));
	for (int i = 0; i < 4; i++)
		result_add_row(&r)->size = i < 3 ? 10 * (uint64_t)(i % 2 + 1) : 20;
	assert_ptr_equal(result_subject(&r), &r.rows.at[3]);
	result_fini(&r);
}

TEST(a_new_record_knows_its_machine)
{
	struct result r;

	result_init(&r);
	assert_int_equal(r.schema, RESULT_SCHEMA);
	assert_int_equal(strlen(r.started), strlen("2025-01-31T12:00:00Z"));
	assert_true(r.machine.host[0] && r.machine.kernel[0] && r.machine.cpus);
	result_fini(&r);
}

TEST(a_file_that_is_not_there_is_an_error)
{
	struct result out;

	tcpx_log_sink(keep_line, NULL);
	assert_int_equal(result_load("/nonexistent/result.json", &out), -ENOENT);
	assert_non_null(strstr(logged, "/nonexistent/result.json"));
	assert_true(result_load("/", &out) < 0);
	tcpx_log_sink(NULL, NULL);
}
