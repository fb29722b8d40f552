/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of `tcpx serve` that are none: both engines are in this process, and the server's turns
 * are the test's. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "measure/perf/serve.h"
#include "tool/tool.h"

enum { SPAN = 8192, PINGS = 3 * JOB_LAT_SLOTS };

struct bed {
	tcpx_engine *engine[2]; /* the server's, the client's */
	tcpx_peer *server;
	struct perf_args args;
	struct serve s;
	struct job_inbox inbox;
	struct mem in; /* of the client */
};

static int posted, freed, said, dialled, trimmed;
static const char *sender; /* NULL: as it is */

int __real_tcpx_recv(tcpx_peer *peer, const struct tcpx_desc *local, size_t nlocal, uint64_t tag, tcpx_xfer **xfer);
int __wrap_tcpx_recv(tcpx_peer *peer, const struct tcpx_desc *local, size_t nlocal, uint64_t tag, tcpx_xfer **xfer);
void __real_tcpx_xfer_free(tcpx_xfer *xfer);
void __wrap_tcpx_xfer_free(tcpx_xfer *xfer);
int __real_job_send(tcpx_peer *peer, const char *type, json_t *msg);
int __wrap_job_send(tcpx_peer *peer, const char *type, json_t *msg);
const char *__real_tcpx_note_sender(const tcpx_note *note);
const char *__wrap_tcpx_note_sender(const tcpx_note *note);
int __wrap_tcpx_peer_add(tcpx_engine *engine, const void *blob, size_t len, tcpx_peer **peer);
int __wrap_tcpx_peer_wait(tcpx_peer *peer, int timeout_ms);

int __wrap_malloc_trim(size_t pad);

int
__wrap_malloc_trim(size_t pad)
{
	trimmed++;
	return 0;
}

int
__wrap_tcpx_recv(tcpx_peer *peer, const struct tcpx_desc *local, size_t nlocal, uint64_t tag, tcpx_xfer **xfer)
{
	posted++;
	return __real_tcpx_recv(peer, local, nlocal, tag, xfer);
}

void
__wrap_tcpx_xfer_free(tcpx_xfer *xfer)
{
	freed += xfer != NULL;
	__real_tcpx_xfer_free(xfer);
}

int
__wrap_job_send(tcpx_peer *peer, const char *type, json_t *msg)
{
	said++;
	return __real_job_send(peer, type, msg);
}

const char *
__wrap_tcpx_note_sender(const tcpx_note *note)
{
	return sender ? sender : __real_tcpx_note_sender(note);
}

/* A server asks for neither. */
int
__wrap_tcpx_peer_add(tcpx_engine *engine, const void *blob, size_t len, tcpx_peer **peer)
{
	dialled++;
	return TCPX_ESTATE;
}

int
__wrap_tcpx_peer_wait(tcpx_peer *peer, int timeout_ms)
{
	dialled++;
	return TCPX_ESTATE;
}

static void
quiet(void *arg, int level, const char *line)
{
}

static int
setup(void **state)
{
	static const char *const settings[] = { "TCPX_NICS=127.0.1.1", "TCPX_PORT=0", "TCPX_PROVIDER=sock",
						"TCPX_CHANNELS=2", "TCPX_STATS=off", NULL };
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	const struct place host = { 0 };
	struct bed *b = calloc(1, sizeof(*b));
	char at[64];

	assert_non_null(b);
	tcpx_log_sink(quiet, NULL);
	opts.settings = settings;
	for (int i = 0; i < 2; i++)
		assert_int_equal(tcpx_open(&opts, &b->engine[i]), 0);
	b->args.ready_fd = -1;
	serve_init(&b->s, &b->args, b->engine[0]);
	b->s.quiet = true;
	snprintf(at, sizeof(at), "127.0.1.1:%u", tcpx_port(b->engine[0]));
	assert_int_equal(tcpx_peer_connect(b->engine[1], at, &b->server), 0);
	assert_int_equal(mem_open(b->engine[1], NULL, &host, 0, JOB_LAT_SLOTS, SPAN, TCPX_MEM_REMOTE_WRITE, &b->in),
			 0);
	posted = freed = said = dialled = 0;
	*state = b;
	return 0;
}

