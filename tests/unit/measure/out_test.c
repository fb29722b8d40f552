/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One record in every format, as whole texts: columns are an interface.
 */
#include "cases.h"

#include <stdio.h>

#include "base/log.h"
#include "result_sample.h"
#include "tcpx/err.h"
#include "measure/report/out.h"
#include "measure/report/out_bound.h"
#include "tool/out_text.h"
#include "measure/report/out_verdict.h"
#include "measure/report/result.h"
#include "tool/tool.h"

static const char table[] =
	"# tcpx 0.1.0, 2025-01-31T12:00:00Z\n"
	"# alpha to beta:28515 by eth0 (100 Gbit/s), eth1; provider sock\n"
	"# 8 x A CPU, Linux 6.1.0 x86_64\n"
	"# GPU cuda:1 of the server: A GPU, 0000:65:00.0, 161 GB\n"
	"# copied to and from GPUs by: d2d here, kernel there\n"
	"# sides: CPU 0 and CPU 1\n"
	"# note: made up\n"
	"#    size   iters     time   GB/s  raw GB/s  ratio          95 %  %path  wrong\n"
	"      64M      20  12.8 ms   5.25      5.50  0.970  0.940..1.000   10.5      0\n"
	"#\n"
	"# 64 MiB write from host to cuda:1 at 5.25 GB/s over 2 NICs, no difference to\n"
	"# raw sockets shown (0.970, 0.940 to 1.00), 10.5 % of what the GPUs' own copies\n"
	"# carry. Raw sockets split evenly over NICs, so the slowest decides.\n"
	"# eth0 75.0 %, eth1 25.0 %, 1 retransmit\n"
	"# Verified: all 1.34 GB arrived as sent.\n";

static const char table_120[] =
	"# tcpx 0.1.0, 2025-01-31T12:00:00Z\n"
	"# alpha to beta:28515 by eth0 (100 Gbit/s), eth1; provider sock\n"
	"# 8 x A CPU, Linux 6.1.0 x86_64\n"
	"# GPU cuda:1 of the server: A GPU, 0000:65:00.0, 161 GB\n"
	"# copied to and from GPUs by: d2d here, kernel there\n"
	"# sides: CPU 0 and CPU 1\n"
	"# note: made up\n"
	"#    size   iters     time   GB/s  Gbit/s     1/s      p50  CPU s/GB  raw GB/s  ratio          95 %  %path  wrong\n"
	"      64M      20  12.8 ms   5.25    42.0    78.2  12.8 ms     0.350      5.50  0.970  0.940..1.000   10.5      0\n"
	"#\n"
	"# 64 MiB write from host to cuda:1 at 5.25 GB/s over 2 NICs, no difference to\n"
	"# raw sockets shown (0.970, 0.940 to 1.00), 10.5 % of what the GPUs' own copies\n"
	"# carry. Raw sockets split evenly over NICs, so the slowest decides.\n"
	"# eth0 75.0 %, eth1 25.0 %, 1 retransmit\n"
	"# Verified: all 1.34 GB arrived as sent.\n";

static const char table_wide[] =
	"# tcpx 0.1.0, 2025-01-31T12:00:00Z\n"
	"# alpha to beta:28515 by eth0 (100 Gbit/s), eth1; provider sock\n"
	"# 8 x A CPU, Linux 6.1.0 x86_64\n"
	"# GPU cuda:1 of the server: A GPU, 0000:65:00.0, 161 GB\n"
	"# copied to and from GPUs by: d2d here, kernel there\n"
	"# sides: CPU 0 and CPU 1\n"
	"# note: made up\n"
	"#    size   iters     time   GB/s  Gbit/s     1/s      p50  CPU s/GB  raw GB/s  ratio          95 %  %path  wrong\n"
	"      64M      20  12.8 ms   5.25    42.0    78.2  12.8 ms     0.350      5.50  0.970  0.940..1.000   10.5      0\n"
	"#\n"
	"# 64 MiB write from host to cuda:1 at 5.25 GB/s over 2 NICs, no difference to\n"
	"# raw sockets shown (0.970, 0.940 to 1.00), 10.5 % of what the GPUs' own copies\n"
	"# carry. Raw sockets split evenly over NICs, so the slowest decides.\n"
	"# eth0 75.0 %, eth1 25.0 %, 1 retransmit\n"
	"# Verified: all 1.34 GB arrived as sent.\n";

