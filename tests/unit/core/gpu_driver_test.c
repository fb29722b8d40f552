/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Engines over the driver in software. Each call of it fails once, at each of its first turns,
 * and the device fails with transfers in flight: what names GPU memory ends with a cause or
 * goes well, and transfers of host memory do not notice.
 */
#include "gpus.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fake/fakecuda.h"

#define LEN       300000
#define TURNS_MAX 6 /* calls of a loop come again and again */

#define MEMBER(result, name, params) result(*name) params;
static struct {
	FAKECUDA_HOOKS(MEMBER)
} fakecuda;

#define NAME(name, symbol, params) #name,
static const char *const calls[] = { TCPX_CUDA_REQUIRED(NAME) TCPX_CUDA_OPTIONAL(NAME) };

enum { CALLS = sizeof(calls) / sizeof(*calls) };

/* Two engines with GPU memory, which may have no name, and host memory. */
struct pair {
	struct rig r;
	struct mem gpu[2];
	int refused; /* the code of a registration of GPU memory */
};

static void
driver_open(struct gpus *g)
{
	void *found = dlopen(gpus_library(), RTLD_NOW | RTLD_LOCAL);

	assert_non_null(found);
#define FIND(result, name, params) *(void **)&fakecuda.name = dlsym(found, #name);
	FAKECUDA_HOOKS(FIND)
	gpus_open(g, LEN);
	fakecuda.fakecuda_reset();
}

static void
driver_close(struct gpus *g)
{
	fakecuda.fakecuda_reset();
	gpus_close(g);
}

static bool
is_cause(int rc)
{
	return rc == -EIO || rc == -ENODEV || rc == -ENOMEM;
}

/* Memory that is refused, with a cause, is far.id 0. */
static void
lend(struct pair *p, const struct gpus *g, int i, tcpx_engine *e)
{
	struct mem *m = &p->gpu[i];
	int rc;

	*m = (struct mem){ .at = (uint8_t *)(uintptr_t)g->memory[i], .len = LEN };
	fill(m->at, LEN, 10 + (uint32_t)i);
	rc = tcpx_mem_register(e, m->at, LEN, TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE, &m->id);
	if (rc && !is_cause(rc))
		fail_msg("GPU memory is refused with %s", tcpx_strerror_name(rc));
	p->refused = rc ? rc : p->refused;
}

static void
pair_open_with(struct pair *p, const struct gpus *g, const char *impl, const char *more)
{
	char driver[512], how[64];
	const char *const set[] = { driver, how, more, NULL };

	snprintf(driver, sizeof(driver), "TCPX_CUDA_LIBRARY=%s", gpus_library());
	snprintf(how, sizeof(how), "TCPX_UNPACK_IMPL=%s", impl);
	memset(p, 0, sizeof(*p));
	rig_begin(&p->r, set, set);
	lend(p, g, 0, p->r.a);
	lend(p, g, 1, p->r.b);
	if (!p->refused)
		p->gpu[1].far = mem_tell(&p->gpu[1], p->r.b, p->r.a);
}

static void
pair_open(struct pair *p, const struct gpus *g, const char *impl)
{
	pair_open_with(p, g, impl, NULL);
}

static tcpx_xfer *
post(struct pair *p, bool write)
{
	struct tcpx_desc l = { p->gpu[0].id, 0, LEN }, f = { p->gpu[1].far, 0, LEN };
	tcpx_xfer *x;

	assert_ok(write ? tcpx_write(p->r.to_b, &l, 1, &f, 1, NULL, 0, &x) :
			  tcpx_read(p->r.to_b, &l, 1, &f, 1, NULL, 0, &x));
	return x;
}

static void
host_memory_moves(struct pair *p)
{
	fill(p->r.near.at, LEN, 1);
	fill(p->r.far.at, LEN, 2);
	assert_ok(rig_move(&p->r, TCPX_OP_WRITE, 0, 0, LEN));
	assert_filled(p->r.far.at, LEN, 1);
}

/* The driver is asked where memory lies. If it cannot say, host memory is host memory all the same. */
static void
ask_for(tcpx_engine *e, const char *call)
{
	static uint8_t probe[64];
	uint64_t id;
	int rc = tcpx_mem_register(e, probe, sizeof(probe), TCPX_MEM_LOCAL, &id);

	if (rc)
		fail_msg("%s failed: host memory is refused with %s", call, tcpx_strerror_name(rc));
}

