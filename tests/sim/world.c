/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One world: made, run under virtual time until every transfer has ended, and taken apart.
 * Engines step in random order; time moves only when no engine has work left.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/loop/loop.h"
#include "sim/accuse.h"
#include "sim/sim.h"

#define QUIET_TURNS 3
#define TURNS_MAX   4000000u /* a slow NIC may have room for a byte in each */
#define LIMIT_NS    (200 * TCPX_SEC)
#define SETTLE_NS   (2 * TCPX_SEC) /* a session may open a second after its first channel */

void
sim_fail(struct sim_world *w, const char *fmt, ...)
{
	va_list args;

	if (w->failed)
		return;
	w->failed = true;
	printf("seed %llu, %s, at %.3f ms: ", (unsigned long long)w->seed, w->ops->name,
	       (double)(tcpx_fabric_now(w->fabric) - TCPX_SEC) / TCPX_MS);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
}

bool
sim_one_in(struct sim_world *w, uint32_t n)
{
	return tcpx_rng_below(&w->rng, n) == 0;
}

uint64_t
sim_between(struct sim_world *w, uint64_t low, uint64_t high)
{
	return tcpx_rng_between(&w->rng, low, high);
}

/* No engine of a world lies, so no line may accuse a peer. Bits that flip cost channels and control
 * connections, and end no session. */
static void
log_line(void *arg, int level, const char *line)
{
	struct sim_world *w = arg;

	(void)level;
	if (w->verbose)
		printf("  %s\n", line);
	if (line_accuses(line) && (!w->flips || strstr(line, "session with ")))
		sim_fail(w, "an honest peer is accused: %s", line);
}

/* ---- making ---------------------------------------------------------------------- */

int
sim_open_engine(struct sim_world *w, int i, int predecessor)
{
	struct sim_engine *e = &w->engine[i];
	int rc;
	struct engine_env env = { .clock = *tcpx_fabric_clock(w->fabric), .net = w->ops,
				  .fabric = w->fabric, .device = &tcpx_device_host,
				  .manual = true, .nics = e->nic,
				  .secret = w->secret.ops ? &w->secret : NULL };
	char name[16];
	struct tcpx_engine_opts opts = { .struct_size = sizeof(opts), .name = name,
					 .settings = w->settings };

	e->name = predecessor < 0 ? i : predecessor;
	snprintf(name, sizeof(name), "e%d", e->name);
	e->nic_count = (uint32_t)sim_between(w, 1, SIM_NICS);
	for (uint32_t n = 0; n < e->nic_count; n++) {
		e->nic[n] = (struct tcpx_nic){ .numa = -1,
					       .addr = { .family = 4, .prefix = 24,
							 .ip = { 10, (uint8_t)n, 0,
								 (uint8_t)(e->name + 1) } } };
		snprintf(e->nic[n].name, sizeof(e->nic[n].name), "eth%u", n);
	}
	env.nic_count = e->nic_count;
	e->slow = (struct tcpx_slow_device){ .clock = tcpx_fabric_clock(w->fabric),
					     .seed = tcpx_rng_next(&w->rng),
					     .delay_max_ns = sim_between(w, 0, TCPX_MS),
					     .full_ppm = 50000,
					     .next_ns = SIM_NEVER };
	if (!sim_one_in(w, 4)) {
		env.device = &tcpx_device_slow;
		env.device_arg = &e->slow;
	}
	e->gpu = e->slow;
	e->gpu.seed = tcpx_rng_next(&w->rng);
	if (w->weather == SIM_WILD && sim_one_in(w, 4))
		e->gpu.broken_ppm = 50000;
	e->gpu_src = sim_one_in(w, 3);
	e->gpu_dst = sim_one_in(w, 3);
	e->lends = (w->seed ^ (uint64_t)(e - w->engine)) & 1;
	env.gpu = &tcpx_device_slow;
	env.gpu_arg = e->gpu_src || e->gpu_dst ? &e->gpu : NULL;
	rc = tcpx_engine_open(&opts, &env, &e->engine);
	if (rc == 0) { /* of two sessions one opens by their order */
		struct tcpx_rng rng = tcpx_rng_seed(w->seed ^ (0x1ca0u + (uint32_t)i));

		e->engine->incarnation = tcpx_rng_next(&rng) | 1;
	}
	if (rc == 0 && w->seed % 3 == 0) /* as if threads ran it by testing: posts wait for a turn */
		atomic_store(&e->engine->loop[0].lease.look_ns, 1);
	if (rc == 0) /* with CPUs to spare, long messages may travel in frames */
		e->engine->limit.long_frames = w->seed >> 2 & 1;
	if (rc == 0 && w->turn_cost)
		e->engine->limit.turn_cost = w->turn_cost;
	if (rc == 0 && w->turn_pieces)
		e->engine->limit.turn_pieces = w->turn_pieces;
	if (rc == 0 && w->wide_bytes) {
		e->engine->limit.wide_bytes = w->wide_bytes;
		e->engine->limit.narrow_ns = w->narrow_ns;
	}
	return rc;
}