static const char table_verbose[] =
	"# tcpx 0.1.0, 2025-01-31T12:00:00Z\n"
	"# alpha to beta:28515 by eth0 (100 Gbit/s), eth1; provider sock\n"
	"# 8 x A CPU, Linux 6.1.0 x86_64\n"
	"# NIC eth0 10.0.0.1, 100 Gbit/s, NUMA node 0\n"
	"# NIC eth1 10.1.0.1\n"
	"# GPU cuda:1 of the server: A GPU, 0000:65:00.0, 161 GB\n"
	"# copied to and from GPUs by: d2d here, kernel there\n"
	"# sides: CPU 0 and CPU 1\n"
	"# note: made up\n"
	"#    size   iters     time   GB/s  raw GB/s  ratio          95 %  %path  wrong\n"
	"      64M      20  12.8 ms   5.25      5.50  0.970  0.940..1.000   10.5      0\n"
	"#\n"
	"# 2 NICs, 2 channels of 16 slots, chunk 512 KiB, pull\n"
	"#   eth0 -> ens1   1.01 GB   75.0 %  ###############.....  0 retransmits\n"
	"#   eth1 -> ens2    336 MB   25.0 %  #####...............  1 retransmit\n"
	"#   a chunk's time on its channel: wire 90 µs, unpack 40 µs, ack 70 µs\n"
	"#   the GPUs' own copies: 50.0 GB/s a direction (45.0 by copies of 1 MiB)\n"
	"#   zero-copy: splice, 50.0 % of the payload\n"
	"#   cost: 1234 context switches, 0.350 CPU s/GB (raw sockets 0.300)\n"
	"#   in flight: 7.50 messages a channel, at most 16\n"
	"#   thread tcpx-io0: asked any, granted 0-7, ran on 1,5\n"
	"#   thread tcpx-io1: asked 2-3, granted 2-3, ran on 2\n"
	"#\n"
	"# 64 MiB write from host to cuda:1 at 5.25 GB/s over 2 NICs, no difference to\n"
	"# raw sockets shown (0.970, 0.940 to 1.00), 10.5 % of what the GPUs' own copies\n"
	"# carry. Raw sockets split evenly over NICs, so the slowest decides.\n"
	"# Verified: all 1.34 GB arrived as sent.\n";

static const char table_latency[] =
	"# tcpx 0.1.0, 2025-01-31T12:00:00Z, half a round trip\n"
	"# alpha to beta:28515 by eth0 (100 Gbit/s), eth1; provider sock\n"
	"# 8 x A CPU, Linux 6.1.0 x86_64\n"
	"# GPU cuda:1 of the server: A GPU, 0000:65:00.0, 161 GB\n"
	"# copied to and from GPUs by: d2d here, kernel there\n"
	"# sides: CPU 0 and CPU 1\n"
	"# note: made up\n"
	"#    size   iters      p50  raw p50  ratio          95 %  %path  wrong\n"
	"       64   10000  18.6 µs  14.9 µs  0.970  0.940..1.000   10.5      0\n"
	"#\n"
	"# 64 B write between host and cuda:1: half a round trip takes 18.6 µs over 2\n"
	"# NICs, no difference to raw sockets shown (1.03, 1.00 to 1.06), 10.5 % of what\n"
	"# the GPUs' own copies carry.\n"
	"# eth0 75.0 %, eth1 25.0 %, 1 retransmit\n"
	"# Verified: all 640 kB arrived as sent.\n";

static const char nccl[] =
	"# tcpx 0.1.0 on alpha: tcpx perf -b 64M --baseline beta\n"
	"# in-place repeats out-of-place: a transfer has one form only\n"
	"#\n"
	"#                                                              out-of-place                       in-place          \n"
	"#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong\n"
	"#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)        \n"
	"    67108864      67108864     uint8    none      -1  12782.6    5.25    5.25       0  12782.6    5.25    5.25       0\n"
	"# Out of bounds values : 0 OK\n"
	"# Avg bus bandwidth    : 5.25 \n"
	"#\n";

