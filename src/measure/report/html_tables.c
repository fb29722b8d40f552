/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of the report: rows, channels, threads, the machine. A table without
 * entries is not there.
 */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "measure/report/html_parts.h"
#include "tool/out_text.h"
#include "measure/report/out_verdict.h"
#include "measure/report/svg_plot.h"
#include "tool/tool.h"

void
html_el(FILE *f, const char *tag, const char *css, const char *fmt, ...)
{
	char *text;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0)
		return;
	fprintf(f, css ? "<%s class=\"%s\">" : "<%s>", tag, css);
	out_escape(f, text);
	fprintf(f, "</%s>", tag);
	free(text);
}

struct column {
	const char *css; /* "n": numbers, to the right */
	const char *text;
};

static void
open_table(FILE *f, const struct column *columns, size_t count)
{
	fputs("<div class=\"scroll\"><table>\n<thead><tr>", f);
	for (size_t i = 0; i < count; i++)
		html_el(f, "th", columns[i].css, "%s", columns[i].text);
	fputs("</tr></thead>\n<tbody>\n", f);
}

static void
close_table(FILE *f)
{
	fputs("</tbody></table></div>\n", f);
}

static void
number(FILE *f, const char *css, double v)
{
	char text[OUT_QUANTITY];

	if (isfinite(v))
		html_el(f, "td", css, "%s", out_digits(v, text));
	else
		html_el(f, "td", "n q", "\u2013");
}

static void
duration(FILE *f, double us)
{
	char text[OUT_QUANTITY];

	html_el(f, "td", "n", "%s", isfinite(us) ? out_time(us, text) : "\u2013");
}

static void
ratio_cells(FILE *f, const struct row *row)
{
	if (isfinite(row->ratio))
		html_el(f, "td", "n b", "%.3f", row->ratio);
	else
		html_el(f, "td", "n q", "\u2013");
	if (isfinite(row->ratio_ci.lo))
		html_el(f, "td", "n q", "%.3f\u2013%.3f", row->ratio_ci.lo, row->ratio_ci.hi);
	else
		html_el(f, "td", "q", "%s", "");
}

static void
check_cell(FILE *f, const struct row *row)
{
	if (row->wrong)
		html_el(f, "td", "n b bad", "%llu", (unsigned long long)row->wrong);
	else
		html_el(f, "td", row->checked ? "n" : "n q", row->checked ? "0" : "not checked");
}

static void
latency_rows(FILE *f, const struct result *r)
{
	static const struct column columns[] = {
		{ NULL, "size" }, { "n", "p50" }, { "n", "p99" }, { "n", "p99.9" }, { "n", "max" },
		{ "n", "raw p50" }, { "n", "ratio" }, { "n", "95 %" }, { "n", "wrong bytes" },
	};

	open_table(f, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < r->rows.n; i++) {
		const struct row *row = &r->rows.at[i];
		char size[OUT_QUANTITY];

		fputs("<tr>", f);
		html_el(f, "td", "b", "%s", out_size(row->size, size));
		duration(f, row->half_rtt_us.p50);
		duration(f, row->half_rtt_us.p99);
		duration(f, row->half_rtt_us.p999);
		duration(f, row->half_rtt_us.max);
		duration(f, row->baseline_half_rtt_us.p50);
		ratio_cells(f, row);
		check_cell(f, row);
		fputs("</tr>\n", f);
	}
	close_table(f);
}

void
html_rows(FILE *f, const struct result *r)
{
	static const struct column columns[] = {
		{ NULL, "size" }, { "n", "GB/s" }, { "n", "1/s" }, { "n", "raw GB/s" },
		{ "n", "ratio" }, { "n", "95 %" }, { "n", "of path, %" }, { "n", "p50" }, { "n", "p99" }, { "n", "p99.9" },
		{ "n", "CPU s/GB" }, { "n", "raw" }, { "n", "wrong bytes" },
	};

	if (r->rows.n && row_is_latency(&r->rows.at[0])) {
		latency_rows(f, r);
		return;
	}
	open_table(f, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < r->rows.n; i++) {
		const struct row *row = &r->rows.at[i];
		char size[OUT_QUANTITY];

		fputs("<tr>", f);
		html_el(f, "td", row->degraded ? "b warn" : "b", "%s%s", out_size(row->size, size),
			row->degraded ? " degraded" : "");
		number(f, "n b", row->busbw_GBps);
		number(f, "n", row->transfers_per_s);
		number(f, "n", row->baseline_GBps);
		ratio_cells(f, row);
		number(f, "n", 100 * row->path_fraction);
		duration(f, row->time_us.p50);
		duration(f, row->time_us.p99);
		duration(f, row->time_us.p999);
		number(f, "n", row->cpu_s_per_GB);
		number(f, "n q", row->baseline_cpu_s_per_GB);
		check_cell(f, row);
		fputs("</tr>\n", f);
	}
	close_table(f);
}

