/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server that says "ready" and receives nothing: the client names the message that is stuck,
 * and ends.
 */
#include <setjmp.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "compat.h"

static const struct program program = {
	.name = "stuck", .tag = "PERF", .about = "", .size = 1 << 20, .chunk = 256 << 10,
	.iters = 1, .channels = 1,
};

/* Says what a server says, up to its "ready". */
static void *
serve(void *arg)
{
	tcpx_engine *engine = arg;
	tcpx_peer *peer = NULL;
	tcpx_note *note;
	int heard = 0;

	while (!tcpx_note_wait(engine, 20000, &note)) {
		size_t len;
		const char *text = tcpx_note_data(note, &len);
		char answer[32];

		if (!peer && tcpx_peer_find(engine, tcpx_note_sender(note), &peer))
			peer = NULL;
		if (peer && len > 5 && !strncmp(text, "time ", 5)) {
			snprintf(answer, sizeof(answer), "heard %d", heard++);
			if (tcpx_notify(peer, answer, strlen(answer)) ||
			    (heard == 6 && tcpx_notify(peer, "ready 0", 7)))
				heard = 0;
		}
		tcpx_note_free(note);
		if (heard == 6)
			break;
	}
	if (peer)
		tcpx_peer_drop(peer);
	return NULL;
}

static void
a_stuck_message_is_named(void **state)
{
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	char log[] = "/tmp/tcpx-stuck-XXXXXX", port[8], text[4096] = "";
	char *argv[] = { (char *)"stuck", (char *)"client", (char *)"127.0.0.1", (char *)"--port",
			 port, (char *)"--timeout", (char *)"1", (char *)"--skip-warmup",
			 (char *)"--host-recv", (char *)"--log", log, NULL };
	tcpx_engine *engine;
	pthread_t thread;
	FILE *f;

	close(mkstemp(log));
	opts.listen = "0";
	assert_int_equal(tcpx_open(&opts, &engine), 0);
	snprintf(port, sizeof(port), "%u", tcpx_port(engine));
	assert_int_equal(pthread_create(&thread, NULL, serve, engine), 0);
	assert_int_equal(run_main(&program, 11, argv), EXIT_FINDING);
	pthread_join(thread, NULL);
	tcpx_close(engine);

	f = fopen(log, "r");
	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	unlink(log);
	if (!strstr(text, "[ERROR] Send timeout at iteration 0 chunk=0\n"))
		fail_msg("%s", text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stuck_message_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
