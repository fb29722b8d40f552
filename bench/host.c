/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of looking at a machine: all its facts once, and interrupt counts and threads of a
 * process repeatedly. Prints a table; the tree of a spec is made in memory.
 *
 *	host_cost SPEC [ROUNDS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tune/record/sample.h"
#include "tune/record/snapshot.h"
#include "tune/record/threads.h"
#include "tune/texts/spec.h"
#include "tune/texts/tree.h"

#define THREADS 64 /* of the observed process */

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

static void
add_threads(const char *root)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/1000", root);
	mkdir(path, 0755);
	strcat(path, "/task");
	mkdir(path, 0755);
	for (int i = 0; i < THREADS; i++) {
		snprintf(path, sizeof(path), "%s/proc/1000/task/%d", root, 1000 + i);
		mkdir(path, 0755);
		strcat(path, "/stat");
		f = fopen(path, "w");
		if (!f)
			continue;
		fprintf(f, "%d (worker) S 1 1000 1000 0 -1 4194560 100 0 0 0 1234 567 0 0 20 0 64 0 "
			"555 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 %d 0 0 0 0 0\n", 1000 + i, i);
		fclose(f);
		strcpy(strrchr(path, '/'), "/status");
		f = fopen(path, "w");
		if (!f)
			continue;
		fprintf(f, "Name:\tworker\nvoluntary_ctxt_switches:\t%d\n"
			"nonvoluntary_ctxt_switches:\t3\n", i);
		fclose(f);
		strcpy(strrchr(path, '/'), "/children");
		f = fopen(path, "w");
		if (f)
			fclose(f);
	}
}

/* The recorder of tcpx diag, as if an interval had passed each time. Nothing changes in a
 * tree, so nothing enters the ring: only the looks are measured. */
static int
measure_sampler(const char *root, const struct tcpx_topo *topo, unsigned rounds, double *wall,
		double *cpu)
{
	long pid = 1000;
	struct tcpx_sample_options o = {
		.root = root, .thread_root = root, .topo = topo, .pids = &pid, .pid_count = 1,
		.interval_ns = 1000000000u,
	};
	struct tcpx_sampler *s;

	if (tcpx_sampler_new(&o, 0, &s) < 0)
		return -1;
	for (unsigned i = 0; i < rounds; i++) {
		struct cost from = now(), to;

		tcpx_sampler_take(s, (i + 1) * o.interval_ns);
		to = now();
		wall[i] = to.wall - from.wall;
		cpu[i] = to.cpu - from.cpu;
	}
	print("one sample of the recorder: CPUs, vectors of NICs, 64 threads", wall, cpu, rounds);
	tcpx_sampler_free(s);
	return 0;
}

static int
measure(const char *root, unsigned rounds)
{
	double *wall = calloc(rounds, sizeof(*wall)), *cpu = calloc(rounds, sizeof(*cpu));
	struct tcpx_thread_stat stat[THREADS];
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
		if (rc == 0 && tcpx_threads_read(root, 1000, stat, THREADS) < 0)
			rc = -1;
		to = now();
		if (rc == 0)
			tcpx_snapshot_fini(&snap);
		wall[i] = to.wall - from.wall;
		cpu[i] = to.cpu - from.cpu;
	}
	if (rc == 0)
		print("one sample: all counts and 64 threads", wall, cpu, rounds);
	if (rc == 0)
		rc = measure_sampler(root, topo, rounds, wall, cpu);
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
	add_threads(root);
	rc = measure(root, rounds);
	tcpx_machine_fini(&m);
	return tcpx_tree_remove(root) < 0 || rc < 0;
}
