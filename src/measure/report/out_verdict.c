/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sentences from figures. A sentence claims only what its figures show.
 */
#include "measure/report/out_verdict.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "measure/report/out_bound.h"
#include "tool/out_text.h"

static void __attribute__((format(printf, 3, 4)))
append(char *buf, size_t cap, const char *fmt, ...)
{
	size_t len = strlen(buf);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf + len, cap - len, fmt, ap);
	va_end(ap);
}

bool
row_is_latency(const struct row *row)
{
	return isfinite(row->half_rtt_us.p50);
}

bool
row_has_percentile(const struct row *row, double percent)
{
	return (double)row->iters * (100 - percent) / 100 > 1 - 1e-9; /* one lies beyond it */
}

bool
row_has_shares(const struct row *row)
{
	for (size_t i = 0; i < row->per_nic.n; i++)
		if (row->per_nic.at[i].bytes)
			return true;
	return false;
}

bool
result_is_right(const struct result *r)
{
	for (size_t i = 0; i < r->rows.n; i++)
		if (r->rows.at[i].wrong || r->rows.at[i].baseline_wrong > 0)
			return false;
	return true;
}

bool
result_is_whole(const struct result *r)
{
	return !r->failed.code[0] && !r->interrupted.code[0];
}

bool
result_copied_nothing(const struct result *r)
{
	return !strcmp(r->unpack, "none") || !strcmp(r->peer_unpack, "none");
}

const struct result_mesh_pair *
mesh_pair(const struct result_mesh *m, unsigned from, unsigned to)
{
	for (size_t i = 0; i < m->pairs.n; i++)
		if (m->pairs.at[i].from == from && m->pairs.at[i].to == to)
			return &m->pairs.at[i];
	return NULL;
}

bool
mesh_is_good(const struct result_mesh *m)
{
	size_t n = m->ranks.n;

	for (size_t i = 0; i < m->pairs.n; i++)
		if (m->pairs.at[i].failed || m->pairs.at[i].wrong)
			return false;
	return m->pairs.n == n * (n - 1);
}

/* " from cuda:0 to host"; nothing where no GPU is in use. */
static void
append_memory(char *buf, size_t cap, const struct row *row)
{
	bool read = !strcmp(row->op, "read");

	if (!row->peer_mem[0] || (!strcmp(row->mem, "host") && !strcmp(row->peer_mem, "host")))
		return;
	if (!strcmp(row->dir, "bi") || row_is_latency(row))
		append(buf, cap, " between %s and %s", row->mem, row->peer_mem);
	else
		append(buf, cap, " from %s to %s", read ? row->peer_mem : row->mem,
		       read ? row->mem : row->peer_mem);
}

/* Does one NIC carry a fifth more than another? Raw sockets give each the same. */
static bool
is_uneven(const struct row *row)
{
	double low = INFINITY, high = 0;

	for (size_t i = 0; i < row->per_nic.n; i++) {
		low = fmin(low, row->per_nic.at[i].share);
		high = fmax(high, row->per_nic.at[i].share);
	}
	return row->per_nic.n > 1 && high > 1.2 * low;
}

/* What the interval of the ratio allows to say. */
static void
append_ratio(char *buf, size_t cap, const struct row *row)
{
	bool lat = row_is_latency(row);
	double mid = lat ? 1 / row->ratio : 100 * row->ratio, lo = row->ratio_ci.lo,
	       hi = row->ratio_ci.hi;
	char a[OUT_QUANTITY], b[OUT_QUANTITY], c[OUT_QUANTITY];

	if (!(row->ratio > 0))
		return;
	if (!isfinite(lo) || !isfinite(hi) || !(lo > 0)) {
		append(buf, cap, "; beside raw sockets in %zu pair%s: too few for an interval",
		       row->pairs.n, row->pairs.n == 1 ? "" : "s");
		return;
	}
	if (lo <= 1 && hi >= 1)
		append(buf, cap, ", no difference to raw sockets shown (%s, %s to %s)",
		       out_digits(lat ? mid : row->ratio, a), out_digits(lat ? 1 / hi : lo, b),
		       out_digits(lat ? 1 / lo : hi, c));
	else if (lat)
		append(buf, cap, ", %s times that of raw sockets (%s to %s)", out_digits(mid, a),
		       out_digits(1 / hi, b), out_digits(1 / lo, c));
	else
		append(buf, cap, ", %.3g %% of what raw sockets carry (%.3g to %.3g %%)", mid,
		       100 * lo, 100 * hi);
}

void
out_verdict_congestion(const struct row *row, char *buf, size_t cap)
{
	const char *ours = row->congestion, *raw = row->baseline_congestion;

	buf[0] = '\0';
	if (ours[0])
		snprintf(buf, cap, "Congestion control: %s%s.", ours,
			 !raw[0] ? "" : strcmp(ours, raw) ? "" : ", of raw sockets as well");
	if (ours[0] && raw[0] && strcmp(ours, raw))
		snprintf(buf, cap, "Congestion control: %s, of raw sockets %s: the ratio does not"
			 " compare like with like.", ours, raw);
}

