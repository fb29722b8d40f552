/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of nccl-tests, for people and scripts that know it. A column without meaning here
 * keeps the value that such scripts expect.
 */
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
