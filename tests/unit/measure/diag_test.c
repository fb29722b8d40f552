/* SPDX-License-Identifier: Apache-2.0 */
/* Figures in output of commands, which runs may be compared, and what they cost. */
#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "measure/diag/diag.h"
#include "../stdout_of.h"
#include "tool/tool.h"

static const char nccl[] =
	"# nThread 1 nGpus 1 minBytes 1048576 maxBytes 2097152 step: 2(factor) warmup iters: 5 "
	"iters: 20 agg iters: 1 validation: 1 graph: 0\n"
	"#\n# Using devices\n#  Rank  0 Group  0 Pid 12 on a device  0 [0x04] NVIDIA H100\n"
	"#       size         count      type   redop    root     time   algbw   busbw #wrong     "
	"time   algbw   busbw #wrong\n"
	"#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            "
	"(us)  (GB/s)  (GB/s)\n"
	"     1048576        262144     float     sum      -1    150.5    6.97   12.19      0    "
	"149.1    7.03   12.31      0\n"
	"     2097152        524288     float     sum      -1    200.0   10.49   18.35    N/A    "
	"201.0   10.43   18.26    N/A\n"
	"# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 15.2775 \n";

static const char notes[] =
	"[PERF] Mode: CLIENT\n[PERF] GPU: 3\n[PERF] Channels: 2\n[PERF] Size: 64 MB\n"
	"[PERF] Iterations: 20\n[PERF] Iter 0 time=21.5ms\n"
	"[PERF] Avg (20 iter): 21.391 ms, BW: 2.92 GB/s\n";

/* In pieces of @piece bytes. */
static void
read_pieces(struct diag_metrics *m, const char *text, size_t piece)
{
	size_t len = strlen(text);

	diag_metrics_init(m);
	for (size_t at = 0; at < len; at += piece)
		diag_metrics_feed(m, text + at, len - at < piece ? len - at : piece);
	diag_metrics_end(m);
}

TEST(the_table_of_nccl_tests)
{
	char mpirun[] = "mpirun", program[] = "/opt/all_reduce_perf", bytes[] = "-b";
	char *words[] = { mpirun, program, bytes, NULL };
	struct diag_metrics m;

	for (size_t piece = 1; piece < 200; piece += 7) {
		read_pieces(&m, nccl, piece);
		assert_int_equal(m.kind, DIAG_NCCL);
		assert_int_equal(m.n, 4);
		assert_int_equal(m.at[0].size, 1048576);
		assert_int_equal(m.at[0].iters, 20);
		assert_float_equal(m.at[0].time_us, 150.5, 1e-6);
		assert_float_equal(m.at[0].busbw_GBps, 12.19, 1e-6);
		assert_float_equal(m.at[0].wrong, 0, 0);
		assert_string_equal(m.at[0].label, "");
		assert_string_equal(m.at[1].label, "in-place");
		assert_float_equal(m.at[3].algbw_GBps, 10.43, 1e-6);
		assert_true(isnan(m.at[3].wrong));
		assert_float_equal(m.avg_busbw_GBps, 15.2775, 1e-6);
		diag_metrics_fini(&m);
	}
	diag_metrics_init(&m);
	diag_metrics_command(&m, words);
	assert_string_equal(m.operation, "all_reduce");
	diag_metrics_fini(&m);
}

TEST(tables_of_other_versions_and_tagged_lines)
{
	struct diag_metrics m;

	/* without a root; without the second half; behind mpirun's tag */
	read_pieces(&m, "  1024 256 float sum 10.1 0.10 0.19 0e+00 10.2 0.10 0.19 0e+00\n", 1000);
	assert_int_equal(m.n, 2);
	assert_float_equal(m.at[0].busbw_GBps, 0.19, 1e-6);
	diag_metrics_fini(&m);
	read_pieces(&m, "[1,0]<stdout>:  1024 256 float none -1 10.1 0.10 0.20 N/A\n", 1000);
	assert_int_equal(m.n, 1);
	assert_float_equal(m.at[0].busbw_GBps, 0.20, 1e-6);
	diag_metrics_fini(&m);
	read_pieces(&m, "[1,3]<stdout>:# Collective test starting: alltoall_perf\n", 1000);
	assert_string_equal(m.operation, "alltoall");
	diag_metrics_fini(&m);
}

