/* SPDX-License-Identifier: Apache-2.0 */
/* The hub: its messages to each rank; strangers, duplicates, losses, messages out of turn. */
#include "cases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "measure/job/job.h"
#include "measure/mesh/hub.h"
#include "measure/mesh/line.h"
#include "measure/mesh/result.h"

static char told[4096]; /* "conn:type " for each */

static void
note(void *arg, unsigned conn, const char *type, json_t *msg)
{
	json_t **last = arg;

	snprintf(told + strlen(told), sizeof(told) - strlen(told), "%u:%s ", conn, type);
	json_decref(*last);
	*last = msg;
}

static int
say(struct hub *h, unsigned conn, const char *text)
{
	json_t *msg = json_loads(text, 0, NULL);
	int rc;

	assert_non_null(msg);
	told[0] = '\0';
	rc = hub_take(h, conn, msg);
	json_decref(msg);
	return rc;
}

static int
hello(struct hub *h, unsigned conn, unsigned rank, unsigned size, const char *job)
{
	char text[128];

	snprintf(text, sizeof(text), "{\"t\":\"hello\",\"rank\":%u,\"size\":%u,\"job\":\"%s\","
		 "\"host\":\"h%u\",\"blob\":\"00\"}", rank, size, job, rank);
	return say(h, conn, text);
}

/* Two ranks that have met: rank 0 on connection 4, rank 1 on 7. */
static void
met(struct hub *h, unsigned steps, json_t **last)
{
	*last = NULL;
	assert_int_equal(hub_init(h, 2, steps, "j", note, last), 0);
	assert_int_equal(hello(h, 7, 1, 2, "j"), 0);
	assert_string_equal(told, "");
	assert_int_equal(hello(h, 4, 0, 2, "j"), 0);
	assert_string_equal(told, "4:table 7:table ");
}

TEST(steps_go_together)
{
	struct hub h;
	json_t *last;

	met(&h, 2, &last);
	assert_string_equal(job_text(json_array_get(json_object_get(last, "ranks"), 1), "host"), "h1");
	assert_int_equal(say(&h, 4, "{\"t\":\"at\",\"step\":0}"), 0);
	assert_string_equal(told, "");
	assert_int_equal(say(&h, 7, "{\"t\":\"at\",\"step\":0}"), 0);
	assert_string_equal(told, "4:go 7:go ");
	assert_int_equal(say(&h, 7, "{\"t\":\"done\",\"step\":0,\"pairs\":[{\"from\":1}]}"), 0);
	assert_int_equal(say(&h, 4, "{\"t\":\"done\",\"step\":0,\"pairs\":[]}"), 0);
	assert_string_equal(told, "4:next 7:next ");
	assert_int_equal(say(&h, 7, "{\"t\":\"at\",\"step\":1}"), 0);
	assert_int_equal(say(&h, 4, "{\"t\":\"at\",\"step\":1}"), 0);
	assert_int_equal(say(&h, 7, "{\"t\":\"done\",\"step\":1}"), 0);
	assert_int_equal(say(&h, 4, "{\"t\":\"done\",\"step\":1,\"pairs\":[{\"from\":0}]}"), 0);
	assert_string_equal(told, "4:all 7:bye ");
	assert_int_equal(json_array_size(h.pairs), 2);
	assert_int_equal(h.stage, HUB_OVER);
	told[0] = '\0';
	hub_lost(&h, 7);
	assert_false(h.failed);
	assert_string_equal(told, "");
	json_decref(last);
	hub_fini(&h);
}