static int
make(struct sim_world *w)
{
	int n = (int)w->engine_count, rc = 0;

	for (int i = 0; i < n && rc == 0; i++) {
		rc = sim_open_engine(w, i, -1);
		if (rc)
			w->engine[i].closed = true;
		else
			rc = sim_memory_open(w, i);
	}
	return rc ? rc : sim_meet(w, 0);
}

/* ---- running --------------------------------------------------------------------- */

/* Every engine once, in random order. */
static void
turn(struct sim_world *w)
{
	uint32_t first = (uint32_t)sim_between(w, 0, w->engine_count - 1);
	uint32_t step = sim_one_in(w, 2) ? 1 : w->engine_count - 1;

	for (uint32_t i = 0; i < w->engine_count; i++) {
		struct sim_engine *e = &w->engine[(first + i * step) % w->engine_count];

		if (!e->closed && !sim_naps(w, (int)(e - w->engine)))
			tcpx_engine_step(e->engine);
	}
}

static uint64_t
next_ns(struct sim_world *w)
{
	uint64_t now = tcpx_fabric_now(w->fabric), next = tcpx_fabric_next_ns(w->fabric);

	for (uint32_t i = 0; i < w->engine_count; i++) {
		struct sim_engine *e = &w->engine[i];
		uint64_t t;

		if (e->closed || sim_naps(w, (int)i))
			continue;
		t = tcpx_engine_timer(e->engine);
		if (t < next)
			next = t;
		if (e->slow.next_ns < next)
			next = e->slow.next_ns;
		if (e->gpu.next_ns < next)
			next = e->gpu.next_ns;
	}
	if (sim_work_next_ns(w) < next)
		next = sim_work_next_ns(w);
	if (w->restart_ns < next)
		next = w->restart_ns;
	if (sim_again_next_ns(w) < next)
		next = sim_again_next_ns(w);
	if (sim_naps_next_ns(w) < next)
		next = sim_naps_next_ns(w);
	if (sim_lanes_next_ns(w) < next)
		next = sim_lanes_next_ns(w);
	/* faults that wait for the sessions to stand are no reason to hurry */
	if (sim_faults_next_ns(w) > now && sim_faults_next_ns(w) < next)
		next = sim_faults_next_ns(w);
	/* A deadline that has passed is served a moment later, not never. */
	return next > now ? next : now + 1000;
}

static void
run(struct sim_world *w)
{
	uint64_t quiet_ns = 0; /* all has ended and nobody sleeps: late bytes may still come until then */
	uint64_t seen;
	uint32_t turns = 0, quiet;

	while (!w->failed) {
		uint64_t next;

		for (quiet = 0; quiet < QUIET_TURNS && !w->failed; quiet++) {
			seen = tcpx_fabric_activity(w->fabric);
			sim_faults_do(w);
			sim_restart(w);
			sim_work_do(w);
			sim_lanes_do(w);
			turn(w);
			sim_twins_look(w);
			sim_again(w);
			sim_work_look(w);
			if (tcpx_fabric_activity(w->fabric) != seen)
				quiet = 0;
			if (++turns > TURNS_MAX)
				sim_fail(w, "no rest after %u turns", turns);
		}
		next = next_ns(w);
		if (sim_work_ended(w) && sim_lanes_ended(w) && !quiet_ns &&
		    sim_naps_next_ns(w) == SIM_NEVER && w->restart_ns == SIM_NEVER &&
		    sim_again_next_ns(w) == SIM_NEVER)
			quiet_ns = tcpx_fabric_now(w->fabric) + SETTLE_NS;
		if (quiet_ns && (next > quiet_ns || next == SIM_NEVER))
			return;
		if (next == SIM_NEVER || next > LIMIT_NS) {
			for (uint32_t i = 0; i < w->xfer_count; i++)
				for (int h = 0; h < 2; h++)
					if (w->xfer[i].handle[h].posted &&
					    !w->xfer[i].handle[h].ended)
						sim_fail(w, "transfer %u (%d) never ended", i,
							 h);
			sim_lanes_hang(w);
			return;
		}
		tcpx_fabric_advance(w->fabric, next);
		if (next >= w->calm_ns)
			tcpx_fabric_calm(w->fabric);
	}
}