static const char csv[] =
	"size,op,dir,mem,peer_mem,descs,iters,warmup,nics,channels,chunk_bytes,window,"
	"dist,time_us.min,time_us.p50,time_us.p99,time_us.p999,time_us.max,"
	"time_us.mean,time_us.stdev,algbw_GBps,busbw_GBps,peer_algbw_GBps,"
	"transfers_per_s,checked,wrong,cpu_s_per_GB,client_cpu_s_per_GB,"
	"server_cpu_s_per_GB,congestion,"
	"baseline_congestion,baseline_GBps,baseline_cpu_s_per_GB,ratio,"
	"ratio_ci.lo,ratio_ci.hi,path_GBps,path_1M_GBps,path_fraction,degraded,in_flight.mean,in_flight.max,"
	"ctxt_switches,stage_us.queue,stage_us.wire,stage_us.unpack,stage_us.ack,"
	"half_rtt_us.min,half_rtt_us.p50,half_rtt_us.p99,half_rtt_us.p999,"
	"half_rtt_us.max,half_rtt_us.mean,half_rtt_us.stdev,"
	"baseline_half_rtt_us.p50,baseline_half_rtt_us.p99,"
	"baseline_half_rtt_us.p999,compared,baseline_compared,baseline_wrong,depth,lanes\n"
	"67108864,write,uni,host,cuda:1,1,20,5,2,2,524288,16,pull,12000,12750,14000,"
	"14500,15000,12782.64,250,5.25,5.25,5.2,78.2,true,0,0.35,0.15,0.2,,,5.5,0.3,0.97,0.94,1,"
	"50,45,0.105,false,7.5,16,1234,300,90,40,70,,,,,,,,,,,,,,16,2\n";

/* The record printed in @format, to be freed. */
static char *
print_as(const struct result *r, enum out_format format, struct out_view view)
{
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	out_all(f, format, r, &view);
	fclose(f);
	return text;
}

static char *
print(const struct result *r, enum out_format format)
{
	return print_as(r, format, (struct out_view){ .width = 80 });
}

TEST(every_format_prints_its_columns)
{
	static const struct {
		const char *name;
		enum out_format format;
		struct out_view view;
		const char *text;
	} cases[] = {
		{ "table", OUT_TABLE, { false, false, 80 }, table },
		{ "table of 120 columns", OUT_TABLE, { false, false, 120 }, table_120 },
		{ "table --wide", OUT_TABLE, { false, false, OUT_WIDE }, table_wide },
		{ "table -v", OUT_TABLE, { false, true, 80 }, table_verbose },
		{ "table --lat", OUT_TABLE, { true, false, 80 }, table_latency },
		{ "nccl", OUT_NCCL, { false, false, 80 }, nccl },
		{ "csv", OUT_CSV, { false, false, 80 }, csv },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct result r;
		char *text;

		sample_result(&r);
		if (cases[i].view.lat)
			sample_latency_row(&r);
		else
			sample_row(&r, 1 << 26);
		text = print_as(&r, cases[i].format, cases[i].view);
		if (strcmp(text, cases[i].text))
			fail_msg("%s prints:\n%s", cases[i].name, text);
		free(text);
		result_fini(&r);
	}
}

/* No line of ours is wider than the terminal, whatever was measured. */
TEST(a_table_fits)
{
	for (unsigned bits = 0; bits < 64; bits++) {
		unsigned width = bits & 1 ? 120 : 80;
		struct result r;
		struct row *row;
		char *text;

		sample_result(&r);
		row = bits & 2 ? sample_latency_row(&r) : sample_row(&r, 1ull << 40);
		row->degraded = true;
		row->iters = bits & 4 ? 1000000000 : 5;
		if (bits & 8)
			row->ratio = row->ratio_ci.lo = row->baseline_GBps = NAN;
		if (bits & 16)
			SET(row->dir, "bi");
		if (bits & 32)
			r.nics.at[1].gbps = 100;
		row->algbw_GBps = row->busbw_GBps = 123456;
		text = print_as(&r, OUT_TABLE, (struct out_view){ bits & 2, false, width });
		for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
			unsigned chars = 0;

			for (size_t i = 0; i < strcspn(line, "\n"); i++)
				chars += (line[i] & 0xc0) != 0x80;
			if (chars > width)
				fail_msg("%u: a line is %u wide:\n%s", bits, chars, text);
		}
		free(text);
		result_fini(&r);
	}
}