void
out_verdict_speed(const struct row *row, char *buf, size_t cap)
{
	char size[OUT_QUANTITY], figure[OUT_QUANTITY], both[OUT_QUANTITY];

	out_size(row->descs ? row->size / row->descs : 0, size);
	buf[0] = '\0';
	if (row->descs > 1 && row->size % row->descs == 0) /* pages of a key-value cache */
		append(buf, cap, "%llu x %s pages, ", (unsigned long long)row->descs, size);
	else
		append(buf, cap, "%s ", out_size(row->size, size));
	append(buf, cap, "%s%s", !strcmp(row->dir, "bi") ? "bidirectional " : "", row->op);
	append_memory(buf, cap, row);
	if (row_is_latency(row))
		append(buf, cap, ": half a round trip takes %s",
		       out_time(row->half_rtt_us.p50, figure));
	else if (!strcmp(row->dir, "bi"))
		append(buf, cap, ": each way %s, both %s GB/s", out_digits(row->algbw_GBps, figure),
		       out_digits(row->busbw_GBps, both));
	else
		append(buf, cap, " at %s GB/s", out_digits(row->busbw_GBps, figure));
	append(buf, cap, " over %llu NIC%s", (unsigned long long)row->nics,
	       row->nics == 1 ? "" : "s");
	append_ratio(buf, cap, row);
	if (isfinite(row->path_fraction))
		append(buf, cap, ", %.3g %% of what the GPUs' own copies carry",
		       100 * row->path_fraction);
	append(buf, cap, ".");
	if (row->ratio > 0 && !row_is_latency(row) && is_uneven(row))
		append(buf, cap, " Raw sockets split evenly over NICs, so the slowest decides.");
}

static size_t
good_pairs(const struct result_mesh *m)
{
	size_t good = 0;

	for (size_t i = 0; i < m->pairs.n; i++)
		good += !m->pairs.at[i].failed;
	return good;
}

void
out_verdict_stop(const struct result *r, char *buf, size_t cap)
{
	const struct result_stop *stop = r->failed.code[0] ? &r->failed : &r->interrupted;
	char size[OUT_QUANTITY];

	buf[0] = '\0';
	if (result_is_whole(r))
		return;
	if (r->mesh.n) {
		size_t n = r->mesh.at[0].ranks.n;

		snprintf(buf, cap, "%s: %s; %zu of %zu pairs measured.",
			 stop == &r->failed ? "Failed" : "Interrupted", stop->cause,
			 good_pairs(&r->mesh.at[0]), n * (n - 1));
		return;
	}
	snprintf(buf, cap, "%s at %s: %s; %llu of %llu sizes measured%s.",
		 stop == &r->failed ? "Failed" : "Interrupted", out_size(stop->size, size),
		 stop->cause, (unsigned long long)stop->sizes_done,
		 (unsigned long long)stop->sizes_asked, stop == &r->failed ? "" : " in full");
}

void
out_verdict_check(const struct result *r, char *buf, size_t cap)
{
	uint64_t bytes = 0, wrong = 0, unchecked = 0, in_part = 0;
	double raw_wrong = 0, least = 1;
	char amount[OUT_QUANTITY];

	for (size_t i = 0; i < r->rows.n; i++) {
		const struct row *row = &r->rows.at[i];

		bytes += row->size * row->iters * (!strcmp(row->dir, "bi") ? 2 : 1);
		wrong += row->wrong;
		raw_wrong += row->baseline_wrong > 0 ? row->baseline_wrong : 0;
		unchecked += !row->checked && !(row->compared > 0);
		in_part += !row->checked && row->compared > 0;
		least = !row->checked && row->compared > 0 && row->compared < least ? row->compared
										   : least;
	}
	if (wrong)
		snprintf(buf, cap, "%llu bytes were wrong.", (unsigned long long)wrong);
	else if (raw_wrong > 0)
		snprintf(buf, cap, "%.0f bytes that raw sockets moved were wrong.", raw_wrong);
	else if (result_copied_nothing(r))
		snprintf(buf, cap, OUT_COPIED_NOTHING ".");
	else if (!r->rows.n)
		snprintf(buf, cap, "Nothing was measured.");
	else if (unchecked == r->rows.n)
		snprintf(buf, cap, "The bytes were not checked.");
	else if (unchecked)
		snprintf(buf, cap, "No byte was wrong; %llu of %zu rows were not checked.",
			 (unsigned long long)unchecked, r->rows.n);
	else if (in_part)
		snprintf(buf, cap, "No byte was wrong of those compared, %s%.2g %% of %s.",
			 in_part < r->rows.n || r->rows.n > 1 ? "at least " : "", 100 * least,
			 r->rows.n > 1 ? "each row" : out_amount(bytes, amount));
	else if (!result_is_whole(r))
		snprintf(buf, cap, "No byte was wrong in the %zu row%s measured before.", r->rows.n,
			 r->rows.n == 1 ? "" : "s");
	else
		snprintf(buf, cap, "Verified: all %s arrived as sent.", out_amount(bytes, amount));
}

void
out_verdict_limit(const struct result *r, const struct row *row, char *buf, size_t cap)
{
	struct bound_facts facts = bound_facts_of(r, row);

	buf[0] = '\0';
	if (!row_is_latency(row))
		out_bound_text(&facts, buf, cap);
	if (row->degraded)
		append(buf, cap, "%sThe session was degraded: a NIC or channel was missing.",
		       buf[0] ? " " : "");
}
