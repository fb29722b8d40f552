/* SPDX-License-Identifier: Apache-2.0 */
/* Words and variables become a run, or exit code 2; the command line beats the variables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "compat.h"

static const struct program multi = {
	.name = "multi", .tag = "PERF", .about = "", .port = 20000, .port_by_gpu = true,
	.size = 4 << 20, .chunk = 512 << 10, .iters = 10, .channels = 2, .gpu_word = true,
};
static const struct program single = {
	.name = "single", .tag = "PERF", .about = "", .port = 12347, .size = 4 << 20,
	.chunk = 512 << 10, .iters = 10, .channels = 1,
};
static const struct program text = {
	.name = "text", .tag = "TCPX", .about = "", .port = 12345, .size = 4096,
	.chunk = 512 << 10, .iters = 1, .channels = 1, .text = "Hello from TCPX client!",
};

/* "NAME=value" between blanks. */
static const char *
env_of(void *arg, const char *name)
{
	static char value[64];
	const char *at = arg;
	size_t len = strlen(name);

	while ((at = strstr(at, name))) {
		if (at[len] == '=') {
			snprintf(value, sizeof(value), "%.*s", (int)strcspn(at + len + 1, " "),
				 at + len + 1);
			return value;
		}
		at++;
	}
	return NULL;
}

static int
parse(const struct program *p, const char *line, const char *env, struct run *r)
{
	static char words[256];
	char *argv[32] = { (char *)p->name };
	int argc = 1, rc, old[2] = { dup(STDOUT_FILENO), dup(STDERR_FILENO) };
	FILE *nowhere = tmpfile();

	snprintf(words, sizeof(words), "%s", line);
	for (char *w = strtok(words, " "); w && argc < 31; w = strtok(NULL, " "))
		argv[argc++] = w;
	fflush(stdout);
	dup2(fileno(nowhere), STDOUT_FILENO);
	dup2(fileno(nowhere), STDERR_FILENO);
	rc = run_parse(p, argc, argv, env_of, (void *)env, r);
	fflush(stdout);
	dup2(old[0], STDOUT_FILENO);
	dup2(old[1], STDERR_FILENO);
	close(old[0]);
	close(old[1]);
	fclose(nowhere);
	return rc;
}

static const struct {
	const struct program *p;
	const char *line, *env;
	uint64_t port, size, chunk, iters, channels, gpus, last;
} cases[] = {
	{ &multi, "server 3", "", 20000, 4 << 20, 512 << 10, 10, 2, 1, 3 },
	{ &multi, "client 10.0.0.1", "", 20000, 4 << 20, 512 << 10, 10, 2, 1, 0 },
	{ &multi, "client 10.0.0.1 7", "", 20000, 4 << 20, 512 << 10, 10, 2, 1, 7 },
	{ &multi, "server 0-7", "", 20000, 4 << 20, 512 << 10, 10, 2, 8, 7 },
	{ &multi, "server 0,2,5-6", "", 20000, 4 << 20, 512 << 10, 10, 2, 4, 6 },
	{ &multi, "server 0", "UCCL_TCPX_PERF_SIZE=67108864 UCCL_TCPX_PERF_ITERS=20"
	  " UCCL_TCPX_CHUNK_BYTES=1048576 UCCL_TCPX_NUM_CHANNELS=4"
	  " UCCL_TCPX_BOOTSTRAP_PORT_BASE=30000", 30000, 64 << 20, 1 << 20, 20, 4, 1, 0 },
	{ &multi, "server 0 --size 1M --iters 3 --port 40000 --channels 8", "UCCL_TCPX_PERF_SIZE=5"
	  " UCCL_TCPX_PERF_ITERS=6 UCCL_TCPX_BOOTSTRAP_PORT=7", 40000, 1 << 20, 512 << 10, 3, 8,
	  1, 0 },
	{ &multi, "server 0", "NCCL_P2P_NET_CHUNKSIZE=262144", 20000, 4 << 20, 256 << 10, 10, 2,
	  1, 0 },
	{ &multi, "server 0", "UCCL_TCPX_LOCAL_DEVICE=5", 20000, 4 << 20, 512 << 10, 10, 2, 1, 0 },
	{ &multi, "client h", "UCCL_TCPX_DEVICE_IDX=5", 20000, 4 << 20, 512 << 10, 10, 2, 1, 5 },
	{ &single, "server 1", "UCCL_TCPX_BOOTSTRAP_PORT=4000", 4000, 4 << 20, 512 << 10, 10, 1,
	  1, 1 },
	{ &text, "server", "UCCL_TCPX_PAYLOAD_BYTES=64", 12345, 64, 512 << 10, 1, 1, 1, 0 },
};

