/* SPDX-License-Identifier: Apache-2.0 */
/* Engines with scripted GPUs and a manual clock. See gpu_rig.h. */
#include "gpu_rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SETTINGS  16
#define TURNS_MAX 1000000u
#define QUIET     4
#define LOOK_NS   10000 /* so often events are looked at */

static void
remember(void *arg, int level, const char *line)
{
	struct gpu_rig *r = arg;

	if (level <= TCPX_LOG_WARN)
		snprintf(r->said, sizeof(r->said), "%s", line);
	if (getenv("RIG_LOG"))
		fprintf(stderr, "# %d %s\n", level, line);
}

uint64_t
gpu_now(const struct gpu_rig *r)
{
	return tcpx_fabric_now(r->fabric);
}

static uint64_t
engines_now(void *arg)
{
	struct gpu_rig *r = arg;

	return gpu_now(r) + r->tick_ns * r->looks++;
}

static void
open_side(struct gpu_rig *r, uint32_t i, const char *const *settings)
{
	const char *all[SETTINGS] = { "TCPX_CHANNELS=2", "TCPX_THREADS=1", "TCPX_INLINE=0",
				      "TCPX_STALL_MS=10000", "TCPX_KEEPALIVE_MS=60000", "TCPX_NARROW=0" };
	struct side *s = &r->side[i];
	struct engine_env env = { .clock = { engines_now, r }, .net = r->net,
				  .fabric = r->fabric, .device = &tcpx_device_host,
				  .gpu = &r->ops, .gpu_arg = &s->gpu, .manual = true,
				  .nics = s->nic, .nic_count = 2 };
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	char name[16];
	size_t n = 0;

	while (all[n])
		n++;
	while (settings && *settings && n < SETTINGS - 1)
		all[n++] = *settings++;
	snprintf(name, sizeof(name), "e%u", i);
	for (uint8_t k = 0; k < 2; k++) {
		s->nic[k] = (struct tcpx_nic){ .numa = -1,
			.addr = { .family = 4, .prefix = 24,
				  .ip = { 10, k, 0, (uint8_t)(i + 1) } } };
		snprintf(s->nic[k].name, sizeof(s->nic[k].name), "eth%u", k);
	}
	s->gpu = (struct tcpx_slow_device){ .clock = tcpx_fabric_clock(r->fabric),
					    .seed = i + 1, .delay_min_ns = 50000,
					    .delay_max_ns = 200000, .next_ns = UINT64_MAX };
	opts.name = name;
	opts.settings = all;
	opts.log = remember;
	opts.log_arg = r;
	assert_ok(tcpx_engine_open(&opts, &env, &s->e));
}

void
gpu_begin(struct gpu_rig *r, const struct tcpx_net_ops *net, uint32_t count,
	  const struct tcpx_fabric_script *script, const char *const *settings)
{
	uint8_t blob[4096];
	size_t len;

	memset(r, 0, sizeof(*r));
	r->net = net;
	r->ops = tcpx_device_slow;
	r->count = count;
	r->fabric = tcpx_fabric_new(1, script);
	assert_non_null(r->fabric);
	for (uint32_t i = 0; i < count; i++) {
		open_side(r, i, settings);
		r->side[i].e->incarnation = i + 1; /* of two sessions the one of the first side stays */
	}
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < count; k++) {
			if (i == k)
				continue;
			len = sizeof(blob);
			assert_ok(tcpx_metadata(r->side[k].e, blob, &len));
			assert_ok(tcpx_peer_add(r->side[i].e, blob, len, &r->side[i].to[k]));
		}
	gpu_turns(r, 100);
}

void
gpu_close(struct gpu_rig *r, uint32_t side)
{
	struct side *s = &r->side[side];

	tcpx_close(s->e);
	s->e = NULL;
	assert_int_equal(s->gpu.live, 0);
	assert_int_equal(s->gpu.queues, 0);
	assert_int_equal(s->gpu.pinned, 0);
}

void
gpu_end(struct gpu_rig *r)
{
	for (uint32_t i = 0; i < r->count; i++)
		gpu_close(r, i);
	assert_string_equal(tcpx_fabric_violation(r->fabric), "");
	for (uint32_t i = 0; i < r->areas; i++)
		free(r->area[i].at);
	tcpx_fabric_free(r->fabric);
}

