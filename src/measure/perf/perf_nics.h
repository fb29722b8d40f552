/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's counters of each NIC, by any traffic. Two looks around a run show which NICs
 * really carried the bytes.
 */
#ifndef TOOL_PERF_NICS_H
#define TOOL_PERF_NICS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "tcpx/tcpx.h"

enum { NIC_COUNTERS = 8, USAGE_NICS = 64 };

/* The files of /sys/class/net/NIC/statistics that are read, in this order. */
extern const char *const nic_counter_names[NIC_COUNTERS];

struct usage_nic {
	char nic[32];
	uint64_t count[NIC_COUNTERS]; /* as a difference: its rise                    */
};

struct usage_nics {
	size_t n;
	struct usage_nic at[USAGE_NICS];
};

/* The NICs of @engine, each once, and the loopback. A counter that cannot be read is 0. */
void usage_nics_read(tcpx_engine *engine, struct usage_nics *nics);
/* Adds after - before to @sum; a NIC that was not there before counts from 0. */
void usage_nics_add_difference(struct usage_nics *sum, const struct usage_nics *before,
			       const struct usage_nics *after);

json_t *usage_nics_format(const struct usage_nics *nics);
/* Missing fields are 0; more NICs than fit are left out. */
void usage_nics_parse(const json_t *list, struct usage_nics *nics);

#endif
