/* SPDX-License-Identifier: Apache-2.0 */
/* Messages survive being cut and joined, and invented messages of a client are refused. */
#include "cases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "measure/job/job.h"
#include "tool/tool.h"

static void
quiet(void *arg, int level, const char *line)
{
}

TEST(jobs_come_back_as_they_were)
{
	const struct job job = { .op = JOB_SENDRECV, .bi = true, .spin = true, .depth = 7, .lanes = 3,
				 .span_bytes = 1ull << 33, .ring_bytes = 1ull << 30,
				 .label = "a label", .text = "hello", .near = "cuda:3", .iters = 9,
				 .mem_said = true, .mem = { 2, { 1, 5 } }, .cpu_said = true,
				 .cpu = 3 };
	struct job got;
	json_t *msg = job_format(&job);

	assert_int_equal(job_parse(msg, &got), 0);
	json_decref(msg);
	assert_memory_equal(&got, &job, sizeof(job));
}

static const struct {
	const char *name, *text;
	int rc;
} jobs[] = {
	{ "good", "{'op':'read','depth':1,'span':4096}", 0 },
	{ "unknown operation", "{'op':'erase','depth':1,'span':4096}", TCPX_EBLOB },
	{ "no operation", "{'depth':1,'span':4096}", TCPX_EBLOB },
	{ "depth 0", "{'op':'read','depth':0,'span':4096}", TCPX_EBLOB },
	{ "depth too large", "{'op':'read','depth':257,'span':4096}", TCPX_EBLOB },
	{ "a lane as deep as it may be", "{'op':'lane','depth':64,'span':4096}", 0 },
	{ "a lane too deep", "{'op':'lane','depth':65,'span':4096}", TCPX_EBLOB },
	{ "all lanes", "{'op':'lane','depth':64,'lanes':64,'span':4096}", 0 },
	{ "no lanes", "{'op':'lane','depth':1,'lanes':0,'span':4096}", TCPX_EBLOB },
	{ "too many lanes", "{'op':'lane','depth':1,'lanes':65,'span':4096}", TCPX_EBLOB },
	{ "depth as text", "{'op':'read','depth':'1','span':4096}", TCPX_EBLOB },
	{ "negative span", "{'op':'read','depth':1,'span':-1}", TCPX_EBLOB },
	{ "depth x span overflows", "{'op':'read','depth':256,'span':9223372036854775807}", TCPX_EBLOB },
	{ "memory of a GPU", "{'op':'read','depth':1,'span':4096,'mem':'cuda:1'}", 0 },
	{ "memory of nothing", "{'op':'read','depth':1,'span':4096,'mem':'x'}", TCPX_EBLOB },
	{ "a label", "{'op':'read','depth':1,'span':4096,'label':'x'}", 0 },
	{ "a label with a newline", "{'op':'read','depth':1,'span':4096,'label':'x\\ny'}",
	  TCPX_EBLOB },
	{ "a text of 64 bytes", "{'op':'read','depth':1,'span':4096,'text':'01234567890123"
	  "45678901234567890123456789012345678901234567890123'}", TCPX_EBLOB },
	{ "negative iterations", "{'op':'read','depth':1,'span':4096,'iters':-1}", TCPX_EBLOB },
	{ "a negative ring", "{'op':'read','depth':1,'span':4096,'ring':-1}", TCPX_EBLOB },
	{ "a CPU", "{'op':'read','depth':1,'span':4096,'cpu':0}", 0 },
	{ "a CPU below none", "{'op':'read','depth':1,'span':4096,'cpu':-1}", TCPX_EBLOB },
	{ "a CPU beyond all", "{'op':'read','depth':1,'span':4096,'cpu':8192}", TCPX_EBLOB },
};

static json_t *
load_quoted(const char *text)
{
	char json[256];

	snprintf(json, sizeof(json), "%s", text);
	for (char *c = json; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	return json_loads(json, 0, NULL);
}

TEST(job_table)
{
	for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
		json_t *msg = load_quoted(jobs[i].text);
		struct job job;
		int rc = job_parse(msg, &job);

		if (rc != jobs[i].rc)
			fail_msg("%s: rc is %d, want %d", jobs[i].name, rc, jobs[i].rc);
		json_decref(msg);
	}
}

TEST(a_case_must_fit_its_job)
{
	const struct job job = { .span_bytes = 1000 };
	const struct job_case good = { 1000, 1000, 5 }, large = { 1001, 1, 5 }, fine = { 10, 11, 5 };
	struct job_case got;
	json_t *msg = job_case_format(&good);

	assert_int_equal(job_case_parse(msg, &job, &got), 0);
	assert_memory_equal(&got, &good, sizeof(got));
	json_decref(msg);
	msg = job_case_format(&large);
	assert_int_equal(job_case_parse(msg, &job, &got), TCPX_EBLOB);
	json_decref(msg);
	msg = job_case_format(&fine);
	assert_int_equal(job_case_parse(msg, &job, &got), TCPX_EBLOB);
	json_decref(msg);
}