void
html_channels(FILE *f, const struct row *row)
{
	static const struct column columns[] = {
		{ "n", "channel" }, { NULL, "NIC" }, { "n", "bytes" }, { NULL, "" },
		{ "n", "chunks" }, { "n", "stalls" }, { NULL, "sent by" },
		{ "n", "not copied" },
	};
	uint64_t most = 1;

	for (size_t i = 0; i < row->per_channel.n; i++)
		if (row->per_channel.at[i].tx.bytes > most)
			most = row->per_channel.at[i].tx.bytes;

	open_table(f, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < row->per_channel.n; i++) {
		const struct tcpx_channel_info *c = &row->per_channel.at[i].tx;
		char amount[OUT_QUANTITY];

		fputs("<tr>", f);
		html_el(f, "td", "n", "%u", c->index);
		html_el(f, "td", NULL, "%s", c->nic);
		html_el(f, "td", "n", "%s", out_amount(c->bytes, amount));
		fprintf(f, "<td class=\"bars\"><i style=\"width:%.1f%%\"></i></td>",
			100 * (double)c->bytes / (double)most);
		html_el(f, "td", "n", "%llu", (unsigned long long)c->chunks);
		html_el(f, "td", "n", "%llu", (unsigned long long)c->stalls);
		html_el(f, "td", NULL, "%s", c->tx_mode);
		html_el(f, "td", "n", "%s", c->lent_bytes ? out_amount(c->lent_bytes, amount) : "");
		fputs("</tr>\n", f);
	}
	close_table(f);
}

void
html_threads(FILE *f, const struct row *row)
{
	static const struct column columns[] = {
		{ NULL, "thread" },
		{ NULL, "CPUs asked for" },
		{ NULL, "granted" },
		{ NULL, "ran on" },
	};

	open_table(f, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < row->threads.n; i++) {
		const struct row_thread *t = &row->threads.at[i];

		fputs("<tr>", f);
		html_el(f, "td", "mono", "%s", t->name);
		html_el(f, "td", NULL, "%s", t->requested[0] ? t->requested : "any");
		html_el(f, "td", NULL, "%s", t->granted);
		html_el(f, "td", NULL, "%s", t->ran_on);
		fputs("</tr>\n", f);
	}
	close_table(f);
}

/* ---- the machine ----------------------------------------------------------------- */

static void
fact(FILE *f, const char *name, const char *value)
{
	fputs("<tr>", f);
	html_el(f, "td", "q", "%s", name);
	html_el(f, "td", "w", "%s", value);
	fputs("</tr>\n", f);
}

static void
facts(FILE *f, const struct result *r)
{
	const struct result_machine *m = &r->machine;
	char text[256], memory[OUT_QUANTITY];

	fputs("<div class=\"scroll\"><table><tbody>\n", f);
	fact(f, "host", m->host);
	fact(f, "peer", r->peer);
	snprintf(text, sizeof(text), "%llu \u00d7 %s", (unsigned long long)m->cpus, m->cpu_model);
	fact(f, "CPUs", text);
	fact(f, "memory", out_size(m->memory_bytes, memory));
	fact(f, "kernel", m->kernel);
	fact(f, "provider", r->provider);
	if (isfinite(r->setup_ms)) {
		snprintf(text, sizeof(text), "%.1f ms", r->setup_ms);
		fact(f, "session set-up", text);
	}
	close_table(f);
}

static void
numa_cell(FILE *f, int64_t numa)
{
	if (numa >= 0)
		html_el(f, "td", "n", "%lld", (long long)numa);
	else
		html_el(f, "td", "n q", "\u2013");
}

static void
nic_table(FILE *f, const struct result *r)
{
	static const struct column columns[] = {
		{ NULL, "NIC" }, { NULL, "address" }, { "n", "Gbit/s" }, { "n", "NUMA node" },
	};

	html_el(f, "h3", NULL, "NICs");
	open_table(f, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < r->nics.n; i++) {
		const struct tcpx_nic_info *nic = &r->nics.at[i];

		fputs("<tr>", f);
		html_el(f, "td", "b", "%s", nic->name);
		html_el(f, "td", NULL, "%s", nic->addr);
		if (nic->gbps)
			html_el(f, "td", "n", "%llu", (unsigned long long)nic->gbps);
		else
			html_el(f, "td", "n q", "\u2013");
		numa_cell(f, nic->numa);
		fputs("</tr>\n", f);
	}
	close_table(f);
}

