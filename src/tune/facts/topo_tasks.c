/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that matter to interrupts: irqbalance, which moves them, and the kernel threads
 * of NICs' queues. They may end while they are read.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "host/io.h"
#include "tune/facts/topo_part.h"

#define THREADS 4096
#define LIST_BYTES 40960 /* every second of 8192 CPUs */

static void
read_cpus(const char *root, long pid, struct tcpx_maybe_set *set)
{
	char path[64], list[LIST_BYTES];
	int rc;

	snprintf(path, sizeof(path), "/proc/%ld/status", pid);
	tcpx_cpuset_init(&set->cpus);
	rc = tcpx_io_field(root, path, "Cpus_allowed_list:", list, sizeof(list));
	if (rc == 0)
		rc = tcpx_cpuset_parse(list, &set->cpus);
	set->why = tcpx_maybe_why(rc);
}

static int
take_task(const char *root, long pid, struct tcpx_topo *topo)
{
	struct tcpx_topo_thread *thread;
	char path[64], name[64];

	snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
	if (tcpx_io_read(root, path, name, sizeof(name)) < 0)
		return 0;
	if (!strcmp(name, "irqbalance"))
		topo->irqbalance = tcpx_maybe_is(pid);
	if (strncmp(name, "napi/", 5) != 0 || topo->thread_count == THREADS)
		return 0;
	thread = realloc(topo->threads, (topo->thread_count + 1) * sizeof(*thread));
	if (!thread)
		return -ENOMEM;
	topo->threads = thread;
	thread += topo->thread_count++;
	thread->pid = pid;
	snprintf(thread->name, sizeof(thread->name), "%s", name);
	read_cpus(root, pid, &thread->cpus);
	return 0;
}

static int
compare_threads(const void *a, const void *b)
{
	const struct tcpx_topo_thread *x = a, *y = b;

	return strverscmp(x->name, y->name);
}

int
tcpx_topo_tasks_read(const char *root, struct tcpx_topo *topo)
{
	struct tcpx_io_names names;
	uint64_t pid;
	int rc;

	rc = tcpx_io_list(root, "/proc", &names);
	if (rc < 0) {
		topo->irqbalance = (struct tcpx_maybe){ rc, tcpx_maybe_why(rc) };
		return 0;
	}
	topo->irqbalance = tcpx_maybe_not("not running, as far as /proc shows");
	rc = 0;
	for (unsigned i = 0; i < names.count && rc == 0; i++)
		if (tcpx_parse_count(names.entry[i]->d_name, &pid) == 0 && pid <= INT32_MAX)
			rc = take_task(root, (long)pid, topo);
	tcpx_io_names_free(&names);
	if (topo->thread_count)
		qsort(topo->threads, topo->thread_count, sizeof(*topo->threads), compare_threads);
	return rc;
}
