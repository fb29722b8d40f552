/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine's defaults. Pure, and the whole rule in one place:
 *
 *	threads   one; with more than 2 CPUs: one a NIC, at most half the CPUs, at most 8.
 *	          With GPUs: 3 for each 4 CPUs that a GPU has, at most 12, and no more
 *	          than could all spin
 *	channels  4 a NIC; with at most 2 CPUs 4 in all, but 1 for each NIC, and 1 on a
 *	          loopback; with GPUs no fewer than threads; at most 64 in all
 *	spin      100 us; none with fewer than 2 CPUs a thread and 2 to spare
 *
 * A thread receives some 5 GB/s: 12 of them keep up with one direction of a GPU's PCIe. More
 * than one process may do so, one a GPU. The figures: docs/results/gpu-tuning.md.
 */
#include <stdio.h>

#include "host/host.h"

#define THREADS_MAX 8
#define FEW_CPUS 2 /* as many as a sender and a receiver need */
#define CHANNELS_PER_NIC 4
#define SPIN_US 100 /* longer than a round trip between two GPUs */
#define GPU_THREADS_MAX 12

static unsigned
min(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static unsigned
for_gpus(unsigned cpus, unsigned gpus)
{
	return min(min(3 * cpus / (4 * gpus), (cpus - 2) / 2), GPU_THREADS_MAX);
}

static void
plan_threads(unsigned nics, unsigned cpus, unsigned gpus, struct tcpx_host_plan *plan)
{
	const size_t cap = sizeof(plan->threads_why);
	unsigned n = min(nics, cpus / 2);

	plan->threads = 1;
	if (cpus <= FEW_CPUS) {
		snprintf(plan->threads_why, cap, "%u CPU%s leave no room for more", cpus,
			 cpus == 1 ? "" : "s");
		return;
	}
	if (n > 1)
		plan->threads = min(n, THREADS_MAX);
	if (gpus && for_gpus(cpus, gpus) > plan->threads) {
		plan->threads = for_gpus(cpus, gpus);
		snprintf(plan->threads_why, cap, "%u CPUs for %u GPU%s, each fed by several threads",
			 cpus, gpus, gpus == 1 ? "" : "s");
		return;
	}
	if (n > THREADS_MAX)
		snprintf(plan->threads_why, cap, "%u NICs and %u CPUs; more than %d do not help",
			 nics, cpus, THREADS_MAX);
	else if (n < nics)
		snprintf(plan->threads_why, cap, "half of %u CPUs, for %u NICs", cpus, nics);
	else
		snprintf(plan->threads_why, cap, "one for each of %u NICs", nics);
}

static void
plan_channels(const struct tcpx_host_nic *nics, unsigned nic_count, unsigned cpus,
	      unsigned gpus, struct tcpx_host_plan *plan)
{
	const size_t cap = sizeof(plan->channels_why);
	unsigned total = 0, singles = 0, each = CHANNELS_PER_NIC;

	if (cpus <= FEW_CPUS && nic_count)
		each = nic_count < CHANNELS_PER_NIC ? CHANNELS_PER_NIC / nic_count : 1;
	if (gpus && nic_count && each * nic_count < plan->threads)
		each = (plan->threads + nic_count - 1) / nic_count;

	plan->channels_per_nic = 0;
	for (unsigned i = 0; i < nic_count; i++) {
		bool single = cpus <= FEW_CPUS && tcpx_addr_is_loopback(&nics[i].addr);
		unsigned n = single ? 1 : each;

		total += n;
		singles += single;
		if (n > plan->channels_per_nic)
			plan->channels_per_nic = n;
	}
	plan->channels = min(total, TCPX_HOST_CHANNELS);
	if (total > TCPX_HOST_CHANNELS) {
		plan->channels_per_nic = (TCPX_HOST_CHANNELS + nic_count - 1) / nic_count;
		snprintf(plan->channels_why, cap, "%u NICs share the %d that are allowed",
			 nic_count, TCPX_HOST_CHANNELS);
	} else if (singles) {
		snprintf(plan->channels_why, cap, "1 a loopback NIC: with %u CPU%s more cost time",
			 cpus, cpus == 1 ? "" : "s");
	} else {
		snprintf(plan->channels_why, cap, "%u for each of %u NIC%s%s", each, nic_count,
			 nic_count == 1 ? "" : "s",
			 each > CHANNELS_PER_NIC ? ", one for each thread" : "");
	}
}

static void
plan_spin(unsigned cpus, struct tcpx_host_plan *plan)
{
	unsigned needed = 2 * plan->threads + 2;

	plan->spin_us = cpus < needed ? 0 : SPIN_US;
	snprintf(plan->spin_why, sizeof(plan->spin_why),
		 "%u CPU%s %s the %u that %u I/O thread%s %s to spin", cpus,
		 cpus == 1 ? " is" : "s are", cpus < needed ? "fewer than" : "at least", needed,
		 plan->threads, plan->threads == 1 ? "" : "s",
		 plan->threads == 1 ? "needs" : "need");
}

void
tcpx_host_defaults(const struct tcpx_host_nic *nics, unsigned nic_count,
		   const struct tcpx_host_cpus *cpus, unsigned gpu_count,
		   struct tcpx_host_plan *out)
{
	plan_threads(nic_count, cpus->allowed_count, gpu_count, out);
	plan_channels(nics, nic_count, cpus->allowed_count, gpu_count, out);
	plan_spin(cpus->allowed_count, out);
}
