/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own table: one line a row during the run, then the details of the row that represents
 * the run. Lines that begin with '#' are for people, as in nccl-tests.
 */
#include <math.h>
#include <string.h>

#include "measure/report/out_layout.h"
#include "tool/out_text.h"
#include "measure/report/out_verdict.h"
#include "tool/tool.h"

#define BAR 20 /* characters of a full bar */

/* Prints pieces, up to a NULL; some are foreign text. */
static void
print_texts(FILE *f, const char *const *texts)
{
	for (; *texts; texts++)
		out_plain(f, *texts);
}

static void
print_nics(FILE *f, const struct result *r)
{
	for (size_t i = 0; i < r->nics.n; i++) {
		const struct tcpx_nic_info *nic = &r->nics.at[i];

		print_texts(f, (const char *const[]){ "# NIC ", nic->name, " ", nic->addr, NULL });
		if (nic->gbps)
			fprintf(f, ", %llu Gbit/s", (unsigned long long)nic->gbps);
		if (nic->numa >= 0)
			fprintf(f, ", NUMA node %lld", (long long)nic->numa);
		fputc('\n', f);
	}
}

/* "# GPU cuda:0 of the client: NVIDIA H200, 0000:06:00.0, 150 GB" */
static void
print_gpus(FILE *f, const struct result *r)
{
	char amount[OUT_QUANTITY];

	for (size_t i = 0; i < r->gpus.n; i++) {
		const struct result_gpu *gpu = &r->gpus.at[i];

		fprintf(f, "# GPU cuda:%u of the %s: ", gpu->gpu, gpu->side);
		print_texts(f, (const char *const[]){ gpu->name, ", ", gpu->pci, ", ",
						      out_amount(gpu->memory_bytes, amount), NULL });
		fputc('\n', f);
	}
	if (!r->gpus.n)
		return;
	print_texts(f, (const char *const[]){ "# copied to and from GPUs by: ", r->unpack,
					      " here, ", r->peer_unpack, " there", NULL });
	fputc('\n', f);
}

void
out_table_head(FILE *f, const struct result *r, bool lat)
{
	print_texts(f, (const char *const[]){ "# tcpx ", r->version, ", provider ", r->provider,
					      ", ", r->machine.host, " to ", r->peer, ", ",
					      r->started, NULL });
	fprintf(f, "\n# %llu x ", (unsigned long long)r->machine.cpus);
	print_texts(f, (const char *const[]){ r->machine.cpu_model, ", Linux ", r->machine.kernel,
					      NULL });
	fputc('\n', f);
	print_nics(f, r);
	print_gpus(f, r);
	if (r->placement[0]) {
		print_texts(f, (const char *const[]){ "# ", r->placement, NULL });
		fputc('\n', f);
	}
	if (result_copied_nothing(r)) /* its figures must not pass for others */
		fprintf(f, "# %s" OUT_COPIED_NOTHING "%s\n", tool_paint(f, TOOL_RED),
			tool_paint(f, TOOL_PLAIN));
	if (r->note)
		print_texts(f, (const char *const[]){ "# note: ", r->note, NULL });
	fputs(r->note ? "\n#\n" : "#\n", f);
	if (lat) {
		fprintf(f, "# half a round trip (us)\n");
		fprintf(f, "#%11s %9s %8s %8s %8s %8s %8s %7s %9s %6s  %s\n", "size", "iters",
			"min", "p50", "p99", "p99.9", "max", "#wrong", "raw p50", "ratio",
			"(95 %)");
		return;
	}
	fprintf(f, "#%11s %7s %9s %7s %7s %8s %7s %9s %9s %9s %8s %7s %6s  %s\n", "size", "descs",
		"time", "algbw", "busbw", "rate", "#wrong", "p50", "p99", "p99.9", "CPU", "raw",
		"ratio", "(95 %)");
	fprintf(f, "#%11s %7s %9s %7s %7s %8s %7s %9s %9s %9s %8s %7s\n", "(B)", "", "(us)",
		"(GB/s)", "(GB/s)", "(1/s)", "", "(us)", "(us)", "(us)", "(s/GB)", "(GB/s)");
}

/* Right-aligned with @decimals, fewer if that does not fit; "-" if not measured. */
static void
cell(FILE *f, int width, int decimals, double v)
{
	char text[64];
	int len;

	if (!isfinite(v)) {
		fprintf(f, " %*s", width, "-");
		return;
	}
	do
		len = snprintf(text, sizeof(text), "%.*f", decimals, v);
	while (len > width && decimals-- > 0);
	fprintf(f, " %*s", width, text);
}