TEST(strangers_are_turned_away)
{
	json_t *last = NULL;
	struct hub h;

	assert_int_equal(hub_init(&h, 2, 1, "j", note, &last), 0);
	assert_int_equal(hello(&h, 1, 0, 3, "j"), TCPX_EPROTO);
	assert_string_equal(told, "1:fail ");
	assert_int_equal(hello(&h, 1, 2, 2, "j"), TCPX_EPROTO);
	assert_int_equal(hello(&h, 1, 0, 2, "k"), TCPX_EPROTO);
	assert_int_equal(say(&h, 1, "{\"t\":\"hello\"}"), TCPX_EPROTO);
	assert_int_equal(say(&h, 1, "{}"), TCPX_EPROTO);
	assert_int_equal(say(&h, 1, "{\"t\":\"at\",\"step\":0}"), TCPX_EPROTO);
	assert_int_equal(hello(&h, 2, 1, 2, "j"), 0);
	assert_int_equal(hello(&h, 3, 1, 2, "j"), TCPX_EPROTO);
	assert_string_equal(told, "3:fail ");
	hub_lost(&h, 3);
	assert_false(h.failed);
	assert_int_equal(hello(&h, 3, 0, 2, "j"), 0);
	assert_string_equal(told, "3:table 2:table ");
	/* later, too */
	assert_int_equal(say(&h, 9, "{\"t\":\"at\",\"step\":0}"), TCPX_EPROTO);
	assert_string_equal(told, "9:fail ");
	assert_false(h.failed);
	json_decref(last);
	hub_fini(&h);
}

TEST(one_that_is_lost_ends_it)
{
	struct hub h;
	json_t *last;

	met(&h, 2, &last);
	told[0] = '\0';
	hub_lost(&h, 7);
	assert_string_equal(told, "4:fail ");
	assert_string_equal(job_text(last, "text"), "rank 1 on h1 has gone");
	assert_true(h.failed);
	assert_int_equal(say(&h, 4, "{\"t\":\"at\",\"step\":0}"), 0); /* too late to matter */
	assert_string_equal(told, "");
	json_decref(last);
	hub_fini(&h);
}

/* Ctrl-C at a rank: rank 0 gets what has been measured. */
TEST(a_signal_keeps_the_pairs)
{
	struct hub h;
	json_t *last;

	met(&h, 2, &last);
	assert_int_equal(say(&h, 4, "{\"t\":\"at\",\"step\":0}"), 0);
	assert_int_equal(say(&h, 7, "{\"t\":\"at\",\"step\":0}"), 0);
	assert_int_equal(say(&h, 4, "{\"t\":\"done\",\"step\":0,\"pairs\":[{\"from\":1}]}"), 0);
	hub_lost(&h, 99); /* a stranger */
	h.conn[1] = -1;   /* so that what is sent last is rank 0's */
	told[0] = '\0';
	assert_int_equal(say(&h, 4, "{\"t\":\"fail\",\"text\":\"x\",\"signal\":2}"), 0);
	assert_string_equal(told, "4:fail ");
	assert_int_equal(json_integer_value(json_object_get(last, "signal")), 2);
	assert_int_equal(json_array_size(json_object_get(last, "pairs")), 1);
	assert_int_equal(h.stage, HUB_OVER);
	json_decref(last);
	hub_fini(&h);
}

/* It could not take part: nobody waits for it, those who come later included. */
TEST(one_that_stays_away_ends_it)
{
	json_t *last = NULL;
	struct hub h;

	assert_int_equal(hub_init(&h, 4, 2, "j", note, &last), 0);
	assert_int_equal(hello(&h, 4, 0, 4, "j"), 0);
	assert_int_equal(say(&h, 5, "{\"t\":\"fail\",\"rank\":2,\"size\":3,\"job\":\"j\"}"),
			 TCPX_EPROTO); /* of another job */
	assert_string_equal(told, "5:fail ");
	assert_false(h.failed);
	assert_int_equal(say(&h, 6, "{\"t\":\"fail\",\"rank\":2,\"size\":4,\"job\":\"j\","
			     "\"host\":\"h2\",\"text\":\"no server\"}"), TCPX_EPROTO);
	assert_string_equal(told, "4:fail ");
	assert_string_equal(job_text(last, "text"), "rank 2 on h2: no server");
	assert_true(h.failed);
	assert_int_equal(h.came, 2);
	hub_lost(&h, 6);
	hub_lost(&h, 4);
	assert_int_equal(hello(&h, 7, 1, 4, "j"), TCPX_EPROTO);
	assert_string_equal(told, "7:fail ");
	assert_string_equal(job_text(last, "text"), "rank 2 on h2: no server");
	assert_int_equal(hello(&h, 8, 3, 5, "j"), TCPX_EPROTO); /* no rank of ours */
	assert_int_equal(h.came, 3);
	assert_int_equal(say(&h, 8, "{\"t\":\"fail\",\"rank\":3,\"size\":4,\"job\":\"j\","
			     "\"text\":\"nor I\"}"), TCPX_EPROTO);
	assert_int_equal(h.came, 4);
	json_decref(last);
	hub_fini(&h);
}