static void
gpu_table(FILE *f, const struct result *r)
{
	static const struct column columns[] = {
		{ NULL, "side" }, { NULL, "GPU" }, { NULL, "name" }, { NULL, "PCI" },
		{ "n", "memory" }, { NULL, "copied by" },
	};

	html_el(f, "h3", NULL, "GPUs");
	open_table(f, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < r->gpus.n; i++) {
		const struct result_gpu *gpu = &r->gpus.at[i];
		bool here = strcmp(gpu->side, "server") != 0;
		char amount[OUT_QUANTITY];

		fputs("<tr>", f);
		html_el(f, "td", "q", "%s", gpu->side);
		html_el(f, "td", "b", "cuda:%u", gpu->gpu);
		html_el(f, "td", NULL, "%s", gpu->name);
		html_el(f, "td", "mono", "%s", gpu->pci);
		html_el(f, "td", "n", "%s", out_amount(gpu->memory_bytes, amount));
		html_el(f, "td", NULL, "%s", here ? r->unpack : r->peer_unpack);
		fputs("</tr>\n", f);
	}
	close_table(f);
}

static void
topology_table(FILE *f, const struct result *r)
{
	static const struct column columns[] = {
		{ NULL, "kind" }, { NULL, "name" }, { NULL, "PCI" }, { "n", "NUMA node" },
		{ NULL, "local CPUs" },
	};

	html_el(f, "h3", NULL, "Topology");
	open_table(f, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < r->topology.n; i++) {
		const struct result_place *p = &r->topology.at[i];

		fputs("<tr>", f);
		html_el(f, "td", "q", "%s", p->kind);
		html_el(f, "td", NULL, "%s", p->name);
		html_el(f, "td", "mono", "%s", p->pci);
		numa_cell(f, p->numa);
		html_el(f, "td", "w", "%s", p->cpus);
		fputs("</tr>\n", f);
	}
	close_table(f);
}

static void
settings_table(FILE *f, const struct result *r)
{
	static const struct column columns[] = {
		{ NULL, "setting" }, { NULL, "value" }, { NULL, "from" },
	};

	fprintf(f, "<details><summary>Settings (%zu)</summary>", r->settings.n);
	open_table(f, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < r->settings.n; i++) {
		const struct result_setting *s = &r->settings.at[i];

		fputs("<tr>", f);
		html_el(f, "td", "mono", "%s", s->name);
		html_el(f, "td", strcmp(s->source, "default") ? "mono w b" : "mono w", "%s",
			s->value);
		html_el(f, "td", "q", "%s", s->source);
		fputs("</tr>\n", f);
	}
	close_table(f);
	fputs("</details>\n", f);
}

static void
env_table(FILE *f, const struct result *r)
{
	static const struct column columns[] = { { NULL, "variable" }, { NULL, "value" } };

	fprintf(f, "<details><summary>Environment (%zu)</summary>", r->env.n);
	open_table(f, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < r->env.n; i++) {
		fputs("<tr>", f);
		html_el(f, "td", "mono", "%s", r->env.at[i].name);
		html_el(f, "td", "mono w", "%s", r->env.at[i].value);
		fputs("</tr>\n", f);
	}
	close_table(f);
	fputs("</details>\n", f);
}

void
html_machine(FILE *f, const struct result *r)
{
	facts(f, r);
	if (r->nics.n)
		nic_table(f, r);
	if (r->gpus.n)
		gpu_table(f, r);
	if (r->topology.n)
		topology_table(f, r);
	if (r->settings.n)
		settings_table(f, r);
	if (r->env.n)
		env_table(f, r);
}

void
html_key(FILE *f, size_t index)
{
	fprintf(f, "<span class=\"key k%zu\">%c</span> ", index, (int)('A' + index));
}

void
html_legend(FILE *f, const struct result *results, size_t n)
{
	static const struct column columns[] = {
		{ NULL, "" }, { NULL, "version" }, { NULL, "host" }, { NULL, "when" },
		{ "n", "largest size" }, { "n", "GB/s" }, { "n", "ratio" }, { "n", "95 %" },
	};

	open_table(f, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < n && i < SVG_SERIES_MAX; i++) {
		const struct result *r = &results[i];
		const struct row *row = result_subject(r);
		char size[OUT_QUANTITY];

		if (!row)
			continue;
		fputs("<tr><td>", f);
		html_key(f, i);
		fputs("</td>", f);
		html_el(f, "td", NULL, "%s", r->version);
		html_el(f, "td", NULL, "%s", r->machine.host);
		html_el(f, "td", NULL, "%s", r->started);
		html_el(f, "td", "n", "%s", out_size(row->size, size));
		number(f, "n b", row->busbw_GBps);
		ratio_cells(f, row);
		fputs("</tr>\n", f);
	}
	close_table(f);
}
