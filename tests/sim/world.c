/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One world: made, run under virtual time until every transfer has ended, and taken apart.
 * Engines step in random order; time moves only when no engine has work left.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "core/loop/loop.h"
#include "sim/accuse.h"
#include "sim/sim.h"

#define QUIET_TURNS 3
#define TURNS_MAX   4000000u /* a slow NIC may have room for a byte in each */
#define LIMIT_NS    (200 * TCPX_SEC)
#define SETTLE_NS   (2 * TCPX_SEC) /* a session may open a second after its first channel */

static volatile uint64_t watched;

static void
hangs(int signo)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "seed %" PRIu64 " hangs\n", watched);

	(void)signo;
	(void)!write(STDOUT_FILENO, line, (size_t)n);
	abort();
}

void
sim_watch(uint64_t seed, unsigned seconds)
{
	watched = seed;
	signal(SIGALRM, hangs);
	alarm(seconds);
}

void
sim_fail(struct sim_world *w, const char *fmt, ...)
{
	va_list args;

	if (w->failed)
		return;
	w->failed = true;
	printf("%sseed %llu, %s%s, at %.3f ms: ", w->babble ? "--babble, " : "",
	       (unsigned long long)w->seed, w->ops->name, w->secret.ops ? ", secret" : "",
	       (double)(sim_now(w) - w->begun_ns) / TCPX_MS);
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

/* No engine lies, so no line may accuse a peer that is no babbler. Bits that flip cost channels and
 * control connections, and end no session. */
static void
log_line(void *arg, int level, const char *line)
{
	struct sim_world *w = arg;

	(void)level;
	if (w->verbose)
		printf("  %s\n", line);
	if (!w->babble && line_accuses(line) && (!w->flips || strstr(line, "session with ")))
		sim_fail(w, "an honest peer is accused: %s", line);
}

/* ---- making ---------------------------------------------------------------------- */

void
sim_nic(const struct sim_world *w, uint8_t n, uint8_t place, struct tcpx_nic *nic)
{
	*nic = (struct tcpx_nic){ .numa = -1, .addr = { .family = 4, .prefix = 24,
							.ip = { w->fabric ? 10 : 127, n, 0, place } } };
	snprintf(nic->name, sizeof(nic->name), "eth%u", n);
}

/* The device has virtual time, and no threads. */
static void
plan_devices(struct sim_world *w, struct sim_engine *e, struct engine_env *env)
{
	e->slow = (struct tcpx_slow_device){ .clock = w->clock,
					     .seed = tcpx_rng_next(&w->rng),
					     .delay_max_ns = sim_between(w, 0, TCPX_MS),
					     .full_ppm = 50000,
					     .next_ns = SIM_NEVER };
	if (!sim_one_in(w, 4) && w->fabric) {
		env->device = &tcpx_device_slow;
		env->device_arg = &e->slow;
	}
	e->gpu = e->slow;
	e->gpu.seed = tcpx_rng_next(&w->rng);
	if (w->weather == SIM_WILD && sim_one_in(w, 4))
		e->gpu.broken_ppm = 50000;
	e->gpu_src = sim_one_in(w, 3) && w->fabric;
	e->gpu_dst = sim_one_in(w, 3) && w->fabric;
	env->gpu = &tcpx_device_slow;
	env->gpu_arg = e->gpu_src || e->gpu_dst ? &e->gpu : NULL;
}

static void
set_limits(struct sim_world *w, struct sim_engine *e)
{
	struct tcpx_rng rng = tcpx_rng_seed(w->seed ^ (0x1ca0u + (uint32_t)(e - w->engine)));

	/* of two sessions one opens by their order */
	e->incarnation = e->engine->incarnation = tcpx_rng_next(&rng) | 1;
	if (w->seed % 3 == 0 && w->fabric) /* as if threads ran it by testing: posts wait for a turn */
		atomic_store(&e->engine->loop[0].lease.look_ns, 1);
	/* with CPUs to spare, long messages may travel in frames */
	e->engine->limit.long_frames = w->seed >> 2 & 1;
	if (w->turn_cost)
		e->engine->limit.turn_cost = w->turn_cost;
	if (w->turn_pieces)
		e->engine->limit.turn_pieces = w->turn_pieces;
	if (w->wide_bytes) {
		e->engine->limit.wide_bytes = w->wide_bytes;
		e->engine->limit.narrow_ns = w->narrow_ns;
	}
	if (w->babble && w->seed / 3 % 8)
		e->engine->limit.breach_ns = 0; /* else few words are heard after the first wrong ones */
}

int
sim_open_engine(struct sim_world *w, int i, int predecessor)
{
	struct sim_engine *e = &w->engine[i];
	int rc;
	struct engine_env env = { .clock = *w->clock, .net = w->ops,
				  .fabric = w->fabric, .device = &tcpx_device_host,
				  .manual = w->fabric != NULL, .nics = e->nic,
				  .secret = w->secret.ops ? &w->secret : NULL };
	char name[16];
	struct tcpx_engine_opts opts = { .struct_size = sizeof(opts), .name = name,
					 .settings = w->settings };

	e->name = predecessor < 0 ? i : predecessor;
	snprintf(name, sizeof(name), "e%d", e->name);
	e->nic_count = (uint32_t)sim_between(w, 1, w->fabric ? SIM_NICS : 1);
	for (uint32_t n = 0; n < e->nic_count; n++)
		sim_nic(w, (uint8_t)n, (uint8_t)(e->name + 1), &e->nic[n]);
	env.nic_count = e->nic_count;
	plan_devices(w, e, &env);
	e->lends = (w->seed ^ (uint64_t)(e - w->engine)) & 1;
	env.gpu = &tcpx_device_slow;
	env.gpu_arg = e->gpu_src || e->gpu_dst ? &e->gpu : NULL;
	rc = tcpx_engine_open(&opts, &env, &e->engine);
	if (rc == 0)
		set_limits(w, e);
	return rc;
}

void
sim_plan(struct sim_world *w)
{
	w->work_ns = SIM_WORK_NS;
	w->engine_count = (uint32_t)sim_between(w, 2, w->weather == SIM_BABBLE ? 2 : 3);
	if (!w->clock)
		sim_plan_network(w);
	if (!w->clock)
		return;
	sim_babble_plan(w);
	sim_plan_naps(w);
	sim_plan_settings(w);
	sim_plan_meeting(w);
	sim_plan_again(w);
}

int
sim_open(struct sim_world *w)
{
	int n = (int)w->engine_count, rc = 0;

	for (int i = 0; i < n && rc == 0; i++) {
		rc = sim_open_engine(w, i, -1);
		if (rc)
			w->engine[i].closed = true;
		else
			rc = sim_memory_open(w, i);
	}
	if (rc == 0)
		rc = sim_meet(w, 0);
	if (rc == 0)
		rc = sim_host_begin(w);
	if (rc) {
		sim_fail(w, "cannot open: %s", tcpx_strerror_name(rc));
		return rc;
	}
	w->begun_ns = sim_now(w); /* sockets took their time to open */
	sim_plan_work(w);
	sim_lanes_plan(w);
	sim_naps_delay(w);
	return 0;
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
	uint64_t now = sim_now(w), next = tcpx_fabric_next_ns(w->fabric);

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
	if (sim_host_next_ns(w) < next)
		next = sim_host_next_ns(w);
	/* faults that wait for the sessions to stand are no reason to hurry */
	if (sim_faults_next_ns(w) > now && sim_faults_next_ns(w) < next)
		next = sim_faults_next_ns(w);
	/* A deadline that has passed is served a moment later, not never. */
	return next > now ? next : now + 1000;
}

static void
look(struct sim_world *w)
{
	sim_twins_look(w);
	sim_again(w);
	sim_work_look(w);
	sim_host_look(w);
}

/* Does all that can be done now. */
static void
moment(struct sim_world *w)
{
	for (uint32_t quiet = 0; quiet < QUIET_TURNS && !w->failed; quiet++) {
		uint64_t seen = tcpx_fabric_activity(w->fabric);

		sim_faults_do(w);
		sim_restart(w);
		sim_work_do(w);
		sim_lanes_do(w);
		sim_host_do(w);
		turn(w);
		sim_host_judges(w);
		if (!w->babble)
			look(w);
		if (tcpx_fabric_activity(w->fabric) != seen)
			quiet = 0;
		if (++w->turns > TURNS_MAX)
			sim_fail(w, "no rest after %u turns", w->turns);
	}
	if (w->babble) /* whose words make many turns */
		look(w);
}

static bool
has_ended(struct sim_world *w)
{
	return sim_work_ended(w) && sim_lanes_ended(w) && sim_host_ended(w) &&
	       sim_naps_next_ns(w) == SIM_NEVER && w->restart_ns == SIM_NEVER &&
	       sim_again_next_ns(w) == SIM_NEVER;
}

static void
hang(struct sim_world *w)
{
	for (uint32_t i = 0; i < w->xfer_count; i++)
		for (int h = 0; h < 2; h++)
			if (w->xfer[i].handle[h].posted && !w->xfer[i].handle[h].ended)
				sim_fail(w, "transfer %u (%d) never ended", i, h);
	sim_lanes_hang(w);
	sim_host_hang(w);
}

static void
run(struct sim_world *w)
{
	uint64_t quiet_ns = 0; /* all has ended and nobody sleeps: late bytes may still come until then */

	while (!w->failed) {
		uint64_t next;

		moment(w);
		next = next_ns(w);
		if (!quiet_ns && has_ended(w))
			quiet_ns = sim_now(w) + SETTLE_NS;
		if (quiet_ns && (next > quiet_ns || next == SIM_NEVER))
			return;
		if (next == SIM_NEVER || next > LIMIT_NS) {
			hang(w);
			return;
		}
		tcpx_fabric_advance(w->fabric, next);
		if (next >= w->calm_ns)
			tcpx_fabric_calm(w->fabric);
	}
}

/* The host alone is left: then nothing is kept for anybody. */
static void
empty(struct sim_world *w)
{
	uint64_t end_ns = sim_now(w) + LIMIT_NS;

	for (uint32_t i = 0; i < w->engine_count; i++)
		for (int k = 0; k < 2; k++) {
			tcpx_peer_free(w->engine[0].peer[i][k]);
			w->engine[0].peer[i][k] = NULL;
		}
	while (!w->failed && !sim_host_is_empty(w)) {
		uint64_t next = next_ns(w);

		if (next > end_ns)
			sim_host_hang(w);
		else
			tcpx_fabric_advance(w->fabric, next);
		moment(w);
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
judge(struct sim_world *w)
{
	if (w->fabric) /* else threads still move it */
		sim_credit_check(w);
	if (w->babble)
		sim_host_takes_all(w);
	sim_work_judge(w);
	sim_lanes_judge(w);
}

/* Closes the engines from @first on. */
static void
close_engines(struct sim_world *w, bool opened, uint32_t first)
{
	for (uint32_t i = 0; i < w->engine_count; i++) {
		int e = (int)((first + i) % w->engine_count);

		if (!w->engine[e].engine)
			continue;
		if (opened && !w->failed && i == 0) {
			sim_memory_check(w);
			sim_lanes_check(w);
		}
		if (opened && w->babble && w->fabric && e == 0)
			empty(w);
		sim_work_close_engine(w, e);
		check_device(w, e, &w->engine[e].slow);
		check_device(w, e, &w->engine[e].gpu);
	}
}

/* Checks the rules of engines; babblers break others on purpose. */
static void
check_rules(struct sim_world *w)
{
	const char *first = w->fabric ? tcpx_fabric_violation(w->fabric) : "";
	bool babbled = w->babble && (strstr(first, "on two channels") || !strncmp(first, "comm: ", 6) ||
				     !strncmp(first, "ack ", 4));

	if (*first && !babbled)
		sim_fail(w, "%u rules broken, first: %s", tcpx_fabric_violations(w->fabric), first);
}

void
sim_close(struct sim_world *w, bool opened)
{
	uint32_t first = (uint32_t)sim_between(w, 0, w->engine_count - 1);

	if (w->fabric) {
		w->totals->virtual_ns += sim_now(w) - w->begun_ns;
		w->totals->flips += tcpx_fabric_flips(w->fabric);
	}
	if (opened && !w->failed)
		judge(w);
	close_engines(w, opened, w->babble ? 1 : first);
	check_rules(w);
	for (uint32_t i = 0; i < w->engine_count; i++) {
		for (int r = 0; r < SIM_REGIONS && opened && !w->failed; r++) {
			const struct sim_region *region = &w->engine[i].region[r];

			if (region->frozen && memcmp(region->mem, region->frozen, region->len))
				sim_fail(w, "engine %u region %d changed after close", i, r);
		}
		sim_memory_close(&w->engine[i]);
	}
	if (opened && !w->failed)
		sim_lanes_check(w);
	sim_lanes_free(w);
	sim_host_end(w);
	for (uint32_t i = 0; i < w->xfer_count; i++)
		free(w->xfer[i].frozen);
	tcpx_fabric_free(w->fabric);
}

static void
print_plan(const struct sim_world *w)
{
	static const char *const weather[] = { "", ", survivable faults", ", wild",
					       ", babblers" };

	printf("seed %llu: %u engines, %s%s", (unsigned long long)w->seed, w->engine_count,
	       w->ops->name, weather[w->weather]);
	for (int i = 0; w->settings[i]; i++)
		printf(", %s", w->settings[i] + strlen("TCPX_"));
	printf("\n");
}

bool
sim_world_run(uint64_t seed, bool babble, bool verbose, struct sim_totals *totals)
{
	struct sim_world *w = calloc(1, sizeof(*w));
	bool ok, opened;

	if (!w)
		return false;
	w->seed = seed;
	w->rng = tcpx_rng_seed(seed);
	w->verbose = verbose;
	w->totals = totals;
	w->weather = babble ? SIM_BABBLE : SIM_SOUND;
	sim_plan(w);
	if (!w->fabric) {
		free(w);
		return false;
	}
	if (verbose)
		print_plan(w);
	tcpx_log_sink(log_line, w);
	opened = sim_open(w) == 0 && sim_babblers_begin(w) == 0;
	if (opened)
		run(w);
	sim_close(w, opened);
	plain_seal_close(w->secret.lib);
	totals->worlds++;
	ok = !w->failed;
	tcpx_log_sink(NULL, NULL);
	free(w);
	return ok;
}
