/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of processes and of their children. A thread is its id and its start time: a
 * reused id is another thread. Each may end between two looks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tune/record/sample_part.h"

#define HASH (2 * TCPX_SAMPLE_THREADS)
#define LOOK_NS 1000000000u /* for new processes: at least this long between looks */

int
tcpx_sample_threads_init(struct tcpx_sampler *s, const long *pids, unsigned count)
{
	struct sample_threads *t = &s->threads;
	long hz = sysconf(_SC_CLK_TCK);

	t->tick_us = 1000000u / (uint64_t)(hz > 0 ? hz : 100);
	t->table = calloc(TCPX_SAMPLE_THREADS, sizeof(*t->table));
	t->hash = calloc(HASH, sizeof(*t->hash));
	t->stat = calloc(TCPX_SAMPLE_THREADS, sizeof(*t->stat));
	t->ran = calloc(TCPX_SAMPLE_THREADS, sizeof(*t->ran));
	if (!t->table || !t->hash || !t->stat || !t->ran)
		return -ENOMEM;
	for (unsigned i = 0; i < count; i++) {
		if (t->pid_count < TCPX_SAMPLE_PIDS)
			t->pids[t->pid_count++] = pids[i];
		else
			s->cost.pids_left_out++;
	}
	return 0;
}

void
tcpx_sample_threads_fini(struct tcpx_sampler *s)
{
	free(s->threads.table);
	free(s->threads.hash);
	free(s->threads.stat);
	free(s->threads.ran);
}

/* The object of a thread; NULL: no room. A thread whose id is reused stays in the list of
 * objects, but is not found any more. */
static struct sample_thread *
find(struct tcpx_sampler *s, long pid, const struct tcpx_thread_stat *stat)
{
	struct sample_threads *t = &s->threads;
	unsigned at = (unsigned)stat->tid * 2654435761u % HASH;
	struct sample_thread *thread;
	struct tcpx_sample_object *o;

	for (; t->hash[at]; at = (at + 1) % HASH) {
		o = &s->object[t->hash[at]];
		if (o->id == stat->tid && o->start == stat->start)
			return &t->table[t->hash[at] - s->threads_from];
		if (o->id == stat->tid)
			break;
	}
	if (s->objects == s->objects_max) {
		t->left_out++;
		return NULL;
	}
	t->hash[at] = (uint16_t)s->objects;
	s->object[s->objects] = (struct tcpx_sample_object){
		.kind = TCPX_SAMPLE_IS_THREAD, .id = stat->tid, .pid = pid, .start = stat->start };
	thread = &t->table[s->objects - s->threads_from];
	*thread = (struct sample_thread){ .object = (uint16_t)s->objects++, .ran = true };
	return thread;
}

static uint64_t
rise(uint64_t was, uint64_t now)
{
	return now > was ? now - was : 0;
}

/* May it have started a process since the last look? */
static bool
look_at_thread(struct tcpx_sampler *s, long pid, const struct tcpx_thread_stat *stat, bool ask)
{
	struct sample_thread *t = find(s, pid, stat);
	struct tcpx_thread_switches switches;
	bool ran;
	int rc;

	if (!t)
		return true;
	memcpy(s->object[t->object].name, stat->name, sizeof(stat->name));
	tcpx_sampler_put(s, t->object, stat->cpu, TCPX_SAMPLE_USER,
			 rise(t->user, stat->user) * s->threads.tick_us);
	tcpx_sampler_put(s, t->object, stat->cpu, TCPX_SAMPLE_SYSTEM,
			 rise(t->system, stat->system) * s->threads.tick_us);
	t->ran |= t->user != stat->user || t->system != stat->system;
	t->user = stat->user;
	t->system = stat->system;
	rc = tcpx_thread_switches_read(s->thread_root, pid, stat->tid, &switches);
	if (rc < 0) {
		if (rc != -ENOENT && rc != -ESRCH) /* it has ended */
			s->cost.switches_why = tcpx_maybe_why(rc);
		return true;
	}
	tcpx_sampler_put(s, t->object, stat->cpu, TCPX_SAMPLE_VOLUNTARY,
			 rise(t->switches.voluntary, switches.voluntary));
	tcpx_sampler_put(s, t->object, stat->cpu, TCPX_SAMPLE_INVOLUNTARY,
			 rise(t->switches.involuntary, switches.involuntary));
	t->ran |= t->switches.voluntary != switches.voluntary ||
		  t->switches.involuntary != switches.involuntary;
	t->switches = switches;
	ran = t->ran;
	if (ask)
		t->ran = false;
	return ran;
}

static void
add_pid(struct tcpx_sampler *s, long pid)
{
	struct sample_threads *t = &s->threads;

	for (unsigned i = 0; i < t->pid_count; i++)
		if (t->pids[i] == pid)
			return;
	if (t->pid_count == TCPX_SAMPLE_PIDS) {
		s->cost.pids_left_out++;
		return;
	}
	t->start[t->pid_count] = 0;
	t->pids[t->pid_count++] = pid;
}

/* Adds the processes that the threads in @stat have started to the end of the list. */
static void
add_children(struct tcpx_sampler *s, long pid, unsigned threads)
{
	long child[64];

	for (unsigned i = 0; i < threads; i++) {
		int n;

		if (!s->threads.ran[i])
			continue; /* a thread that starts a process has run and
				   * given up its CPU */
		n = tcpx_thread_children_read(s->thread_root, pid, s->threads.stat[i].tid, child,
					      sizeof(child) / sizeof(child[0]));
		if (n == -ENOENT && i == 0 && s->sample == 0)
			s->cost.children_why = "the kernel does not list children of threads";
		for (int k = 0; k < n; k++)
			add_pid(s, child[k]);
	}
}

/* Is the process still the same? Its first thread's start time decides. */
static bool
is_the_same(struct sample_threads *t, unsigned place, unsigned threads)
{
	for (unsigned i = 0; i < threads; i++) {
		if (t->stat[i].tid != t->pids[place])
			continue;
		if (t->start[place] && t->start[place] != t->stat[i].start)
			return false;
		t->start[place] = t->stat[i].start;
	}
	return true;
}

void
tcpx_sample_threads_look(struct tcpx_sampler *s, uint64_t now_ns)
{
	struct sample_threads *t = &s->threads;
	bool children = s->sample == 0 || now_ns - t->looked_ns >= LOOK_NS;

	if (children)
		t->looked_ns = now_ns;
	t->left_out = 0;
	/* the list grows while it is walked */
	for (unsigned i = 0; i < t->pid_count;) {
		long pid = t->pids[i];
		int n = tcpx_threads_read(s->thread_root, pid, t->stat, TCPX_SAMPLE_THREADS);
		unsigned threads = n < 0 ? 0 : n < TCPX_SAMPLE_THREADS ? (unsigned)n
								       : TCPX_SAMPLE_THREADS;

		if (threads == 0 || !is_the_same(t, i, threads)) {
			t->pid_count--; /* it has ended: the last takes its place */
			t->pids[i] = t->pids[t->pid_count];
			t->start[i] = t->start[t->pid_count];
			continue;
		}
		for (unsigned k = 0; k < threads; k++)
			t->ran[k] = look_at_thread(s, pid, &t->stat[k], children);
		if (children)
			add_children(s, pid, threads);
		i++;
	}
	if (t->left_out > s->cost.threads_left_out)
		s->cost.threads_left_out = t->left_out;
}
