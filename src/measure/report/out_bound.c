/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bound is named when something is nearly full: the wire, the GPUs, CPUs, the window. What
 * is full first explains what comes after it, hence the order.
 */
#include "measure/report/out_bound.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tool/out_text.h"

#define BRIEF_S     0.1  /* a shorter run's CPU time has too much of its beginning and end */
#define NEARLY_FULL 0.85 /* the rest goes to measuring and neighbours */

double
nic_Gbps(const struct tcpx_nic_info *nic)
{
	return nic->mbps ? nic->mbps / 1e3 : nic->gbps; /* a record of before mbps */
}

double
row_line_fraction(const struct result *r, const struct row *row)
{
	double gbps = 0;

	for (size_t i = 0; i < row->per_nic.n; i++) {
		bool seen = false;

		for (size_t k = 0; k < i; k++) /* a NIC may go to several of the peer's */
			seen |= !strcmp(row->per_nic.at[k].nic, row->per_nic.at[i].nic);
		for (size_t k = 0; !seen && k < r->nics.n; k++) {
			if (strcmp(r->nics.at[k].name, row->per_nic.at[i].nic))
				continue;
			if (!(nic_Gbps(&r->nics.at[k]) > 0))
				return NAN;
			gbps += nic_Gbps(&r->nics.at[k]);
		}
	}
	return gbps > 0 ? row->algbw_GBps * 8 / gbps : NAN;
}

static unsigned
threads_of(const struct row *row, const char *side)
{
	unsigned n = 0;

	for (size_t i = 0; i < row->threads.n; i++)
		n += !strncmp(row->threads.at[i].name, side, strlen(side));
	return n;
}

struct bound_facts
bound_facts_of(const struct result *r, const struct row *row)
{
	bool read = !strcmp(row->op, "read"), uni = strcmp(row->dir, "bi") != 0;
	bool self = !strcmp(r->role, "self");
	double here = row->client_cpu_s_per_GB * row->busbw_GBps;
	double there = row->server_cpu_s_per_GB * row->busbw_GBps;
	double both = row->cpu_s_per_GB * row->busbw_GBps;

	if ((double)row->size * (double)row->iters < BRIEF_S * row->algbw_GBps * 1e9)
		here = there = both = NAN;
	return (struct bound_facts){
		.line_fraction = row_line_fraction(r, row),
		.path_fraction = row->path_fraction,
		.busy = self ? both : NAN,
		.cpus = self ? (double)r->machine.cpus : NAN,
		.sender_busy = uni ? (read ? there : here) : NAN,
		.receiver_busy = uni ? (read ? here : there) : NAN,
		.sender_threads = threads_of(row, read ? "server:" : "client:"),
		.receiver_threads = threads_of(row, read ? "client:" : "server:"),
		.in_flight = row->in_flight.mean, .window = (double)row->window,
	};
}

/* How full; 0 where that is not known. */
static double
full(double used, double all)
{
	return isfinite(used) && all > 0 ? used / all : 0;
}

enum out_bound
out_bound_of(const struct bound_facts *f)
{
	double sender = full(f->sender_busy, f->sender_threads);
	double receiver = full(f->receiver_busy, f->receiver_threads);

	if (full(f->line_fraction, 1) >= NEARLY_FULL)
		return BOUND_WIRE;
	if (full(f->path_fraction, 1) >= NEARLY_FULL)
		return BOUND_GPUS;
	if (full(f->busy, f->cpus) >= NEARLY_FULL)
		return BOUND_CPUS;
	if (fmax(sender, receiver) >= NEARLY_FULL)
		return sender > receiver ? BOUND_SENDER : BOUND_RECEIVER;
	if (full(f->in_flight, f->window) >= NEARLY_FULL)
		return BOUND_WINDOW;
	return BOUND_UNKNOWN;
}

void
out_bound_text(const struct bound_facts *f, char *buf, size_t cap)
{
	enum out_bound bound = out_bound_of(f);
	bool sender = bound == BOUND_SENDER;
	unsigned threads = sender ? f->sender_threads : f->receiver_threads;
	char a[OUT_QUANTITY];

	buf[0] = '\0';
	switch (bound) {
	case BOUND_UNKNOWN:
		break;
	case BOUND_WIRE:
		snprintf(buf, cap, "Bound by: wire (%.0f %% of the NICs' rate). More: --nics.",
			 100 * f->line_fraction);
		break;
	case BOUND_GPUS:
		snprintf(buf, cap, "Bound by: GPU copies (%.0f %% of what they carry alone).",
			 100 * f->path_fraction);
		break;
	case BOUND_CPUS:
		snprintf(buf, cap, "Bound by: CPUs (%s of %.0f busy with both sides). More: two"
			 " machines, or more CPUs.", out_digits(f->busy, a), f->cpus);
		break;
	case BOUND_SENDER:
	case BOUND_RECEIVER:
		snprintf(buf, cap, "Bound by: %s's CPU (%s busy, %u I/O thread%s). More: --threads"
			 " and --channels.", sender ? "sender" : "receiver",
			 out_digits(sender ? f->sender_busy : f->receiver_busy, a), threads,
			 threads == 1 ? "" : "s");
		break;
	case BOUND_WINDOW:
		snprintf(buf, cap, "Bound by: window (%s of %.0f messages of a channel wait for"
			 " acknowledgements). More: --window, --channels.",
			 out_digits(f->in_flight, a), f->window);
		break;
	}
}
