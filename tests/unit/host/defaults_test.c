/* SPDX-License-Identifier: Apache-2.0 */
/* The defaults, machine by machine. */
#include "../fixture.h"

#include "host/host.h"

TEST(defaults_follow_nics_and_cpus)
{
	static const struct {
		const char *name;
		unsigned nics, cpus;
		bool loopback;
		unsigned threads, channels, per_nic;
		bool spins;
		unsigned gpus;
	} rows[] = {
		{ "one CPU", 1, 1, false, 1, 4, 4, false, 0 },
		{ "2 CPUs, loopback", 1, 2, true, 1, 1, 1, false, 0 },
		{ "2 CPUs, 4 loopback addresses", 4, 2, true, 1, 4, 1, false, 0 },
		{ "2 CPUs, a NIC", 1, 2, false, 1, 4, 4, false, 0 },
		{ "2 CPUs, 2 NICs", 2, 2, false, 1, 4, 2, false, 0 },
		{ "2 CPUs, 4 NICs", 4, 2, false, 1, 4, 1, false, 0 },
		{ "2 CPUs, 8 NICs", 8, 2, false, 1, 8, 1, false, 0 },
		{ "3 CPUs", 1, 3, false, 1, 4, 4, false, 0 },
		{ "4 CPUs", 1, 4, true, 1, 4, 4, true, 0 },
		{ "4 CPUs, 4 NICs", 4, 4, false, 2, 16, 4, false, 0 },
		{ "8 CPUs, 4 NICs", 4, 8, false, 4, 16, 4, false, 0 },
		{ "10 CPUs, 4 NICs", 4, 10, false, 4, 16, 4, true, 0 },
		{ "208 CPUs, 5 NICs", 5, 208, false, 5, 20, 4, true, 0 },
		{ "16 NICs", 16, 208, false, 8, 64, 4, true, 0 },
		{ "32 NICs", 32, 208, false, 8, 64, 2, true, 0 },
		{ "no NIC", 0, 8, false, 1, 0, 0, true, 0 },
		{ "2 CPUs and a GPU", 1, 2, true, 1, 1, 1, false, 1 },
		{ "16 CPUs and a GPU", 1, 16, true, 7, 7, 7, true, 1 },
		{ "32 CPUs, 2 GPUs", 1, 32, true, 12, 12, 12, true, 2 },
		{ "4 NICs, 32 CPUs, 2 GPUs", 4, 32, true, 12, 16, 4, true, 2 },
		{ "128 CPUs, 8 GPUs", 1, 128, false, 12, 12, 12, true, 8 },
		{ "208 CPUs, 8 GPUs, 5 NICs", 5, 208, false, 12, 20, 4, true, 8 },
		{ "12 CPUs, 8 GPUs", 1, 12, false, 1, 4, 4, true, 8 },
	};
	static struct tcpx_host_nic nics[TCPX_HOST_NICS];
	static struct tcpx_host_cpus cpus;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tcpx_host_plan plan;

		for (unsigned n = 0; n < TCPX_HOST_NICS; n++)
			nics[n].addr = (struct tcpx_addr){ .family = 4, .ip = { rows[i].loopback ? 127 : 10, 1 } };
		cpus.allowed_count = rows[i].cpus;
		tcpx_host_defaults(nics, rows[i].nics, &cpus, rows[i].gpus, &plan);
		check(rows[i].name, "threads", plan.threads, rows[i].threads);
		check(rows[i].name, "channels", plan.channels, rows[i].channels);
		check(rows[i].name, "channels a NIC", plan.channels_per_nic, rows[i].per_nic);
		check(rows[i].name, "spins", plan.spin_us > 0, rows[i].spins);
		assert_true(plan.threads_why[0] && plan.channels_why[0] && plan.spin_why[0]);
	}
}

TEST(reasons_are_whole_sentences_about_numbers)
{
	static struct tcpx_host_nic nics[4];
	static struct tcpx_host_cpus cpus = { .allowed_count = 4 };
	struct tcpx_host_plan plan;

	tcpx_host_defaults(nics, 4, &cpus, 0, &plan);
	check_text("threads", plan.threads_why, "half of 4 CPUs, for 4 NICs");
	check_text("channels", plan.channels_why, "4 for each of 4 NICs");
	check_text("spin", plan.spin_why,
		   "4 CPUs are fewer than the 6 that 2 I/O threads need to spin");
}
