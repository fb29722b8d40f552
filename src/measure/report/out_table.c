/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own table: one line a row during the run, then the details of the row that represents
 * the run. Lines that begin with '#' are for people, as in nccl-tests.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/report/out_bound.h"
#include "measure/report/out_columns.h"
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
		if (nic_Gbps(nic) > 0)
			fprintf(f, ", %.5g Gbit/s", nic_Gbps(nic));
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

/* "#", then the text in lines of OUT_COLUMNS, each of which begins so. */
static void
print_line(FILE *f, enum tool_colour colour, const char *text)
{
	char *lines, *rest, *line;
	size_t len;
	FILE *wrapped = open_memstream(&lines, &len);

	if (!wrapped)
		return;
	fputs("  ", wrapped);
	out_wrapped(wrapped, text, 2);
	fclose(wrapped);
	lines[len - 1] = '\0';
	for (rest = lines; (line = strsep(&rest, "\n"));)
		fprintf(f, "# %s%s%s\n", tool_paint(f, colour), line + 2,
			tool_paint(f, TOOL_PLAIN));
	free(lines);
}

/* "alpha to beta:28515 by eth0 (100 Gbit/s), eth1; provider sock" */
static void
print_route(FILE *f, const struct result *r)
{
	char *text;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		return;
	fprintf(to, "%s to %s", r->machine.host, r->peer);
	for (size_t i = 0; i < r->nics.n; i++) {
		fprintf(to, "%s %s", i ? "," : " by", r->nics.at[i].name);
		if (nic_Gbps(&r->nics.at[i]) > 0)
			fprintf(to, " (%.5g Gbit/s)", nic_Gbps(&r->nics.at[i]));
	}
	fprintf(to, "; provider %s", r->provider);
	fclose(to);
	print_line(f, TOOL_PLAIN, text);
	free(text);
}

void
out_table_head(FILE *f, const struct result *r, const struct out_view *v)
{
	char text[512];

	snprintf(text, sizeof(text), "tcpx %s, %s%s", r->version, r->started,
		 v->lat ? ", half a round trip" : "");
	print_line(f, TOOL_PLAIN, text);
	print_route(f, r);
	snprintf(text, sizeof(text), "%llu x %s, Linux %s", (unsigned long long)r->machine.cpus,
		 r->machine.cpu_model, r->machine.kernel);
	print_line(f, TOOL_PLAIN, text);
	if (v->verbose)
		print_nics(f, r);
	print_gpus(f, r);
	if (r->placement[0])
		print_line(f, TOOL_PLAIN, r->placement);
	if (result_copied_nothing(r)) /* its figures must not pass for others */
		fprintf(f, "# %s" OUT_COPIED_NOTHING "%s\n", tool_paint(f, TOOL_RED),
			tool_paint(f, TOOL_PLAIN));
	if (r->note) {
		snprintf(text, sizeof(text), "note: %s", r->note);
		print_line(f, TOOL_PLAIN, text);
	}
}

void
out_table_row(FILE *f, const struct result *r, const struct row *row, const struct out_view *v)
{
	if (row == r->rows.at)
		out_columns_head(f, r, v);
	out_columns_row(f, r, row, v);
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

/* Of a chunk after a channel has picked it: waiting for a channel is no cost. */
static void
print_stages(FILE *f, const struct row_stage *s)
{
	const struct { const char *name; double us; } stages[] = {
		{ "wire", s->wire }, { "unpack", s->unpack }, { "ack", s->ack },
	};

	if (!(s->wire + s->unpack + s->ack > 0))
		return;
	fputs("#   a chunk's time on its channel:", f);
	for (size_t i = 0; i < ARRAY_LEN(stages); i++) {
		char time[OUT_QUANTITY];

		fprintf(f, "%s %s %s", i ? "," : "", stages[i].name, out_time(stages[i].us, time));
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

/* What -v adds. */
static void
print_details(FILE *f, const struct row *row)
{
	char chunk[OUT_QUANTITY];

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
}

/* "eth0 75.0 %, eth1 25.0 %, 1 retransmit"; "" for one NIC that had none. */
static void
sum_shares(const struct row *row, char *buf, size_t cap)
{
	uint64_t retransmits = 0;
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < row->per_nic.n; i++)
		retransmits += row->per_nic.at[i].retransmits;
	if (!row_has_shares(row) || (row->per_nic.n < 2 && !retransmits))
		return;
	for (size_t i = 0; i < row->per_nic.n && len < cap - 1; i++)
		len += (size_t)snprintf(buf + len, cap - len, "%s%s %.1f %%", i ? ", " : "",
					row->per_nic.at[i].nic, 100 * row->per_nic.at[i].share);
	if (len < cap - 1)
		snprintf(buf + len, cap - len, ", %llu retransmit%s", (unsigned long long)retransmits,
			 retransmits == 1 ? "" : "s");
}

void
out_table_foot(FILE *f, const struct result *r, const struct out_view *v)
{
	const struct row *row = result_subject(r);
	bool good = result_is_right(r) && result_is_whole(r) && !result_copied_nothing(r);
	char text[1024];

	out_verdict_stop(r, text, sizeof(text));
	if (text[0])
		print_line(f, TOOL_RED, text);
	if (!row)
		return;
	if (v->verbose)
		print_details(f, row);
	fputs("#\n", f);
	out_verdict_speed(row, text, sizeof(text));
	print_line(f, TOOL_BOLD, text);
	sum_shares(row, text, sizeof(text));
	if (text[0] && !v->verbose)
		print_line(f, TOOL_PLAIN, text);
	out_verdict_congestion(row, text, sizeof(text));
	if (text[0])
		print_line(f, TOOL_PLAIN, text);
	out_verdict_limit(r, row, text, sizeof(text));
	if (text[0])
		print_line(f, TOOL_PLAIN, text);
	out_verdict_check(r, text, sizeof(text));
	print_line(f, good ? TOOL_GREEN : TOOL_RED, text);
}