static const struct {
	const struct program *p;
	const char *line, *env;
} refused[] = {
	{ &text, "server", "UCCL_TCPX_PAYLOAD_BYTES=10" },
	{ &single, "server 0-1", "" },
	{ &multi, "", "" },
	{ &multi, "both", "" },
	{ &multi, "client", "" },
	{ &multi, "client ip 0 more", "" },
	{ &multi, "server 0 1", "" },
	{ &multi, "server x", "" },
	{ &multi, "server 3-1", "" },
	{ &multi, "server 0,", "" },
	{ &multi, "server 5000", "" },
	{ &multi, "server 0 --fast", "" },
	{ &multi, "server 0 --size 257M", "" },
	{ &multi, "server 0 --size 4Q", "" },
	{ &multi, "server 0 --size -1", "" },
	{ &multi, "server 0 --size", "" },
	{ &multi, "server 7 --port 65530", "" },
	{ &multi, "server 0", "UCCL_TCPX_PERF_ITERS=ten" },
};

static void
words_and_variables(void **state)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct run r = { 0 };

		print_message("# %s | %s\n", cases[i].line, cases[i].env);
		assert_int_equal(parse(cases[i].p, cases[i].line, cases[i].env, &r), 0);
		assert_int_equal(r.port, cases[i].port);
		assert_int_equal(r.size, cases[i].size);
		assert_int_equal(r.chunk, cases[i].chunk);
		assert_int_equal(r.iters, cases[i].iters);
		assert_int_equal(r.channels, cases[i].channels);
		assert_int_equal(r.gpus, cases[i].gpus);
		assert_int_equal(r.gpu[r.gpus - 1], cases[i].last);
	}
}

static void
what_is_refused(void **state)
{
	struct run r = { 0 };

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		print_message("# %s | %s\n", refused[i].line, refused[i].env);
		assert_int_equal(parse(refused[i].p, refused[i].line, refused[i].env, &r), EXIT_USAGE);
	}
	assert_int_equal(parse(&multi, "--help", "", &r), -1);
}

static void
switches(void **state)
{
	struct run r = { 0 };

	assert_int_equal(parse(&multi, "server 0", "", &r), 0);
	assert_true(r.server && r.warm_up && !r.verbose && !r.host_only);
	assert_int_equal(r.sends, 12);
	assert_int_equal(r.receives, 16);
	assert_int_equal(parse(&multi, "client h 0 --skip-warmup --verbose --host-recv --window 3",
			       "UCCL_TCPX_MAX_SEND_INFLIGHT=5", &r), 0);
	assert_true(!r.server && !r.warm_up && r.verbose && r.host_only);
	assert_int_equal(r.sends, 3);
	assert_int_equal(parse(&multi, "client h 0", "UCCL_TCPX_MAX_SEND_INFLIGHT=5"
			       " UCCL_TCPX_WINDOW_SIZE=9 UCCL_TCPX_VERBOSE=1"
			       " UCCL_TCPX_HOST_RECV_DEBUG=1 UCCL_TCPX_SKIP_WARMUP=0", &r), 0);
	assert_true(r.warm_up && r.verbose && r.host_only);
	assert_int_equal(r.sends, 5);
	assert_int_equal(r.receives, 9);
}

static void
scores_of_paths(void **state)
{
	static const char gpu[] = "/pci0000:00/0000:00:01.0/0000:01:00.0";

	assert_int_equal(path_score(gpu, gpu), 300);
	assert_int_equal(path_score(gpu, "/pci0000:00/0000:00:01.0/0000:01:00.1"), 198);
	assert_int_equal(path_score(gpu, "/pci0000:00/0000:00:01"), 97);
	assert_int_equal(path_score(gpu, "/pci0000:80"), -4);
	assert_int_equal(path_score("", gpu), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_and_variables),
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(switches),
		cmocka_unit_test(scores_of_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