TEST(percentiles_need_samples)
{
	static const struct { uint64_t iters; bool p50, p99, p999; } cases[] = {
		{ 1, false, false, false }, { 2, true, false, false }, { 99, true, false, false },
		{ 100, true, true, false }, { 999, true, true, false }, { 1000, true, true, true },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct row row = { .iters = cases[i].iters };

		assert_int_equal(row_has_percentile(&row, 50), cases[i].p50);
		assert_int_equal(row_has_percentile(&row, 99), cases[i].p99);
		assert_int_equal(row_has_percentile(&row, 99.9), cases[i].p999);
	}
}

TEST(json_is_the_record)
{
	struct result r;
	char *text, *json;

	sample_result(&r);
	sample_row(&r, 1 << 26);
	text = print(&r, OUT_JSON);
	json = result_text(&r);
	assert_memory_equal(text, json, strlen(json));
	assert_string_equal(text + strlen(json), "\n");
	free(text);
	free(json);
	result_fini(&r);
}

TEST(what_was_not_checked_or_measured_does_not_look_so)
{
	struct result r;
	struct row *row;
	char *text;

	sample_result(&r);
	row = sample_row(&r, 1 << 20);
	row->checked = false;
	row->ratio = row->baseline_GBps = row->ratio_ci.lo = row->path_fraction = NAN;
	text = print(&r, OUT_NCCL);
	assert_non_null(strstr(text, "N/A"));
	free(text);
	text = print(&r, OUT_TABLE);
	assert_null(strstr(text, "wrong"));
	assert_null(strstr(text, "ratio"));
	assert_null(strstr(text, "raw"));
	assert_non_null(strstr(text, "The bytes were not checked."));
	free(text);
	result_fini(&r);
}

TEST(a_share_that_was_compared_stands_beside_the_figure)
{
	struct result r;
	struct row *row;
	char *text;

	sample_result(&r);
	row = sample_row(&r, 1 << 20);
	row->checked = false;
	row->compared = 0.125;
	text = print(&r, OUT_TABLE);
	assert_non_null(strstr(text, "wrong  %compared\n"));
	assert_non_null(strstr(text, " 0       12.5\n"));
	assert_non_null(strstr(text, "No byte was wrong of those compared, 12 % of "));
	assert_null(strstr(text, "Verified"));
	free(text);
	row->checked = true;
	row->compared = 1;
	row->baseline_wrong = 3;
	text = print(&r, OUT_TABLE);
	assert_null(strstr(text, "%compared"));
	assert_non_null(strstr(text, "3 bytes that raw sockets moved were wrong."));
	free(text);
	result_fini(&r);
}

TEST(a_run_that_copied_nothing_says_so_loudly)
{
	struct result r;
	char *text;

	sample_result(&r);
	sample_row(&r, 1 << 20)->checked = false;
	SET(r.peer_unpack, "none");
	text = print(&r, OUT_TABLE);
	assert_non_null(strstr(text, "\n# " OUT_COPIED_NOTHING "\n"));
	assert_non_null(strstr(text, "\n# " OUT_COPIED_NOTHING ".\n"));
	free(text);
	result_fini(&r);
}

