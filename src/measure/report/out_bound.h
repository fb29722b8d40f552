/* SPDX-License-Identifier: Apache-2.0 */
/* What bounds a run, where its figures show it. Pure. */
#ifndef MEASURE_REPORT_OUT_BOUND_H
#define MEASURE_REPORT_OUT_BOUND_H

#include "measure/report/row.h"

enum out_bound {
	BOUND_UNKNOWN, /* the figures do not say */
	BOUND_WIRE, BOUND_GPUS, BOUND_CPUS, BOUND_SENDER, BOUND_RECEIVER, BOUND_WINDOW
};

/* NAN and 0: not known. */
struct bound_facts {
	double line_fraction;            /* of the rate of the NICs used            */
	double path_fraction;            /* of what the GPUs' own copies carry      */
	double busy, cpus;               /* CPUs busy, of a machine that both sides share */
	double sender_busy, receiver_busy; /* CPUs busy with each side              */
	unsigned sender_threads, receiver_threads; /* their I/O threads             */
	double in_flight, window;        /* messages of a channel, on the mean; allowed */
};

/* A NIC's rate; 0: not known. */
double nic_Gbps(const struct tcpx_nic_info *nic);
/* The share of the rate of the NICs that carried it, in one direction; NAN: not known. */
double row_line_fraction(const struct result *r, const struct row *row);
struct bound_facts bound_facts_of(const struct result *r, const struct row *row);
enum out_bound out_bound_of(const struct bound_facts *f);
/* "Bound by: receiver's CPU (0.97 busy, 1 I/O thread). More: --threads, --channels."; "" if
 * nothing is known. */
void out_bound_text(const struct bound_facts *f, char *buf, size_t cap);

#endif
