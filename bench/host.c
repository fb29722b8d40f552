/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of looking at a machine: all its facts, and a snapshot of its counts. Prints a
 * table; the tree of a spec is made in memory.
 *
 *	host_cost SPEC [ROUNDS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tune/record/snapshot.h"
#include "machine/spec.h"
#include "machine/tree.h"

static double
seconds(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

struct cost {
	double wall, cpu;
};

static struct cost
now(void)
{
	return (struct cost){ seconds(CLOCK_MONOTONIC), seconds(CLOCK_PROCESS_CPUTIME_ID) };
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void
print(const char *what, double *wall, double *cpu, unsigned rounds)
{
	qsort(wall, rounds, sizeof(*wall), compare);
	qsort(cpu, rounds, sizeof(*cpu), compare);
	printf("| %s | %.2f | %.2f | %.2f |\n", what, wall[rounds / 2] * 1e3,
	       cpu[rounds / 2] * 1e3, cpu[0] * 1e3);
}

static int
measure(const char *root, unsigned rounds)
{
	double *wall = calloc(rounds, sizeof(*wall)), *cpu = calloc(rounds, sizeof(*cpu));
	struct tcpx_topo *topo = NULL;
	struct tcpx_snapshot snap;
	int rc = wall && cpu ? 0 : -1;

	for (unsigned i = 0; rc == 0 && i < rounds; i++) {
		struct cost from = now(), to;

		tcpx_topo_free(topo);
		rc = tcpx_topo_read(root, &topo);
		to = now();
		wall[i] = to.wall - from.wall;
		cpu[i] = to.cpu - from.cpu;
	}
	if (rc < 0)
		return rc;
	printf("| what | median ms | median CPU ms | least CPU ms |\n| --- | --- | --- | --- |\n");
	print("all facts (tcpx topo)", wall, cpu, rounds);
	for (unsigned i = 0; rc == 0 && i < rounds; i++) {
		struct cost from = now(), to;

		rc = tcpx_snapshot_take(root, topo, NULL, &snap);
		to = now();
		if (rc == 0)
			tcpx_snapshot_fini(&snap);
		wall[i] = to.wall - from.wall;
		cpu[i] = to.cpu - from.cpu;
	}
	if (rc == 0)
		print("one snapshot: all counts", wall, cpu, rounds);
	tcpx_topo_free(topo);
	free(wall);
	free(cpu);
	return rc;
}

int
main(int argc, char **argv)
{
	unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 50;
	char root[64];
	struct tcpx_machine m;
	int rc;

	if (argc < 2 || rounds == 0) {
		fprintf(stderr, "usage: host_cost SPEC [ROUNDS]\n");
		return 2;
	}
	if (tcpx_spec_load(argv[1], &m) < 0)
		return 2;
	snprintf(root, sizeof(root), "%s/tcpx-bench-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (!mkdtemp(root) || tcpx_tree_write(&m, root) < 0)
		return 1;
	printf("machine %s: %u CPUs, %u NICs, %u vectors\n\n", m.name,
	       tcpx_cpuset_count(&m.online), m.nic_count, m.vector_count);
	rc = measure(root, rounds);
	tcpx_machine_fini(&m);
	return tcpx_tree_remove(root) < 0 || rc < 0;
}