struct area *
gpu_area(struct gpu_rig *r, int owner, int place, size_t len, uint32_t seed)
{
	struct area *a = &r->area[r->areas++];
	struct tcpx_slow_device *gpu = &r->side[owner].gpu;
	uint8_t blob[64];
	size_t n;

	assert_in_range(r->areas, 1, GPU_AREAS);
	*a = (struct area){ .at = malloc(len), .len = len, .owner = owner };
	assert_non_null(a->at);
	fill(a->at, len, seed);
	if (place != HOST) {
		gpu->range[gpu->range_count].addr = a->at;
		gpu->range[gpu->range_count].len = len;
		gpu->range[gpu->range_count++].place = place;
		assert_ok(tcpx_fabric_forbid(r->fabric, a->at, len));
	}
	assert_ok(tcpx_mem_register(r->side[owner].e, a->at, len,
				    TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE, &a->id));
	for (uint32_t i = 0; i < r->count; i++) {
		if ((int)i == owner)
			continue;
		n = sizeof(blob);
		assert_ok(tcpx_mem_export(r->side[owner].e, a->id, blob, &n));
		assert_ok(tcpx_mem_import(r->side[i].e, blob, n, &a->far[i]));
	}
	return a;
}

/* ---- time ---- */

static void
step_all(struct gpu_rig *r)
{
	for (uint32_t i = 0; i < r->count; i++)
		if (r->side[i].e)
			tcpx_engine_step(r->side[i].e);
}

/* The next moment at which anything may happen. */
static uint64_t
next_ns(const struct gpu_rig *r)
{
	uint64_t now = gpu_now(r), next = tcpx_fabric_next_ns(r->fabric);

	for (uint32_t i = 0; i < r->count; i++) {
		const struct side *s = &r->side[i];
		uint64_t at = s->e ? tcpx_engine_timer(s->e) : UINT64_MAX;

		next = at < next ? at : next;
		next = s->gpu.next_ns < next ? s->gpu.next_ns : next;
	}
	for (uint32_t i = 0; i < r->count; i++)
		if (r->side[i].e && atomic_load(&r->side[i].e->registry.after_event) && next > now + LOOK_NS)
			next = now + LOOK_NS;
	return next > now ? next : now + 1000;
}

void
gpu_turn(struct gpu_rig *r)
{
	uint64_t seen = tcpx_fabric_activity(r->fabric);

	for (uint32_t quiet = 0; quiet < QUIET; quiet++) {
		step_all(r);
		if (tcpx_fabric_activity(r->fabric) != seen)
			return;
	}
	tcpx_fabric_advance(r->fabric, next_ns(r));
}

void
gpu_turns(struct gpu_rig *r, uint32_t n)
{
	while (n-- > 0)
		gpu_turn(r);
}

void
gpu_pass(struct gpu_rig *r, uint64_t ns)
{
	uint64_t end = gpu_now(r) + ns, next;

	while (gpu_now(r) < end) {
		for (uint32_t quiet = 0; quiet < QUIET; quiet++)
			step_all(r);
		next = next_ns(r);
		if (next < gpu_now(r) + ns / 1000)
			next = gpu_now(r) + ns / 1000;
		tcpx_fabric_advance(r->fabric, next < end ? next : end);
	}
	for (uint32_t quiet = 0; quiet < QUIET; quiet++)
		step_all(r);
}

int
gpu_wait(struct gpu_rig *r, tcpx_xfer *x)
{
	for (uint32_t turn = 0; turn < TURNS_MAX; turn++) {
		if (tcpx_test(x) != -EAGAIN)
			return tcpx_test(x);
		gpu_turn(r);
	}
	fail_msg("a transfer has not ended after %u turns", TURNS_MAX);
	return -EAGAIN;
}

int
gpu_finish(struct gpu_rig *r, tcpx_xfer *x)
{
	int rc = gpu_wait(r, x);

	tcpx_xfer_free(x);
	return rc;
}

tcpx_xfer *
gpu_post(struct gpu_rig *r, enum tcpx_op op, const struct area *near, const struct area *far,
	 uint64_t len)
{
	struct side *s = &r->side[near->owner];
	struct tcpx_desc l = { near->id, 0, len }, f = { far->far[near->owner], 0, len };
	tcpx_peer *to = s->to[far->owner];
	tcpx_xfer *x;

	assert_ok(op == TCPX_OP_WRITE ? tcpx_write(to, &l, 1, &f, 1, NULL, 0, &x) :
					tcpx_read(to, &l, 1, &f, 1, NULL, 0, &x));
	return x;
}