static void
cell_wrong(FILE *f, const struct row *row)
{
	if (row->checked)
		fprintf(f, " %s%7llu%s", row->wrong ? tool_paint(f, TOOL_RED) : "",
			(unsigned long long)row->wrong,
			row->wrong ? tool_paint(f, TOOL_PLAIN) : "");
	else
		fprintf(f, " %7s", "N/A");
}

static void
print_ratio(FILE *f, const struct row *row)
{
	cell(f, 6, 3, row->ratio);
	if (isfinite(row->ratio_ci.lo))
		fprintf(f, "  %.3f..%.3f", row->ratio_ci.lo, row->ratio_ci.hi);
	if (isfinite(row->path_fraction))
		fprintf(f, "  %.1f %% of path", 100 * row->path_fraction);
	if (row->degraded)
		fprintf(f, "  %sdegraded%s", tool_paint(f, TOOL_YELLOW), tool_paint(f, TOOL_PLAIN));
	fputc('\n', f);
}

static void
print_latency(FILE *f, const struct row *row)
{
	const struct row_time *t = &row->half_rtt_us;

	fprintf(f, "%12llu %9llu", (unsigned long long)row->size, (unsigned long long)row->iters);
	cell(f, 8, 2, t->min);
	cell(f, 8, 2, t->p50);
	cell(f, 8, 2, t->p99);
	cell(f, 8, 2, t->p999);
	cell(f, 8, 2, t->max);
	cell_wrong(f, row);
	cell(f, 9, 2, row->baseline_half_rtt_us.p50);
	print_ratio(f, row);
}

void
out_table_row(FILE *f, const struct row *row, bool lat)
{
	if (lat) {
		print_latency(f, row);
		return;
	}
	fprintf(f, "%12llu %7llu", (unsigned long long)row->size, (unsigned long long)row->descs);
	cell(f, 9, 2, row->time_us.mean);
	cell(f, 7, 2, row->algbw_GBps);
	cell(f, 7, 2, row->busbw_GBps);
	cell(f, 8, 1, row->transfers_per_s);
	cell_wrong(f, row);
	cell(f, 9, 2, row->time_us.p50);
	cell(f, 9, 2, row->time_us.p99);
	cell(f, 9, 2, row->time_us.p999);
	cell(f, 8, 3, row->cpu_s_per_GB);
	cell(f, 7, 2, row->baseline_GBps);
	print_ratio(f, row);
}

static void
print_bar(FILE *f, double share)
{
	int full = (int)lround(BAR * fmin(fmax(share, 0), 1));

	fprintf(f, "%.*s%.*s", full, "####################", BAR - full, "....................");
}

static void
print_shares(FILE *f, const struct row *row)
{
	size_t widest = 0;

	for (size_t i = 0; i < row->per_nic.n; i++) {
		const struct row_nic *nic = &row->per_nic.at[i];
		size_t width = strlen(nic->nic) + strlen(nic->peer_nic);

		widest = width > widest ? width : widest;
	}
	for (size_t i = 0; i < row->per_nic.n; i++) {
		const struct row_nic *nic = &row->per_nic.at[i];
		char amount[OUT_QUANTITY];
		int pad = (int)(widest - strlen(nic->nic) - strlen(nic->peer_nic));

		print_texts(f,
			    (const char *const[]){ "#   ", nic->nic, " -> ", nic->peer_nic, NULL });
		fprintf(f, "%*s %9s  %5.1f %%  ", pad, "", out_amount(nic->bytes, amount),
			100 * nic->share);
		print_bar(f, nic->share);
		fprintf(f, "  %llu retransmit%s\n", (unsigned long long)nic->retransmits,
			nic->retransmits == 1 ? "" : "s");
	}
}

static void
print_stages(FILE *f, const struct row_stage *s)
{
	const struct { const char *name; double us;
	} stages[] = {
		{ "queue", s->queue },
		{ "wire", s->wire },
		{ "unpack", s->unpack },
		{ "ack", s->ack },
	};
	double total = s->queue + s->wire + s->unpack + s->ack;

	if (!(total > 0))
		return;
	fputs("#   where a chunk's time went:", f);
	for (size_t i = 0; i < ARRAY_LEN(stages); i++) {
		char time[OUT_QUANTITY];

		fprintf(f, "%s %s %s (%.0f %%)", i ? "," : "", stages[i].name,
			out_time(stages[i].us, time), 100 * stages[i].us / total);
	}
	fputc('\n', f);
}