TEST(slots_must_be_in_their_ring)
{
	static const struct {
		struct job_slots s;
		uint64_t most;
		int rc;
	} cases[] = {
		{ { 0, 7, false }, 7, 0 },	     { { 3, 4, true }, 7, 0 },
		{ { 3, 5, true }, 7, TCPX_EBLOB },   { { 7, 1, false }, 7, TCPX_EBLOB },
		{ { 0, 0, false }, 7, TCPX_EBLOB },  { { 0, 1, false }, 0, TCPX_EBLOB },
		{ { 1, INT64_MAX, false }, 7, TCPX_EBLOB },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct job_slots got = { 0 };
		json_t *msg = job_slots_format(cases[i].s);
		int rc = job_slots_parse(msg, cases[i].most, &got);

		if (rc != cases[i].rc || (!rc && memcmp(&got, &cases[i].s, sizeof(got))))
			fail_msg("case %zu: rc is %d, want %d", i, rc, cases[i].rc);
		json_decref(msg);
	}
}

/* {"text":"xxx..."} of @len bytes in all. */
static char *
long_text(size_t len)
{
	char *text = malloc(len + 1);

	memset(text, 'x', len);
	memcpy(text, "{\"text\":\"", 9);
	memcpy(text + len - 2, "\"}", 3);
	return text;
}

TEST(long_messages_are_cut_and_joined)
{
	static const size_t lens[] = { 20, JOB_PART_BYTES - 1, JOB_PART_BYTES, JOB_PART_BYTES + 1,
				       5 * JOB_PART_BYTES + 17 };

	for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
		struct job_inbox in = { 0 };
		char part[JOB_PART_BYTES + 32], *text = long_text(lens[i]);
		json_t *msg = NULL;
		uint32_t n = 0;
		size_t len;
		int rc = -EAGAIN;

		while ((len = job_part(text, lens[i], 42, n, part))) {
			assert_int_equal(rc, -EAGAIN);
			assert_true(len <= 8192);
			rc = job_inbox_feed(&in, part, len, &msg);
			n++;
		}
		assert_int_equal(rc, 0);
		assert_int_equal(n, (lens[i] + JOB_PART_BYTES - 1) / JOB_PART_BYTES);
		assert_int_equal(strlen(job_text(msg, "text")), lens[i] - 11);
		json_decref(msg);
		free(text);
		job_inbox_fini(&in);
	}
}

static const char *const bad_parts[] = {
	"", "J", "K1.0.1 {}", "J1.0.1{}", "J1.0 {}", "J1.0.0 {}", "J1.1.1 {}", "J-1.0.1 {}",
	"J99999999999.0.1 {}", "J1.0.1 []", "J1.0.1 {", "J1.1.2 {}", "J1.0.1000000 {}",
	"J1.0.1 {\"a\":1,\"a\":2}",
};

TEST(what_is_no_part_is_refused)
{
	for (size_t i = 0; i < ARRAY_LEN(bad_parts); i++) {
		struct job_inbox in = { 0 };
		json_t *msg;

		if (job_inbox_feed(&in, bad_parts[i], strlen(bad_parts[i]), &msg) != TCPX_EBLOB)
			fail_msg("\"%s\" was taken", bad_parts[i]);
		job_inbox_fini(&in);
	}
}

TEST(a_new_message_replaces_half_of_an_old_one)
{
	struct job_inbox in = { 0 };
	json_t *msg;

	assert_int_equal(job_inbox_feed(&in, "J1.0.2 {", 8, &msg), -EAGAIN);
	assert_int_equal(job_inbox_feed(&in, "J2.0.1 {}", 9, &msg), 0);
	json_decref(msg);
	job_inbox_fini(&in);
}

TEST(a_part_out_of_turn_is_refused)
{
	struct job_inbox in = { 0 };
	json_t *msg;

	assert_int_equal(job_inbox_feed(&in, "J1.0.3 {", 8, &msg), -EAGAIN);
	assert_int_equal(job_inbox_feed(&in, "J1.2.3 }", 8, &msg), TCPX_EBLOB);
	assert_int_equal(job_inbox_feed(&in, "J1.1.3 }", 8, &msg), TCPX_EBLOB);
	job_inbox_fini(&in);
}

int
main(void)
{
	tcpx_log_sink(quiet, NULL);
	return run_cases(NULL, NULL);
}