TEST(wrong_bytes_and_a_degraded_session_are_told)
{
	struct result r;
	struct row *row;
	char *text;

	sample_result(&r);
	row = sample_row(&r, 1 << 20);
	row->wrong = 3;
	row->degraded = true;
	text = print(&r, OUT_TABLE);
	assert_non_null(strstr(text, "# 3 bytes were wrong.\n"));
	assert_non_null(strstr(text, "  3 *\n"));
	assert_non_null(strstr(text, "The session was degraded"));
	free(text);
	text = print(&r, OUT_NCCL);
	assert_non_null(strstr(text, "# Out of bounds values : 3 FAILED\n"));
	free(text);
	result_fini(&r);
}

/* What was measured before stays; nothing is called verified. */
TEST(a_run_that_ended_early_says_so)
{
	static const struct {
		struct result_stop failed, interrupted;
		const char *says;
	} cases[] = {
		{ { 256 << 10, "TCPX_EPEERGONE", "the peer is gone", 1, 6 }, { 0 },
		  "Failed at 256 KiB: the peer is gone; 1 of 6 sizes measured." },
		{ { 0 }, { 1 << 30, "SIGINT", "Ctrl-C", 0, 1 },
		  "Interrupted at 1 GiB: Ctrl-C; 0 of 1 sizes measured in full." },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct result r, back;
		char *text;

		sample_result(&r);
		sample_row(&r, 1 << 20);
		r.failed = cases[i].failed;
		r.interrupted = cases[i].interrupted;
		text = print(&r, OUT_TABLE);
		if (!strstr(text, cases[i].says) || strstr(text, "Verified") ||
		    !strstr(text, "No byte was wrong in the 1 row measured before."))
			fail_msg("the table says:\n%s", text);
		free(text);
		text = print(&r, OUT_NCCL);
		assert_non_null(strstr(text, cases[i].says));
		free(text);
		text = result_text(&r);
		assert_int_equal(result_parse(text, strlen(text), "back", &back), 0);
		assert_string_equal(back.failed.code, cases[i].failed.code);
		assert_int_equal(back.interrupted.size, cases[i].interrupted.size);
		free(text);
		result_fini(&back);
		result_fini(&r);
	}
}

TEST(a_record_without_rows_prints)
{
	for (int format = OUT_TABLE; format <= OUT_JSON; format++) {
		struct result r;

		sample_result(&r);
		free(print(&r, (enum out_format)format));
		result_fini(&r);
	}
}

TEST(a_hostile_name_cannot_command_the_terminal)
{
	struct result r;
	char *text;

	sample_result(&r);
	sample_row(&r, 1 << 20);
	SET(r.machine.host, "a\033[2Jb\n# fake");
	SET(r.rows.at[0].per_nic.at[0].peer_nic, "\xc2\x9b" "1m\xff");
	for (int format = OUT_TABLE; format <= OUT_NCCL; format++) {
		text = print(&r, (enum out_format)format);
		assert_null(strchr(text, '\033'));
		assert_null(strstr(text, "\n# fake"));
		assert_null(strstr(text, "\xc2\x9b"));
		assert_null(strchr(text, '\xff'));
		free(text);
	}
	result_fini(&r);
}

TEST(both_congestion_controls_are_told)
{
	static const struct { const char *ours, *raw, *text; } cases[] = {
		{ "", "", "" },
		{ "", "cubic", "" },
		{ "cubic", "", "Congestion control: cubic." },
		{ "cubic", "cubic", "Congestion control: cubic, of raw sockets as well." },
		{ "reno", "cubic", "Congestion control: reno, of raw sockets cubic: the ratio does not"
				   " compare like with like." },
	};
	char text[256], *page;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct result r;
		struct row *row;

		sample_result(&r);
		row = sample_row(&r, 1 << 26);
		snprintf(row->congestion, sizeof(row->congestion), "%s", cases[i].ours);
		snprintf(row->baseline_congestion, sizeof(row->baseline_congestion), "%s",
			 cases[i].raw);
		out_verdict_congestion(row, text, sizeof(text));
		assert_string_equal(text, cases[i].text);
		page = print(&r, OUT_TABLE);
		text[30] = '\0'; /* the rest may be on another line */
		assert_int_equal(strstr(page, "Congestion control") != NULL, text[0] != '\0');
		assert_non_null(strstr(page, text));
		free(page);
		result_fini(&r);
	}
}