TEST(words_out_of_turn_end_it)
{
	static const char *const words[] = {
		"{\"t\":\"done\",\"step\":0}", "{\"t\":\"at\",\"step\":1}", "{\"t\":\"at\"}", "{}",
		"{\"t\":\"hello\",\"rank\":1}", "{\"t\":\"fail\",\"text\":\"no memory\"}",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct hub h;
		json_t *last;

		met(&h, 2, &last);
		assert_int_equal(say(&h, 7, words[i]), TCPX_EPROTO);
		assert_string_equal(told, "4:fail 7:fail ");
		assert_true(h.failed);
		json_decref(last);
		hub_fini(&h);
	}
	struct hub h;
	json_t *last;

	met(&h, 2, &last);
	assert_int_equal(say(&h, 7, "{\"t\":\"at\",\"step\":0}"), 0);
	assert_int_equal(say(&h, 7, "{\"t\":\"at\",\"step\":0}"), TCPX_EPROTO); /* twice */
	json_decref(last);
	hub_fini(&h);
}

TEST(lines)
{
	struct mesh_line in = { 0 };
	json_t *msg;
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	assert_int_equal(mesh_line_fill(&in, fd[1]), 0);
	assert_int_equal(mesh_line_take(&in, &msg), -EAGAIN);
	assert_int_equal(mesh_line_send(fd[0], "a", json_pack("{s:i}", "n", 7)), 0);
	assert_int_equal(mesh_line_send(fd[0], "b", NULL), 0);
	assert_int_equal(write(fd[0], "{\"t\":", 5), 5);
	assert_int_equal(mesh_line_fill(&in, fd[1]), 0);
	assert_int_equal(mesh_line_take(&in, &msg), 0);
	assert_string_equal(job_text(msg, "t"), "a");
	json_decref(msg);
	assert_int_equal(mesh_line_take(&in, &msg), 0);
	assert_string_equal(job_text(msg, "t"), "b");
	json_decref(msg);
	assert_int_equal(mesh_line_take(&in, &msg), -EAGAIN);
	assert_int_equal(write(fd[0], "5}\n[1]\n", 7), 7);
	assert_int_equal(mesh_line_fill(&in, fd[1]), 0);
	assert_int_equal(mesh_line_take(&in, &msg), 0);
	json_decref(msg);
	assert_int_equal(mesh_line_take(&in, &msg), TCPX_EBLOB);
	close(fd[0]);
	assert_int_equal(mesh_line_fill(&in, fd[1]), -EPIPE);
	mesh_line_fini(&in);
	close(fd[1]);
}

/* What a rank says about pairs is read back; nonsense is refused. */
TEST(pairs_become_a_record)
{
	const struct perf_args args = { .op = JOB_READ, .bi = true, .begin = 1 << 20 };
	const struct mesh_env env = { .launcher = "Slurm", .size = 2 };
	struct result part, whole;
	json_t *pairs = json_array(), *ranks = json_pack("[{s:s}, {s:s}]", "host", "x", "host", "y");
	struct row *row;

	result_init(&part);
	row = result_add_row(&part);
	row->algbw_GBps = 2.5;
	row->iters = 3;
	row->checked = true;
	mesh_result_add(pairs, &args, 0, 0, 1, &part);
	result_init(&whole);
	assert_int_equal(mesh_result_fill(&whole, &args, &env, ranks, pairs), 0);
	assert_int_equal(whole.mesh.at[0].pairs.n, 2);
	assert_int_equal(whole.mesh.at[0].pairs.at[0].from, 1); /* a READ brings it here */
	assert_int_equal(whole.mesh.at[0].pairs.at[1].from, 0);
	assert_true(whole.mesh.at[0].mean_GBps == 2.5);
	assert_string_equal(whole.mesh.at[0].ranks.at[1].host, "y");
	result_fini(&whole);

	mesh_result_add(pairs, &args, 0, 5, 1, NULL);
	result_init(&whole);
	assert_int_not_equal(mesh_result_fill(&whole, &args, &env, ranks, pairs), 0);
	result_fini(&whole);
	result_fini(&part);
	json_decref(pairs);
	json_decref(ranks);
}