/* GPU memory moves one way, host memory the other way meanwhile. True: the call came. */
static bool
move_with(const struct gpus *g, const char *impl, const char *call, unsigned n)
{
	struct pair p;
	tcpx_xfer *x = NULL;
	unsigned looks = 0;
	bool hit;
	int rc;

	fakecuda.fakecuda_reset();
	fakecuda.fakecuda_fail(call, n, CUDA_ERROR_LAUNCH_FAILED);
	pair_open(&p, g, impl);
	while (fakecuda.fakecuda_calls(call) < n && looks++ < 4)
		ask_for(looks & 1 ? p.r.a : p.r.b, call);
	rig_memory(&p.r, LEN, LEN);
	if (!p.refused)
		x = post(&p, n & 1);
	host_memory_moves(&p);
	if (x) {
		rc = finish(x);
		if (rc && !is_cause(rc))
			fail_msg("call %u of %s failed: %s", n, call, tcpx_strerror_name(rc));
		if (!rc)
			assert_filled(p.gpu[n & 1].at, LEN, 10 + !(n & 1));
	}
	host_memory_moves(&p);
	hit = fakecuda.fakecuda_calls(call) >= n;
	rig_end(&p.r);
	for (int i = 0; i < 2; i++)
		if (!fakecuda.fakecuda_retained(i))
			fail_msg("call %u of %s failed: the caller's context is gone", n, call);
	return hit;
}

/* A context that cannot be taken off stays on the thread's stack, where it fills up. */
static bool
turn_of(const char *call, unsigned n)
{
	return n <= (strcmp(call, "cuCtxPopCurrent") ? TURNS_MAX : 1);
}

TEST(each_call_may_fail_at_each_turn)
{
	static const char *const impls[] = { "kernel", "d2d", "host" };
	struct gpus g;

	driver_open(&g);
	for (int k = 0; k < 3; k++)
		for (int i = 0; i < CALLS; i++)
			for (unsigned n = 1; turn_of(calls[i], n); n++)
				if (!move_with(&g, impls[k], calls[i], n))
					break;
	driver_close(&g);
}

/* No call fails, and no work of the device ends. */
TEST(a_device_that_hangs_ends_its_transfers_only)
{
	uint64_t end_ns;
	struct gpus g;
	struct pair p;
	tcpx_xfer *x[8];
	int rc;

	driver_open(&g);
	pair_open_with(&p, &g, "kernel", "TCPX_STALL_MS=4000");
	assert_ok(p.refused);
	rig_memory(&p.r, LEN, LEN);
	fakecuda.fakecuda_hold(true);
	for (int i = 0; i < 8; i++)
		x[i] = post(&p, i & 1);
	host_memory_moves(&p);
	for (int i = 0; i < 8; i++)
		assert_code(finish(x[i]), -EIO);
	host_memory_moves(&p);
	ask_for(p.r.a, "nothing");
	fakecuda.fakecuda_hold(false);
	end_ns = tcpx_clock_now(&tcpx_clock_system) + WAIT_MS * TCPX_MS;
	do {
		fill(p.gpu[0].at, LEN, 20);
		rc = finish(post(&p, true));
	} while (rc == -EIO && tcpx_clock_now(&tcpx_clock_system) < end_ns);
	assert_ok(rc);
	assert_filled(p.gpu[1].at, LEN, 20);
	rig_end(&p.r);
	driver_close(&g);
}

/* The last test: what such a device still had to do comes late, when the failure is taken back. */
TEST(a_device_may_fail_with_transfers_in_flight)
{
	struct gpus g;
	struct pair p;
	tcpx_xfer *x[4];

	driver_open(&g);
	fakecuda.fakecuda_reset();
	pair_open(&p, &g, "kernel");
	assert_ok(p.refused);
	rig_memory(&p.r, LEN, LEN);
	fakecuda.fakecuda_hold(true);
	fakecuda.fakecuda_allow(1);
	for (int i = 0; i < 4; i++)
		x[i] = post(&p, i & 1);
	fakecuda.fakecuda_break(CUDA_ERROR_INVALID_CONTEXT);
	for (int i = 0; i < 4; i++) {
		int rc = finish(x[i]);

		if (rc && !is_cause(rc))
			fail_msg("in flight: %s", tcpx_strerror_name(rc));
	}
	host_memory_moves(&p);
	assert_true(is_cause(finish(post(&p, true))));
	host_memory_moves(&p);
	ask_for(p.r.a, "the device");
	rig_end(&p.r);
	fakecuda.fakecuda_break(0);
	fakecuda.fakecuda_hold(false);
	driver_close(&g);
}
