/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines become sizes and settings, or are refused with the exit code for usage.
 */
#include "cases.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/perf/args.h"
#include "tool/tool.h"

/* Parses words between blanks; what is said on stderr goes nowhere. */
static int
parse(struct perf_args *a, const char *line)
{
	static char text[256];
	char *argv[32] = { (char *)"perf" };
	int argc = 1, old = dup(STDERR_FILENO), rc;
	FILE *nowhere = tmpfile();

	snprintf(text, sizeof(text), "%s", line);
	for (char *w = strtok(text, " "); w && argc < 31; w = strtok(NULL, " "))
		argv[argc++] = w;
	dup2(fileno(nowhere), STDERR_FILENO);
	rc = perf_args_parse(a, argc, argv);
	dup2(old, STDERR_FILENO);
	close(old);
	fclose(nowhere);
	return rc;
}

static const struct {
	const char *line;
	size_t count;
	uint64_t first, last, descs;
} good[] = {
	{ "--self", 7, 64 << 10, 256 << 20, 1 },
	{ "host", 7, 64 << 10, 256 << 20, 1 },
	{ "--self --lat", 1, 64, 64, 1 },
	{ "--self -b 1M", 1, 1 << 20, 1 << 20, 1 },
	{ "--self -e 4K", 1, 4096, 4096, 1 },
	{ "--self -b 1K -e 8K -f 2", 4, 1024, 8192, 1 },
	{ "--self -b 1K -e 8K --step 3K", 3, 1024, 7168, 1 },
	{ "--self -b 0 -e 16 -f 4", 4, 0, 16, 1 },
	{ "--self --kv 40000x8K", 1, 327680000, 327680000, 40000 },
	{ "--self --descs 1024 -b 1K", 1, 1024, 1024, 1024 },
};

TEST(sizes_follow_from_the_options)
{
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		uint64_t sizes[PERF_SIZES];
		struct perf_args a;
		size_t n;

		if (parse(&a, good[i].line) != TOOL_OK)
			fail_msg("\"%s\" was refused", good[i].line);
		n = perf_args_sizes(&a, sizes);
		if (n != good[i].count || sizes[0] != good[i].first ||
		    sizes[n - 1] != good[i].last || a.descs != good[i].descs)
			fail_msg("\"%s\": %zu sizes, %llu to %llu, %llu pieces", good[i].line, n,
				 (unsigned long long)sizes[0], (unsigned long long)sizes[n - 1],
				 (unsigned long long)a.descs);
	}
}

static const char *const bad[] = {
	"",
	"--self --each",
	"--self --each -n 2 --depth 2",
	"--self --each -n 2 --lat",
	"--self --text x",
	"--self --each -n 2 --op read --text x",
	"--self --each -n 2 -b 1 --text x",
	"--mesh --ranks 2 --events f",
	"--self --provider nothing",
	"--self --json - --events -",
	"--mesh",
	"--mesh --from-env --ranks 2",
	"--mesh --ranks 1",
	"--mesh --ranks 2 host",
	"--mesh --ranks 2 --self",
	"--mesh --ranks 2 --lat",
	"--mesh --ranks 2 --baseline",
	"--mesh --ranks 2 --format csv",
	"--mesh --ranks 2 -b 1M -e 2M",
	"--mesh --ranks 2 --rendezvous h",
	"--mesh --from-env --rendezvous h:0",
	"--self --from-env",
	"--self --all-at-once",
	"--self --mem cuda:local",
	"--peer-blob file host",
	"--self host",
	"host other",
	"--peer-nics eth0 host",
	"--self --op erase",
	"--self --dir both",
	"--self -b 2M -e 1M",
	"--self -b -1",
	"--self -f 1",
	"--self -n 0",
	"--self -c 2",
	"--self --depth 0",
	"--self --depth 257",
	"--self --descs 10 -b 4",
	"--self --kv 10",
	"--self --kv x8K",
	"--self --kv 0x8K",
	"--self --kv 10x0",
	"--self --chunk 1",
	"--self --channels none",
	"--self --window 0",
	"--self --dist fair",
	"--self --format xml",
	"--self --json - --format csv",
	"--self --lat --dir bi",
	"--self --lat --descs 2",
	"--self --lat -b 0",
	"--self --baseline -b 0",
	"--self -b 1 -e 1000 --step 1",
	"--self -i 0",
	"--self -i 17K",
	"--self --bogus",
	"--self --mem gpu",
	"--self --mem cuda:x",
	"--self --peer-mem cuda:0-16",
	"--self --mem cuda:0-3 --depth 2",
	"--self --mem cuda:0-1 --lat",
	"--self --unpack gpu",
	"--self --zerocopy maybe",
	"--self --spoil -c 0",
};

TEST(what_makes_no_sense_is_refused)
{
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct perf_args a;
		int rc = parse(&a, bad[i]);

		if (rc != TOOL_USAGE)
			fail_msg("\"%s\": code %d, want %d", bad[i], rc, TOOL_USAGE);
	}
}

TEST(engine_options_become_settings)
{
	struct perf_args a;

	assert_int_equal(parse(&a, "--self --channels 4/nic --chunk 256K --dist rr"), TOOL_OK);
	assert_int_equal(a.setting_count, 4);
	assert_string_equal(a.settings[0], "TCPX_CHANNELS=4/nic");
	assert_string_equal(a.settings[1], "TCPX_CHUNK=256K");
	assert_string_equal(a.settings[2], "TCPX_DIST=rr");
	assert_string_equal(a.settings[3], "TCPX_CTRL="); /* over the loopback alone */
	assert_int_equal(parse(&a, "--self --ctrl eth0"), TOOL_OK);
	assert_int_equal(a.setting_count, 1);
	assert_string_equal(a.settings[0], "TCPX_CTRL=eth0");
	assert_int_equal(parse(&a, "host --ctrl eth0"), TOOL_OK);
	assert_int_equal(a.setting_count, 1);
}

static const struct {
	const char *line;
	unsigned gpus;
	uint64_t depth;
} places[] = {
	{ "--self", 0, 1 },
	{ "--self --mem cuda", 1, 1 },
	{ "--self --mem cuda:1 --lat", 1, 1 },
	{ "--self --mem cuda:0-3", 4, 4 },
	{ "--self --mem host --peer-mem cuda:0,1", 0, 2 },
	{ "--self --mem cuda:0-1 --depth 8", 2, 8 },
	{ "--self --mem cuda:0-1 --kv 10x8K", 2, 2 },
};

TEST(several_gpus_have_transfers_in_flight_each)
{
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		struct perf_args a;

		if (parse(&a, places[i].line) != TOOL_OK)
			fail_msg("\"%s\" was refused", places[i].line);
		if (a.mem.gpus != places[i].gpus || a.depth != places[i].depth)
			fail_msg("\"%s\": %u GPUs, depth %llu", places[i].line, a.mem.gpus,
				 (unsigned long long)a.depth);
	}
}
