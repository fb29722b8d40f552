/* SPDX-License-Identifier: Apache-2.0 */
/* The application whose memory the tests copy. */
#include "cuda_rig.h"

#include <dlfcn.h>

struct hooks fakecuda;
const struct tcpx_device_ops *const gpu = &tcpx_device_cuda;

static uint64_t
rig_now(void *arg)
{
	return ((struct rig *)arg)->now_ns;
}

const char *
rig_library(void)
{
	const char *path = getenv("FAKECUDA_LIBRARY");

	if (!path)
		fail_msg("FAKECUDA_LIBRARY is not set");
	return path;
}

static void
find_hooks(void)
{
	static void *library;

	if (library)
		return;
	library = dlopen(rig_library(), RTLD_NOW | RTLD_LOCAL);
	if (!library)
		fail_msg("%s", dlerror());
#define FIND(result, name, params) *(void **)&fakecuda.name = dlsym(library, #name);
	FAKECUDA_HOOKS(FIND)
#undef FIND
}

struct rig *
rig_open_bare(void)
{
	struct rig *r = calloc(1, sizeof(*r));
	CUdeviceptr user;
	void *slots;

	assert_non_null(r);
	find_hooks();
	r->rng = tcpx_rng_seed(7);
	r->clock = (struct tcpx_clock){ rig_now, r };
	r->now_ns = TCPX_SEC;
	assert_int_equal(tcpx_cuda_api_load(rig_library(), &r->cu), 0);
	fakecuda.fakecuda_reset(); /* the environment's script is for others */
	assert_int_equal(r->cu.cuDevicePrimaryCtxRetain(&r->app, 0), 0);
	assert_int_equal(r->cu.cuCtxPushCurrent(r->app), 0);
	assert_int_equal(r->cu.cuMemAlloc(&user, USER_BYTES), 0);
	assert_int_equal(r->cu.cuMemHostAlloc(&slots, SLOTS_BYTES, 3), 0);
	r->user = (uint8_t *)(uintptr_t)user;
	r->slots = slots;
	r->want = malloc(USER_BYTES);
	assert_non_null(r->want);
	fakecuda.fakecuda_reset();
	return r;
}

int
rig_device(struct rig *r, enum tcpx_unpack_impl impl)
{
	struct tcpx_device_params params = { .library = rig_library(), .impl = impl,
					     .clock = &r->clock };

	return gpu->open(&params, &r->dev);
}

struct rig *
rig_open(enum tcpx_unpack_impl impl)
{
	struct rig *r = rig_open_bare();

	assert_int_equal(rig_device(r, impl), 0);
	return r;
}

void
rig_context_is_kept(struct rig *r)
{
	CUcontext now = NULL;

	assert_int_equal(r->cu.cuCtxGetCurrent(&now), 0);
	assert_ptr_equal(now, r->app);
}

void
rig_abandon(struct rig *r)
{
	CUcontext ours;

	fakecuda.fakecuda_reset();
	assert_int_equal(r->cu.cuMemFree((uintptr_t)r->user), 0);
	assert_int_equal(r->cu.cuMemFreeHost(r->slots), 0);
	assert_int_equal(r->cu.cuCtxPopCurrent(&ours), 0);
	assert_ptr_equal(ours, r->app);
	assert_int_equal(r->cu.cuDevicePrimaryCtxRelease(0), 0);
	tcpx_cuda_api_unload(&r->cu);
	free(r->want);
	free(r);
}

void
rig_close(struct rig *r)
{
	if (r->dev)
		gpu->close(r->dev);
	rig_context_is_kept(r);
	assert_int_equal(fakecuda.fakecuda_errors(), 0);
	rig_abandon(r);
	assert_int_equal(fakecuda.fakecuda_live(), 0);
	assert_int_equal(fakecuda.fakecuda_errors(), 0);
}

/* ---- batches ---------------------------------------------------------------------------- */

/* What sources are filled with, from anywhere in it. */
static const uint8_t *
make_noise(void)
{
	static uint64_t noise[(USER_BYTES + 8192) / 8];
	struct tcpx_rng rng = tcpx_rng_seed(8);

	for (size_t i = 0; i < ARRAY_LEN(noise) && !noise[ARRAY_LEN(noise) - 1]; i++)
		noise[i] = tcpx_rng_next(&rng);
	return (const uint8_t *)noise;
}

static void
prepare(struct rig *r, enum tcpx_flow flow)
{
	uint8_t *from = flow == TCPX_FLOW_PACK ? r->user : r->slots;
	uint8_t *to = flow == TCPX_FLOW_PACK ? r->slots : r->user;

	memcpy(from, make_noise() + tcpx_rng_below(&r->rng, 8192), USER_BYTES);
	memset(to, 0xee, USER_BYTES);
	memset(r->want, 0xee, USER_BYTES);
	r->count = 0;
}

static void
add(struct rig *r, enum tcpx_flow flow, uint64_t in_slots, uint64_t in_user, uint64_t len)
{
	uint64_t slot = (uintptr_t)r->slots + in_slots, user = (uintptr_t)r->user + in_user;

	assert_true(r->count < LIST_MAX);
	assert_true(in_slots + len <= SLOTS_BYTES && in_user + len <= USER_BYTES);
	if (flow == TCPX_FLOW_PACK) {
		r->list[r->count++] = (struct tcpx_copy){ user, slot, len };
		memcpy(r->want + in_slots, r->user + in_user, len);
	} else {
		r->list[r->count++] = (struct tcpx_copy){ slot, user, len };
		memcpy(r->want + in_user, r->slots + in_slots, len);
	}
}

struct tcpx_queue *
rig_queue(struct rig *r, enum tcpx_flow flow)
{
	struct tcpx_queue *q = NULL;

	assert_int_equal(gpu->queue_open(r->dev, 0, flow, &q), 0);
	return q;
}

void
rig_batch(struct rig *r, enum tcpx_flow flow, uint64_t min, uint64_t max, size_t count,
	  bool dense)
{
	uint64_t place[LIST_MAX], share = USER_BYTES / count, slot = 0;

	prepare(r, flow);
	assert_true(max <= share);
	for (size_t i = 0; i < count; i++)
		place[i] = i;
	for (size_t i = count; i > 1; i--) {
		size_t j = tcpx_rng_below(&r->rng, i);
		uint64_t swap = place[i - 1];

		place[i - 1] = place[j];
		place[j] = swap;
	}
	for (size_t i = 0; i < count; i++) {
		uint64_t len = tcpx_rng_between(&r->rng, min, max);

		add(r, flow, dense ? slot : i * share, place[i] * share + (share - len) / 2, len);
		slot += len;
	}
}

void
rig_single(struct rig *r, enum tcpx_flow flow, uint64_t len)
{
	prepare(r, flow);
	add(r, flow, 0, 0, len);
}

void
rig_check(struct rig *r, enum tcpx_flow flow)
{
	const uint8_t *to = flow == TCPX_FLOW_PACK ? r->slots : r->user;

	if (memcmp(to, r->want, USER_BYTES)) {
		size_t at = 0;

		while (to[at] == r->want[at])
			at++;
		fail_msg("byte %zu is 0x%02x, want 0x%02x", at, to[at], r->want[at]);
	}
}