static int
teardown(void **state)
{
	struct bed *b = *state;
	bool has_client = !tcpx_chain_empty(&b->s.clients);

	trimmed = 0;
	serve_fini(&b->s);
	assert_int_equal(trimmed, has_client);
	job_inbox_fini(&b->inbox);
	if (b->engine[1]) {
		mem_close(b->engine[1], &b->in);
		tcpx_close(b->engine[1]);
	}
	tcpx_close(b->engine[0]);
	assert_int_equal(dialled, 0);
	free(b);
	return 0;
}

/* A turn as `tcpx serve` has it. True: there is more to do. */
static bool
turn(struct bed *b)
{
	tcpx_xfer *oldest;
	tcpx_note *note;

	while (!tcpx_note_get(b->s.engine, &note))
		serve_note(&b->s, note);
	return serve_pump(&b->s, &oldest);
}

/* The next message of the server. */
static json_t *
hear(struct bed *b)
{
	const char *data;
	json_t *msg = NULL;
	tcpx_note *note;
	size_t len;

	for (;;) {
		turn(b);
		if (tcpx_note_wait(b->engine[1], 1, &note))
			continue;
		data = tcpx_note_data(note, &len);
		if (job_inbox_feed(&b->inbox, data, len, &msg))
			msg = NULL;
		tcpx_note_free(note);
		if (msg)
			return msg;
	}
}