/* The effect of zero-copy sending, and the limit that GPUs set. */
static void
print_path(FILE *f, const struct row *row)
{
	double lent = 0, bytes = 0;
	char digits[OUT_QUANTITY];

	if (isfinite(row->path_GBps)) {
		fprintf(f, "#   the GPUs' own copies: %s GB/s a direction",
			out_digits(row->path_GBps, digits));
		fprintf(f, " (%s by copies of 1 MiB)\n", out_digits(row->path_1M_GBps, digits));
	}
	for (size_t i = 0; i < row->per_channel.n; i++) {
		lent += (double)row->per_channel.at[i].tx.lent_bytes;
		bytes += (double)row->per_channel.at[i].tx.bytes;
	}
	if (!(lent > 0))
		return;
	print_texts(f, (const char *const[]){ "#   zero-copy: ", row->per_channel.at[0].tx.tx_mode,
					      NULL });
	fprintf(f, ", %.1f %% of the payload\n", bytes > 0 ? 100 * lent / bytes : 0);
}

static void
print_cost(FILE *f, const struct row *row)
{
	char digits[OUT_QUANTITY];

	fprintf(f, "#   cost: %llu context switches", (unsigned long long)row->ctxt_switches);
	if (isfinite(row->cpu_s_per_GB))
		fprintf(f, ", %s CPU s/GB", out_digits(row->cpu_s_per_GB, digits));
	if (isfinite(row->baseline_cpu_s_per_GB))
		fprintf(f, " (raw sockets %s)", out_digits(row->baseline_cpu_s_per_GB, digits));
	fputc('\n', f);
	if (row->in_flight.max)
		fprintf(f, "#   in flight: %s messages a channel, at most %llu\n",
			out_digits(row->in_flight.mean, digits),
			(unsigned long long)row->in_flight.max);
}

void
out_table_foot(FILE *f, const struct result *r, bool lat)
{
	const struct row *row = result_subject(r);
	char text[512], chunk[OUT_QUANTITY];

	out_verdict_stop(r, text, sizeof(text));
	if (text[0]) {
		fprintf(f, "# %s", tool_paint(f, TOOL_RED));
		out_plain(f, text);
		fprintf(f, "%s\n", tool_paint(f, TOOL_PLAIN));
	}
	if (!row)
		return;
	fprintf(f, "#\n# %llu NIC%s, %llu channel%s of %llu slots, chunk %s, %s\n",
		(unsigned long long)row->nics, row->nics == 1 ? "" : "s",
		(unsigned long long)row->channels, row->channels == 1 ? "" : "s",
		(unsigned long long)row->window, out_size(row->chunk_bytes, chunk), row->dist);
	if (row_has_shares(row))
		print_shares(f, row);
	print_stages(f, &row->stage_us);
	print_path(f, row);
	print_cost(f, row);
	for (size_t i = 0; i < row->threads.n; i++) {
		const struct row_thread *t = &row->threads.at[i];

		print_texts(f, (const char *const[]){ "#   thread ", t->name, ": asked ",
						      t->requested[0] ? t->requested : "any",
						      ", granted ", t->granted, ", ran on ",
						      t->ran_on, NULL });
		fputc('\n', f);
	}

	out_verdict_congestion(row, text, sizeof(text));
	if (text[0]) {
		print_texts(f, (const char *const[]){ "#   ", text, NULL });
		fputc('\n', f);
	}
	out_verdict_speed(row, text, sizeof(text));
	fprintf(f, "#\n# %s%s%s\n", tool_paint(f, TOOL_BOLD), text, tool_paint(f, TOOL_PLAIN));
	out_verdict_limit(r, row, text, sizeof(text));
	if (text[0])
		fprintf(f, "# %s\n", text);
	out_verdict_check(r, text, sizeof(text));
	fprintf(f, "# %s%s%s\n",
		tool_paint(f, result_is_right(r) && result_is_whole(r) &&
			      !result_copied_nothing(r) ? TOOL_GREEN : TOOL_RED),
		text, tool_paint(f, TOOL_PLAIN));
}