TEST(lines_of_the_benchmark)
{
	struct diag_metrics m;

	read_pieces(&m, notes, 5);
	assert_int_equal(m.kind, DIAG_P2P);
	assert_int_equal(m.n, 1);
	assert_string_equal(m.at[0].label, "GPU 3");
	assert_int_equal(m.at[0].size, 64 << 20);
	assert_int_equal(m.at[0].iters, 20);
	assert_float_equal(m.at[0].time_us, 21391, 1e-6);
	assert_float_equal(m.at[0].busbw_GBps, 2.92, 1e-6);
	diag_metrics_fini(&m);
	/* of several GPUs, as the script for all of them prints; and the other form */
	read_pieces(&m, "GPU 0: [PERF] Avg (20 iter): 21 ms, BW: 3 GB/s\n"
		    "GPU 1: [PERF] Avg (20 iter): 22 ms, BW: 2.9 GB/s\nGPU 2: no figure, see x\n", 9);
	assert_int_equal(m.n, 2);
	assert_string_equal(m.at[1].label, "GPU 1");
	diag_metrics_fini(&m);
	read_pieces(&m, "Total time: 21.5 ms\nBandwidth: 3.12 GB/s\nBandwidth: 9 GB/s\n", 100);
	assert_int_equal(m.n, 1);
	assert_float_equal(m.at[0].time_us, 21500, 1e-6);
	diag_metrics_fini(&m);
}

TEST(tables_of_tcpx_perf)
{
	struct diag_metrics m;

	read_pieces(&m, "# tcpx 0.1.0, 2025-01-31T12:00:00Z\n# a to a by lo; provider sock\n"
		    "#    size   iters     time   GB/s  Gbit/s      p50      p99    p99.9  wrong\n"
		    "       8M    1000  2.00 ms   4.19    33.5  2.00 ms  2.10 ms  2.20 ms      0\n"
		    "    8000K 1000000  63.6 \u00b5s   1.03    8.23  36.5 \u00b5s                        3\n",
		    11);
	assert_int_equal(m.n, 2);
	assert_int_equal(m.at[1].size, 8192000);
	assert_int_equal(m.at[1].iters, 1000000);
	assert_float_equal(m.at[1].time_us, 63.6, 1e-6);
	assert_float_equal(m.at[1].wrong, 3, 1e-6);
	m.n = 1;
	assert_int_equal(m.kind, DIAG_P2P);
	assert_int_equal(m.n, 1);
	assert_int_equal(m.at[0].size, 8388608);
	assert_float_equal(m.at[0].busbw_GBps, 4.19, 1e-6);
	diag_metrics_fini(&m);
	read_pieces(&m, "# tcpx 0.1.0 on a: x\n  64 64 uint8 none -1 10 1 2 0 10 1 2 0\n", 100);
	assert_int_equal(m.kind, DIAG_P2P); /* who says the other's table, by its first line */
	assert_int_equal(m.n, 1);
	diag_metrics_fini(&m);
	read_pieces(&m, "# tcpx 0.1.0\n"
		    "#    size   iters      min      p50      p99  raw p50  ratio  wrong\n"
		    "       64    1000   5.0 \u00b5s   6.5 \u00b5s   7.0 \u00b5s   8.0 \u00b5s  0.980      0\n", 100);
	assert_int_equal(m.n, 1);
	assert_int_equal(m.at[0].iters, 1000);
	assert_float_equal(m.at[0].time_us, 6.5, 1e-6);
	assert_true(isnan(m.at[0].busbw_GBps));
	diag_metrics_fini(&m);
}

TEST(what_is_no_figure)
{
	static const char *const texts[] = {
		"", "\n\n", "hello\n", "1\n", "1 2 3 4 5 6 7 8 9\n",
		"1048576 262144 float sum -1 nan 6 12 0 1 2 3 4\n",
		"1048576 262144 float sum -1 inf 6 12 0\n",
		"-1 262144 float sum -1 1 6 12 0\n", "99999999999999999999999 1 float sum -1 1 2 3 0\n",
		"[PERF] Avg (x iter): 1 ms, BW: 2 GB/s\n", "[PERF] Avg (20 iter): x ms, BW: 2 GB/s\n",
		"[PERF] Avg (20 iter): 1 ms, BW: nan GB/s\n", "[PERF] Avg (\n", "[PERF]\n",
		"Bandwidth: 3 GB/s\n", "[1,0]<std\n", "# tcpx\n", "12 (no table) 1 2 3 4 5 6 7\n",
	};
	struct diag_metrics m;
	char long_line[3 * DIAG_LINE];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		read_pieces(&m, texts[i], 1000);
		if (m.n)
			fail_msg("a figure in: %s", texts[i]);
		diag_metrics_fini(&m);
	}
	memset(long_line, '7', sizeof(long_line));
	long_line[sizeof(long_line) - 1] = '\0';
	read_pieces(&m, long_line, 1000);
	assert_int_equal(m.n, 0);
	diag_metrics_fini(&m);
}