static void
say(struct bed *b, const char *type, const char *quoted)
{
	char text[512];
	json_t *msg;

	snprintf(text, sizeof(text), "%s", quoted);
	for (char *c = text; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	msg = json_loads(text, 0, NULL);
	assert_non_null(msg);
	if (!strcmp(type, "job"))
		assert_int_equal(regions_export(b->engine[1], &b->in.regions, msg, "client_in"), 0);
	assert_int_equal(__real_job_send(b->server, type, msg), 0);
}

/* The server takes one note, and does nothing else. */
static void
take(struct bed *b)
{
	tcpx_note *note;

	while (tcpx_note_wait(b->s.engine, 1000, &note))
		;
	serve_note(&b->s, note);
}

/* The next message is of type @want, and its text has @part in it. */
static void
expect(struct bed *b, const char *want, const char *part)
{
	json_t *msg = hear(b);

	if (strcmp(job_text(msg, "t"), want) || !strstr(job_text(msg, "text"), part))
		fail_msg("'%s' %s", job_text(msg, "t"), job_text(msg, "text"));
	json_decref(msg);
}

static void
ask(struct bed *b, const char *type, const char *quoted, const char *want, const char *part)
{
	say(b, type, quoted);
	expect(b, want, part);
}

static struct client *
client_of(struct bed *b)
{
	return tcpx_container(b->s.clients.next, struct client, node);
}

#define GOOD ""

static void
a_run_ends_what_the_one_before_has_posted(void **state)
{
	struct bed *b = *state;

	ask(b, "job", "{'op':'sendrecv','depth':64,'span':8192}", "job_ok", GOOD);
	ask(b, "case", "{'size':64,'descs':1,'seed':1}", "case_ok", GOOD);
	for (int i = 1; i <= 3; i++) {
		ask(b, "run", "{'iters':1000000000,'ring':64,'slot':0}", "ready", GOOD);
		assert_int_equal(posted, 64 * i);
		assert_int_equal(posted - freed, 64);
	}
	ask(b, "run", "{'iters':1000000000,'ring':0,'slot':0}", "error", "ring is 0");
	assert_int_equal(posted - freed, 0); /* nor does one that failed leave any */
}

/* Prepared lists of a latency run have one piece: more would not fit where they are put together. */
static void
a_latency_case_is_one_piece(void **state)
{
	struct bed *b = *state;

	ask(b, "job", "{'op':'write','lat':true,'depth':1,'span':8192}", "job_ok", GOOD);
	ask(b, "case", "{'size':64,'descs':2,'seed':1}", "error", "descs is 2, allowed is 1 to 1");
	ask(b, "job", "{'op':'write','depth':1,'span':1000000000}", "job_ok", GOOD);
	ask(b, "case", "{'size':2000000,'descs':1000001,'seed':1}", "error", "allowed is 1 to 1000000");
}

/* The layouts of an earlier job's case are gone. */
static void
each_job_needs_a_case_of_its_own(void **state)
{
	struct bed *b = *state;

	ask(b, "job", "{'op':'write','depth':1,'span':8192}", "job_ok", GOOD);
	ask(b, "case", "{'size':64,'descs':1,'seed':1}", "case_ok", GOOD);
	ask(b, "job", "{'op':'write','depth':1,'span':8192}", "job_ok", GOOD);
	ask(b, "verify", "{'chunk':0,'slot':0,'slots':1,'spoil':true}", "error", "before any case");
}

/* The server takes no address from the client, and waits for none of its own writes: more pings
 * come than its ring has slots. */
static void
pings_are_sent_back_over_the_session_that_brought_them(void **state)
{
	struct bed *b = *state;
	tcpx_note *note;
	size_t len;
	int came = 0;

	ask(b, "job", "{'op':'write','lat':true,'depth':1,'span':8192,'meta':'5443'}", "job_ok", GOOD);
	ask(b, "case", "{'size':64,'descs':1,'seed':1}", "case_ok", GOOD);
	ask(b, "run", "{'iters':1000,'ring':4,'slot':0}", "ready", GOOD);
	for (int i = 0; i < PINGS; i++)
		assert_int_equal(tcpx_notify(b->server, "P", 1), 0);
	while (came < PINGS) {
		turn(b);
		if (tcpx_note_wait(b->engine[1], 1, &note))
			continue;
		came += *(const char *)tcpx_note_data(note, &len) == 'P';
		tcpx_note_free(note);
	}
	assert_int_equal(client_of(b)->run.sent, PINGS);
	assert_int_equal(dialled, 0);
}

/* A post on a peer without a session would open one, at addresses of that peer's choice. */
static void
who_has_gone_is_told_nothing(void **state)
{
	struct bed *b = *state;
	struct client *g;

	ask(b, "mark", "{}", "marked", GOOD);
	g = client_of(b);
	say(b, "mark", "{}");
	say(b, "mark", "{}");
	mem_close(b->engine[1], &b->in);
	tcpx_close_wait(b->engine[1], 10000);
	b->engine[1] = NULL;
	while (client_is_here(g))
		;
	turn(b);
	assert_int_equal(said, 1);
	assert_int_equal(client_say(g, "marked", NULL), TCPX_EPEERGONE);
	assert_int_equal(said, 1);
}

/* Others have their turn while one's memory is filled. */
static void
long_work_is_done_in_steps(void **state)
{
	struct bed *b = *state;
	struct client *g;

	ask(b, "job", "{'op':'write','depth':4,'span':33554432}", "job_ok", GOOD);
	ask(b, "case", "{'size':16777216,'descs':1,'seed':1}", "case_ok", GOOD);
	g = client_of(b);
	say(b, "arm", "{'seed':1,'slot':0,'slots':4}");
	take(b);
	assert_int_equal(g->check.next, 0);
	assert_true(turn(b));
	assert_int_equal(g->check.next, 1);
	say(b, "run", "{'iters':1,'ring':4,'slot':0}");
	take(b);
	expect(b, "error", "before the end of what the one before");
	expect(b, "armed", GOOD);
	ask(b, "verify", "{'chunk':0,'slot':0,'slots':4}", "verdict", "nothing was written here");
}

static void
what_cannot_be_served_is_refused(void **state)
{
	struct bed *b = *state;

	ask(b, "job", "{'op':'write','depth':256,'span':17592186044416}", "error", "MiB are free here");
	ask(b, "job", "{'op':'write','depth':4,'span':8192}", "job_ok", GOOD);
	ask(b, "case", "{'size':64,'descs':1,'seed':1}", "case_ok", GOOD);
	ask(b, "raw", "{'conns':[1],'threads':2,'token':1,'slots':4}", "error", "threads is 2, allowed is 1 to 1");
}

static void
names_and_texts_of_clients_show(void **state)
{
	struct bed *b = *state;

	sender = "a\xc2\x9b" "31mb\xe2\x80\xae\xff";
	ask(b, "mark", "{}", "marked", GOOD);
	sender = NULL;
	assert_string_equal(client_of(b)->shown, "a?31mb??");
	ask(b, "job", "{'op':'\\u009b31m\\u202e'}", "error", "op is '?31m?'");
}

static void
their_mistakes_fill_no_disk(void **state)
{
	enum { MISTAKES = 1000 };
	FILE *said_there = tmpfile();
	int kept = dup(STDERR_FILENO), lines = 0, c;

	assert_non_null(said_there);
	assert_return_code(dup2(fileno(said_there), STDERR_FILENO), 0);
	tool_log_limit(true);
	for (int i = 0; i < MISTAKES; i++)
		tool_fail(TOOL_FINDING, "tcpx serve", "mistake %d", i);
	tool_log_limit(false);
	tool_fail(TOOL_FINDING, "tcpx serve", "ours");
	assert_return_code(dup2(kept, STDERR_FILENO), 0);
	close(kept);
	rewind(said_there);
	while ((c = fgetc(said_there)) != EOF)
		lines += c == '\n';
	fclose(said_there);
	if (lines < 2 || lines > MISTAKES / 2) /* ten a second */
		fail_msg("%d lines", lines);
}

/* Each line of a client that is right goes within a limit, too, and those that do not are
 * counted. */
static void
their_lines_fill_no_disk(void **state)
{
	enum { LINES = 1000 };
	struct serve s = { .quiet = false };
	FILE *printed = tmpfile();
	int kept = dup(STDOUT_FILENO), lines = 0;
	unsigned long long more = 0, ms;
	char line[256];

	fflush(stdout);
	assert_non_null(printed);
	tcpx_node_init(&s.clients);
	assert_return_code(dup2(fileno(printed), STDOUT_FILENO), 0);
	for (int i = 0; i < LINES; i++)
		serve_print(&s, "client %d\n", i);
	serve_fini(&s);
	assert_return_code(dup2(kept, STDOUT_FILENO), 0);
	close(kept);
	rewind(printed);
	while (fgets(line, sizeof(line), printed))
		if (sscanf(line, "%llu more lines about clients in %llu ms", &more, &ms) != 2)
			lines++;
	fclose(printed);
	assert_in_range(lines, LOG_AT_START, LINES / 2);
	assert_int_equal(lines + more, LINES);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(a_run_ends_what_the_one_before_has_posted),
		TEST(a_latency_case_is_one_piece),
		TEST(each_job_needs_a_case_of_its_own),
		TEST(pings_are_sent_back_over_the_session_that_brought_them),
		TEST(who_has_gone_is_told_nothing),
		TEST(long_work_is_done_in_steps),
		TEST(what_cannot_be_served_is_refused),
		TEST(names_and_texts_of_clients_show),
		cmocka_unit_test(their_mistakes_fill_no_disk),
		cmocka_unit_test(their_lines_fill_no_disk),
	};

	return cmocka_run_group_tests_name("tool/serve", tests, NULL, NULL);
}
