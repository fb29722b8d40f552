/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop of a process: sessions are opened again when they have failed, transfers are started,
 * cancelled and taken back, notes are read.
 */
#include "chaos/worker.h"

#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "chaos/job.h"
#include "tool/tool.h"

enum {
	GAP_NS = 200 * 1000000, /* of the loop: beyond it the process did not run */
	CLOSED_TRIES = 500,     /* times 10 ms for threads of the engine to be gone */
};

static unsigned
entries(const char *path)
{
	DIR *dir = opendir(path);
	unsigned n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

static struct chaos_held
held(void)
{
	return (struct chaos_held){
		.fds = entries("/proc/self/fd"),
		.threads = entries("/proc/self/task"),
		.heap = mallinfo2().uordblks,
	};
}

static int
give_up(struct worker *w, const char *what, int rc)
{
	char text[96] = "";

	if (w->engine)
		tcpx_last_error(w->engine, text, sizeof(text));
	snprintf(w->own->why, sizeof(w->own->why), "%s: %s %s", what, tcpx_strerror_name(rc), text);
	return TOOL_FINDING;
}

/* Lost channels and sessions are what a run is about; TCPX_DEBUG shows them. */
static void
leave_out(void *arg, int level, const char *line)
{
	(void)arg;
	(void)level;
	(void)line;
}

static int
open_engine(struct worker *w)
{
	char name[16], nics[64] = "TCPX_NICS=", stall[40], connect[40];
	const char *settings[] = { nics, stall, connect, "TCPX_STATS=off", "TCPX_CHUNK=64K", NULL };
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;

	snprintf(name, sizeof(name), "h%u", w->me);
	for (unsigned k = 0; k < w->area->nics; k++)
		snprintf(nics + strlen(nics), sizeof(nics) - strlen(nics), "%seth%u", k ? "," : "",
			 k);
	snprintf(stall, sizeof(stall), "TCPX_STALL_MS=%u", (unsigned)w->area->stall_ms);
	snprintf(connect, sizeof(connect), "TCPX_CONNECT_MS=%u", (unsigned)w->area->stall_ms);
	opts.name = name;
	opts.settings = settings;
	opts.log = getenv("TCPX_DEBUG") ? NULL : leave_out;
	return tcpx_open(&opts, &w->engine);
}

/* Memory that others write to is shared, so that the writer itself can compare it. */
static int
make_memory(struct worker *w)
{
	size_t places = chaos_places_bytes(w->area);
	int rc;

	w->theirs = w->area->places;
	w->mine = w->theirs + w->me * places;
	rc = tcpx_mem_register(w->engine, w->mine, places, TCPX_MEM_REMOTE_WRITE, &w->target);
	if (rc)
		return rc;
	chaos_fill(w->source, CHAOS_BYTES, chaos_source_id(w->me, w->life));
	rc = tcpx_mem_register(w->engine, w->source, CHAOS_BYTES, TCPX_MEM_REMOTE_READ,
			       &w->source_region);
	return rc ? rc : tcpx_mem_register(w->engine, w->buffers, CHAOS_JOBS * CHAOS_BYTES,
					   TCPX_MEM_LOCAL, &w->local);
}

/* A process that did not run for a while says so: others may have lost it. */
static void
beat(struct worker *w)
{
	uint64_t now = tcpx_clock_now(&tcpx_clock_system), n;

	if (w->now && now - w->now > GAP_NS) {
		n = atomic_load(&w->own->gaps);
		w->own->gap[n % CHAOS_GAPS] = (struct chaos_gap){ w->now, now };
		atomic_store(&w->own->gaps, n + 1);
	}
	w->now = now;
	atomic_store(&w->own->beat_ns, now);
}

static int
publish(struct worker *w)
{
	struct chaos_card *c = &w->own->card[w->life % 2];
	int rc;

	c->blob_len = sizeof(c->blob);
	c->target_len = sizeof(c->target);
	c->source_len = sizeof(c->source);
	rc = tcpx_metadata(w->engine, c->blob, &c->blob_len);
	if (!rc)
		rc = tcpx_mem_export(w->engine, w->target, c->target, &c->target_len);
	if (!rc)
		rc = tcpx_mem_export(w->engine, w->source_region, c->source, &c->source_len);
	beat(w); /* the parent looks for one as soon as this is ready */
	if (!rc)
		atomic_store(&w->own->ready, w->life);
	return rc;
}

static void
run(struct worker *w)
{
	int phase;

	while ((phase = atomic_load(&w->area->phase)) != CHAOS_ENDS &&
	       !atomic_load(&w->own->leave)) {
		beat(w);
		for (unsigned b = 0; b < w->area->hosts; b++)
			if (b != w->me)
				chaos_link_keep(w, b);
		chaos_job_post(w, phase == CHAOS_RUNS);
		chaos_job_reap(w);
		chaos_notes_take(w);
		atomic_store(&w->own->calm, phase == CHAOS_LAST && chaos_jobs_open(w) == 0);
	}
}

/* Frees transfers and peers, and closes the engine. */
static void
give_back(struct worker *w)
{
	for (unsigned i = 0; i < CHAOS_JOBS; i++)
		tcpx_xfer_free(w->job[i].xfer);
	for (unsigned b = 0; b < w->area->hosts; b++)
		if (w->link[b].peer)
			tcpx_peer_free(w->link[b].peer);
	tcpx_close(w->engine);
	w->engine = NULL;
	for (unsigned i = 0; i < CHAOS_JOBS; i++)
		atomic_store(&w->own->pending[i].since_ns, 0);
}

static int
check_leaks(struct worker *w, const struct chaos_held *before)
{
	struct chaos_held after = held();
	const char *kept;

	for (int i = 0; (kept = chaos_judge_held(before, &after)) && i < CLOSED_TRIES; i++) {
		usleep(10000);
		atomic_store(&w->own->beat_ns, tcpx_clock_now(&tcpx_clock_system));
		after = held();
	}
	if (!kept)
		return TOOL_OK;
	snprintf(w->own->why, sizeof(w->own->why), "leak of %s: %u descriptors, %u threads, %llu "
		 "bytes before, %u, %u, %llu after", kept, before->fds, before->threads,
		 (unsigned long long)before->heap, after.fds, after.threads,
		 (unsigned long long)after.heap);
	return TOOL_FINDING;
}

int
chaos_worker(struct chaos_area *area, unsigned me, uint32_t life)
{
	size_t bytes = sizeof(struct worker) + (size_t)(CHAOS_JOBS + 1) * CHAOS_BYTES;
	struct worker *w = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0);
	struct chaos_held before;
	int rc;

	if (w == MAP_FAILED)
		return TOOL_DENIED;
	w->area = area;
	w->own = &area->host[me];
	w->me = me;
	w->life = life;
	w->buffers = (uint8_t *)(w + 1);
	w->source = w->buffers + CHAOS_JOBS * CHAOS_BYTES;
	w->rng = tcpx_rng_seed(area->seed ^ (uint64_t)(me + 1) << 32 ^ life);
	/* what a process keeps from its first engine on is no leak */
	rc = open_engine(w);
	if (rc)
		return give_up(w, "open", rc);
	tcpx_close(w->engine);
	w->engine = NULL;
	before = held();

	rc = open_engine(w);
	rc = rc ? rc : make_memory(w);
	rc = rc ? rc : publish(w);
	if (rc)
		return give_up(w, "open", rc);
	run(w);
	give_back(w);
	rc = check_leaks(w, &before);
	munmap(w, bytes);
	return rc;
}