static void
check_device(struct sim_world *w, int e, const struct tcpx_slow_device *d)
{
	if (d->live || d->queues || d->pinned)
		sim_fail(w, "engine %d left %llu batches, %llu queues, %llu pieces of pinned memory",
			 e, (unsigned long long)d->live, (unsigned long long)d->queues,
			 (unsigned long long)d->pinned);
}

static void
take_apart(struct sim_world *w, bool made)
{
	uint32_t first = (uint32_t)sim_between(w, 0, w->engine_count - 1);

	w->totals->virtual_ns += tcpx_fabric_now(w->fabric) - TCPX_SEC;
	w->totals->flips += tcpx_fabric_flips(w->fabric);
	if (made && !w->failed) {
		sim_credit_check(w);
		sim_work_judge(w);
		sim_lanes_judge(w);
	}
	for (uint32_t i = 0; i < w->engine_count; i++) {
		int e = (int)((first + i) % w->engine_count);

		if (!w->engine[e].engine)
			continue;
		if (made && !w->failed && i == 0) {
			sim_memory_check(w);
			sim_lanes_check(w);
		}
		sim_work_close_engine(w, e);
		check_device(w, e, &w->engine[e].slow);
		check_device(w, e, &w->engine[e].gpu);
	}
	if (tcpx_fabric_violations(w->fabric))
		sim_fail(w, "%u rules broken, first: %s", tcpx_fabric_violations(w->fabric),
			 tcpx_fabric_violation(w->fabric));
	for (uint32_t i = 0; i < w->engine_count; i++) {
		for (int r = 0; r < SIM_REGIONS && made && !w->failed; r++) {
			const struct sim_region *region = &w->engine[i].region[r];

			if (region->frozen && memcmp(region->mem, region->frozen, region->len))
				sim_fail(w, "engine %u region %d changed after close", i, r);
		}
		sim_memory_close(&w->engine[i]);
	}
	if (made && !w->failed)
		sim_lanes_check(w);
	sim_lanes_free(w);
	for (uint32_t i = 0; i < w->xfer_count; i++)
		free(w->xfer[i].frozen);
	tcpx_fabric_free(w->fabric);
	plain_seal_close(w->secret.lib);
}

static void
print_plan(const struct sim_world *w)
{
	static const char *const weather[] = { "", ", survivable faults", ", wild" };

	printf("seed %llu: %u engines, %s%s", (unsigned long long)w->seed, w->engine_count,
	       w->ops->name, weather[w->weather]);
	for (int i = 0; w->settings[i]; i++)
		printf(", %s", w->settings[i] + strlen("TCPX_"));
	printf("\n");
}

bool
sim_world_run(uint64_t seed, bool verbose, struct sim_totals *totals)
{
	struct sim_world *w = calloc(1, sizeof(*w));
	bool ok;
	int rc;

	if (!w)
		return false;
	w->seed = seed;
	w->rng = tcpx_rng_seed(seed);
	w->verbose = verbose;
	w->totals = totals;
	w->engine_count = (uint32_t)sim_between(w, 2, 3);
	sim_plan_network(w);
	sim_plan_naps(w);
	sim_plan_settings(w);
	sim_plan_meeting(w);
	sim_plan_again(w);
	if (!w->fabric) {
		free(w);
		return false;
	}
	if (verbose)
		print_plan(w);
	tcpx_log_sink(log_line, w);
	rc = make(w);
	if (rc) {
		sim_fail(w, "cannot open: %s", tcpx_strerror_name(rc));
	} else {
		sim_plan_work(w);
		sim_lanes_plan(w);
		sim_naps_delay(w);
		run(w);
	}
	take_apart(w, rc == 0);
	totals->worlds++;
	ok = !w->failed;
	tcpx_log_sink(NULL, NULL);
	free(w);
	return ok;
}