/* ---- side by side ----------------------------------------------------------------- */

static json_t *
run_of(const char *operation, int code, const char *points)
{
	char text[1024];
	json_t *json;

	snprintf(text, sizeof(text), "{\"exit_code\": %d, \"metrics\": {\"operation\": %s, "
		 "\"points\": [%s]}}", code, operation, points);
	json = json_loads(text, 0, NULL);
	assert_non_null(json);
	return json;
}

#define POINT(size, iters, wrong)                                                          \
	"{\"label\": \"\", \"size\": " size ", \"iters\": " iters ", \"busbw_GBps\": 1, "    \
	"\"wrong\": " wrong "}"

TEST(only_like_is_compared_with_like)
{
	static const struct {
		const char *a_op;
		int a_code;
		const char *a;
		const char *b_op;
		const char *b;
		const char *why; /* a part of it; NULL: comparable */
	} rows[] = {
		{ "\"p2p\"", 0, POINT("64", "20", "0"), "\"p2p\"", POINT("64", "20", "null"), NULL },
		{ "\"p2p\"", 0, POINT("64", "null", "0"), "\"p2p\"", POINT("64", "null", "0"), NULL },
		{ "\"sendrecv\"", 0, POINT("64", "20", "0"), "\"p2p\"", POINT("64", "20", "0"), NULL },
		{ "null", 0, POINT("64", "20", "0"), "\"p2p\"", POINT("64", "20", "0"), NULL },
		{ "\"p2p\"", 0, POINT("32", "20", "0") "," POINT("64", "20", "0"), "\"p2p\"",
		  POINT("64", "20", "0"), NULL },
		{ "\"all_reduce\"", 0, POINT("64", "20", "0"), "\"p2p\"", POINT("64", "20", "0"),
		  "collective" },
		{ "\"p2p\"", 0, POINT("64", "20", "0"), "\"p2p\"", POINT("128", "20", "0"), "size" },
		{ "\"p2p\"", 0, POINT("64", "20", "0"), "\"p2p\"", POINT("64", "10", "0"),
		  "iterations differ" },
		{ "\"p2p\"", 0, POINT("64", "20", "0"), "\"p2p\"", POINT("64", "null", "0"),
		  "iterations differ" },
		{ "\"p2p\"", 7, POINT("64", "20", "0"), "\"p2p\"", POINT("64", "20", "0"),
		  "exit code 7" },
		{ "\"p2p\"", 0, "", "\"p2p\"", POINT("64", "20", "0"), "A printed no figures" },
		{ "\"p2p\"", 0, POINT("64", "20", "0"), "\"p2p\"", POINT("64", "20", "5"),
		  "B moved wrong data" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *a = run_of(rows[i].a_op, rows[i].a_code, rows[i].a);
		json_t *b = run_of(rows[i].b_op, 0, rows[i].b);
		char why[256];

		diag_match(a, b, why, sizeof(why));
		if (rows[i].why ? !strstr(why, rows[i].why) : *why != '\0')
			fail_msg("row %zu: '%s'", i, why);
		json_decref(a);
		json_decref(b);
	}
}

/* Makes a diag.json that is comparable; its name goes to @path. */
static void
put_run(char *path, const char *more)
{
	int fd = mkstemp(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	assert_non_null(f);
	fprintf(f, "{\"schema\": %d, \"exit_code\": 0, \"metrics\": {\"operation\": \"p2p\", "
		"\"points\": [" POINT("64", "20", "0") "]}, %s}", DIAG_SCHEMA, more);
	assert_int_equal(fclose(f), 0);
}

/* busy has two NICs that both send and receive, idle has none. */
static const char busy[] =
	"\"seconds\": 2.5, \"nics\": [{\"name\": \"eth0\", \"tx_bytes\": 3000000000, "
	"\"rx_bytes\": 1000000000, \"irqs\": 700, \"irqs_on_node\": 600}, "
	"{\"name\": \"eth1\", \"tx_bytes\": 500000000, \"rx_bytes\": 3500000000, "
	"\"irqs\": 100, \"irqs_on_node\": 0}], "
	"\"usage\": {\"user_s\": 1, \"system_s\": 3, \"voluntary\": 10, \"involuntary\": 30}, "
	"\"cpus\": [{\"softirq_s\": 0.5, \"busy\": 0.75}, "
	"{\"softirq_s\": 1.5, \"busy\": 0.25}]";
static const char idle[] =
	"\"seconds\": 1, \"nics\": [], \"usage\": {\"user_s\": 4}, \"cpus\": []";

static const struct {
	const char *name, *a, *b, *unit;
	const char *of_gb; /* of A, for each GB; NULL: no such line */
} costs[] = {
	{ "duration", "2.50", "1.00", "  s", NULL },
	{ "moved by NICs, both ways", "8.00", "0", "  GB", NULL },
	{ "interrupts of NICs", "800", "0", "", "100" },
	{ "of them on the NIC's node", "75.0", "-", "  %", NULL },
	{ "CPU time of the command", "4.00", "4.00", "  s", "0.500" },
	{ "softirq time of all CPUs", "2.00", "0", "  s", "0.250" },
	{ "context switches of the command", "40.0", "0", "", "5.00" },
	{ "busiest CPU", "75.0", "0", "  %", NULL },
};

TEST(costs_are_of_all_nics_and_cpus)
{
	char verb[] = "compare", a[] = "/tmp/tcpx-diag-XXXXXX", b[] = "/tmp/tcpx-diag-XXXXXX";
	char *words[] = { verb, a, b, NULL }, *text;
	int code;

	put_run(a, busy);
	put_run(b, idle);
	text = stdout_of(diag_compare, 3, words, &code);
	unlink(a);
	unlink(b);
	assert_int_equal(code, TOOL_OK);
	for (size_t i = 0; i < ARRAY_LEN(costs); i++) {
		char want[256];
		int len = snprintf(want, sizeof(want), "\n%-40s %14s %14s%s\n", costs[i].name,
				   costs[i].a, costs[i].b, costs[i].unit);

		if (costs[i].of_gb)
			snprintf(want + len, sizeof(want) - (size_t)len, "%-40s %14s %14s%s\n",
				 "  by GB", costs[i].of_gb, "-", costs[i].unit);
		if (!strstr(text, want))
			fail_msg("no \"%s\" in:\n%s", want, text);
	}
	free(text);
}

/* eth0 loses its place to eth2, which is new, and its driver is loaded anew: rx_bytes falls. */
TEST(counters_rise_from_what_they_were_or_from_zero)
{
	static const struct { const char *nic, *counter; uint64_t rise; } rises[] = {
		{ "eth0", "tx_bytes", 60 }, { "eth0", "rx_bytes", 20 }, { "eth0", "drops", 0 },
		{ "eth1", "tx_bytes", 0 },  { "eth2", "tx_bytes", 7 },  { "eth3", "tx_bytes", 0 },
		{ "eth0", "gone", 0 },
	};
	struct tcpx_host_nic nic[] = { { .ifname = "eth0" }, { .ifname = "eth1" },
				       { .ifname = "eth2" } };
	struct tcpx_topo_nic was[] = { { .nic = &nic[0] }, { .nic = &nic[1] } };
	struct tcpx_topo_nic is[] = { { .nic = &nic[2] }, { .nic = &nic[0] },
				      { .nic = &nic[1] } };
	struct tcpx_nicstat old0[] = { { "tx_bytes", false, 100 }, { "rx_bytes", false, 50 },
				       { "gone", true, 9 } };
	struct tcpx_nicstat new0[] = { { "rx_bytes", false, 20 }, { "tx_bytes", false, 160 } };
	struct tcpx_nicstat same1[] = { { "tx_bytes", false, 5 } };
	struct tcpx_nicstat new2[] = { { "tx_bytes", false, 7 } };
	struct diag_stats before[] = { { old0, 3, NULL }, { same1, 1, NULL } };
	struct diag_stats after[] = { { new2, 1, NULL }, { new0, 2, NULL },
				      { same1, 1, NULL } };
	struct tcpx_topo *topo = calloc(2, sizeof(*topo));
	struct diag *d = calloc(1, sizeof(*d));

	assert_true(topo && d);
	topo[0].nics = was;
	topo[0].nic_count = ARRAY_LEN(was);
	topo[1].nics = is;
	topo[1].nic_count = ARRAY_LEN(is);
	d->before = (struct diag_side){ .topo = &topo[0], .stats = before };
	d->after = (struct diag_side){ .topo = &topo[1], .stats = after };
	for (size_t i = 0; i < ARRAY_LEN(rises); i++)
		if (diag_rise(d, rises[i].nic, rises[i].counter) != rises[i].rise)
			fail_msg("%s %s rose by %ju", rises[i].nic, rises[i].counter,
				 (uintmax_t)diag_rise(d, rises[i].nic, rises[i].counter));
	assert_true(diag_is_shown(d, &is[1]));
	assert_false(diag_is_shown(d, &is[2])); /* no device, and it moved nothing */
	free(topo);
	free(d);
}
