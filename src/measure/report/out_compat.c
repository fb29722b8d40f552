/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of nccl-tests and perftest, for people and scripts that know them. A column
 * without meaning here keeps the value that such scripts expect.
 */
#include <math.h>

#include "measure/report/out_layout.h"
#include "measure/report/out_verdict.h"
#include "tool/out_text.h"

void
out_nccl_head(FILE *f, const struct result *r, const struct out_view *v)
{
	fprintf(f, "# tcpx %s on ", r->version);
	out_plain(f, r->machine.host);
	fputs(": ", f);
	out_plain(f, r->command);
	fprintf(f, "\n# in-place repeats out-of-place: a transfer has one form only\n#\n");
	fprintf(f, "# %10s  %12s  %8s  %6s  %6s           out-of-place                       "
		   "in-place          \n", "", "", "", "", "");
	fprintf(f, "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s  %7s  %6s  %6s  %6s\n", "size",
		"count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time",
		"algbw", "busbw", "#wrong");
	fprintf(f, "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s  %7s  %6s  %6s  %6s\n", "(B)",
		"(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)",
		"(GB/s)", "");
}

/* nccl-tests' getFloatStr(): as many decimals as @width leaves, two at most. */
static void
fit(double v, int width, char *buf, size_t cap)
{
	int digits = 1;

	for (double limit = 10; v >= limit && digits < 20; limit *= 10)
		digits++;
	if (digits > width)
		snprintf(buf, cap, "%*.*e", width, width >= 7 ? 1 : 0, v);
	else
		snprintf(buf, cap, "%*.*f", width,
			 digits < width - 2 ? 2 : digits < width - 1 ? 1 : 0, v);
}

void
out_nccl_row(FILE *f, const struct result *r, const struct row *row,
		 const struct out_view *v)
{
	char time[32], algbw[32], busbw[32], wrong[32] = "N/A";

	fit(v->lat ? row->half_rtt_us.mean : row->time_us.mean, 7, time, sizeof(time));
	fit(row->algbw_GBps, 6, algbw, sizeof(algbw));
	fit(row->busbw_GBps, 6, busbw, sizeof(busbw));
	if (row->checked || row->compared > 0)
		snprintf(wrong, sizeof(wrong), "%g", (double)row->wrong);

	fprintf(f, "%12llu  %12llu  %8s  %6s  %6d", (unsigned long long)row->size,
		(unsigned long long)row->size, "uint8", "none", -1);
	for (int half = 0; half < 2; half++)
		fprintf(f, "  %7s  %6s  %6s  %6s", time, algbw, busbw, wrong);
	fputc('\n', f);
}

void
out_nccl_foot(FILE *f, const struct result *r, const struct out_view *v)
{
	double sum = 0;
	uint64_t wrong = 0;
	char stop[512];

	out_verdict_stop(r, stop, sizeof(stop));
	if (stop[0]) {
		fputs("# ", f);
		out_plain(f, stop);
		fputc('\n', f);
	}

	for (size_t i = 0; i < r->rows.n; i++) {
		sum += r->rows.at[i].busbw_GBps;
		wrong += r->rows.at[i].wrong;
	}
	fprintf(f, "# %-20s : %llu %s\n", "Out of bounds values", (unsigned long long)wrong,
		wrong || r->failed.code[0] ? "FAILED" : "OK");
	fprintf(f, "# %-20s : %g \n#\n", "Avg bus bandwidth",
		r->rows.n ? sum / (double)r->rows.n : 0);
}

#define PERFTEST_RULE \
	"--------------------------------------------" \
	"-------------------------------------------\n"

void
out_perftest_head(FILE *f, const struct result *r, const struct out_view *v)
{
	fputs(PERFTEST_RULE, f);
	fputs(v->lat ? " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    "
		    "t_avg[usec]    t_stdev[usec]   99%[usec]   99.9%[usec] \n"
		  : " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   "
		    "MsgRate[Mpps]\n", f);
}

void
out_perftest_row(FILE *f, const struct result *r, const struct row *row,
		 const struct out_view *v)
{
	unsigned long long size = row->size, iters = row->iters;
	const struct row_time *t = &row->half_rtt_us;
	double average = row->busbw_GBps * 1e9 / (1 << 20), peak = average;

	if (v->lat) {
		fprintf(f, " %-7llu %llu          %-7.2f        %-7.2f      %-7.2f  \t       %-7.2f"
			   "    \t%-7.2f\t\t%-7.2f \t%-7.2f\n",
			size, iters, t->min, t->max, t->p50, t->mean, t->stdev, t->p99, t->p999);
		return;
	}
	if (row->time_us.min > 0) /* the best iteration; busbw follows the mean one */
		peak = fmax(average, average * row->time_us.mean / row->time_us.min);
	fprintf(f, " %-7llu    %-10llu       %-7.2f            %-7.2f\t\t   %-7.6f\n", size, iters,
		peak, average, row->size ? row->busbw_GBps * 1000 / (double)row->size : 0);
}

void
out_perftest_foot(FILE *f, const struct result *r, const struct out_view *v)
{
	fputs(PERFTEST_RULE, f);
}
