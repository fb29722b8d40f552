/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine's GPUs: found and set up when the first region of one is registered. Transfers
 * set up nothing.
 */
#include "core/memory/gpu.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mutex.h"
#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/memory/batch.h"
#include "core/memory/late.h"
#include "core/memory/memory.h"
#include "core/memory/staging.h"
#include "core/memory/word.h"

void
tcpx_gpus_init(struct tcpx_engine *e, const struct tcpx_device_ops *ops)
{
	pthread_mutex_init(&e->memory->gpus.lock, NULL);
	pthread_mutex_init(&e->memory->gpus.small_lock, NULL);
	tcpx_mutex_init(&e->memory->gpus.word_lock);
	e->memory->gpus.ops = ops ? ops : &tcpx_device_cuda;
}

void
tcpx_gpus_fini(struct tcpx_engine *e)
{
	struct gpus *g = &e->memory->gpus;
	int f, i;

	if (g->dev && (tcpx_late_any(e) || tcpx_late_small_still(g))) {
		tcpx_warn(TCPX_SUB_DEV, "a GPU still keeps copies: what they may reach is left to it");
	} else if (g->dev) {
		for (f = 0; f < TCPX_FLOWS; f++)
			for (i = 0; i < TCPX_GPUS_MAX; i++)
				if (g->small[f][i])
					g->ops->queue_close(g->small[f][i]);
		if (g->scratch)
			g->ops->unpin(g->dev, g->scratch);
		if (g->words)
			g->ops->unpin(g->dev, g->words);
		g->ops->close(g->dev);
	}
	free(g->word_value);
	free(g->word_free);
	pthread_mutex_destroy(&g->lock);
	pthread_mutex_destroy(&g->small_lock);
	pthread_mutex_destroy(&g->word_lock);
}

/* lock held. -ENODEV: no driver, or the process has not loaded it. */
static int
open_device(struct tcpx_engine *e)
{
	struct gpus *g = &e->memory->gpus;
	struct tcpx_device_params params = {
		.library = tcpx_cfg_str(e->cfg, TCPX_SET_CUDA_LIBRARY),
		.impl = e->limit.unpack, .clock = &e->clock, .test_arg = e->memory->gpu_arg,
	};

	return g->dev ? 0 : g->ops->open(&params, &g->dev);
}

/* lock held. A queue of each loop and direction. */
static int
open_queues(struct tcpx_engine *e, int place)
{
	struct gpus *g = &e->memory->gpus;
	struct tcpx_queue **at;
	uint32_t i;
	int f, rc = 0;

	for (f = 0; f < TCPX_FLOWS && rc == 0; f++) {
		for (i = 0; i < e->loop_count && rc == 0; i++) {
			at = &e->loop[i].batches->queue[f][place + 1];
			if (!*at)
				rc = g->ops->queue_open(g->dev, place, (enum tcpx_flow)f, at);
		}
		if (rc == 0 && !g->small[f][place])
			rc = g->ops->queue_open(g->dev, place, (enum tcpx_flow)f,
						&g->small[f][place]);
	}
	return rc;
}

/* lock held. For copies between that GPU's memory and the slots of channels of other GPUs. */
static int
reach_slots(struct tcpx_engine *e, int place)
{
	struct gpus *g = &e->memory->gpus;
	uint32_t i;
	int rc = 0;

	for (i = 0; i < e->nics.count && rc == 0; i++)
		if (e->nics.at[i].gpu != TCPX_ON_HOST && e->nics.at[i].gpu != place)
			rc = g->ops->reach(g->dev, place, e->nics.at[i].gpu);
	return rc;
}

/* lock held. */
static int
ready(struct tcpx_engine *e, int place)
{
	struct gpus *g = &e->memory->gpus;
	int rc = 0;

	if (place >= TCPX_GPUS_MAX)
		return tcpx_fail(TCPX_SUB_DEV, TCPX_ELIMIT, "memory of GPU %d, at most %d are used",
				 place, TCPX_GPUS_MAX);
	if (g->used & 1u << place)
		return 0;
	if (!g->scratch)
		rc = g->ops->pinned(g->dev, GPU_SMALL_MAX, (void **)&g->scratch);
	if (rc == 0)
		rc = tcpx_staging_open(e, g->ops, g->dev);
	if (rc == 0)
		rc = tcpx_words_open(g);
	if (rc == 0)
		rc = open_queues(e, place);
	if (rc == 0)
		rc = reach_slots(e, place);
	if (rc == 0)
		g->used |= 1u << place;
	return rc;
}

int
tcpx_gpu_list(struct tcpx_engine *e, char pci[][TCPX_PCI_TEXT], uint32_t cap, uint32_t *count)
{
	int rc;

	*count = 0;
	pthread_mutex_lock(&e->memory->gpus.lock);
	rc = open_device(e);
	pthread_mutex_unlock(&e->memory->gpus.lock);
	if (rc == 0)
		rc = e->memory->gpus.ops->list(e->memory->gpus.dev, pci, cap, count);
	return rc == -ENODEV ? 0 : rc;
}

int
tcpx_gpu_ready(struct tcpx_engine *e, int place)
{
	int rc;

	if (place >= 0 && place < TCPX_GPUS_MAX && e->memory->gpus.used & 1u << place)
		return 0;
	pthread_mutex_lock(&e->memory->gpus.lock);
	rc = open_device(e);
	if (rc == 0)
		rc = ready(e, place);
	pthread_mutex_unlock(&e->memory->gpus.lock);
	return rc;
}

/* A driver that has lost its GPU cannot say whose memory it is. What the CPU can read is no GPU's. */
static bool
is_the_hosts(struct tcpx_engine *e, const void *addr, size_t len)
{
	const struct tcpx_frag ends[] = { { (uintptr_t)addr, 1 }, { (uintptr_t)addr + len - 1, 1 } };
	uint8_t byte[2];

	return tcpx_touch_copy(&e->memory->touch, TCPX_FLOW_PACK, ends, 2, byte, sizeof(byte)) == 0;
}

/* A late copy may write what is lent, or the host memory that it is copied to. */
static int
refuse_late(struct tcpx_engine *e, int place)
{
	if (!tcpx_late_at(e, place))
		return 0;
	return tcpx_fail(TCPX_SUB_DEV, -EIO, "GPU %d keeps copies that it was late with: memory that it "
			 "may reach is taken when it has finished them", place);
}

int
tcpx_gpu_place(struct tcpx_engine *e, void *addr, size_t len, int *place)
{
	struct gpus *g = &e->memory->gpus;
	int at = TCPX_ON_HOST, rc;

	pthread_mutex_lock(&g->lock);
	rc = open_device(e);
	if (rc == 0)
		rc = g->ops->where(g->dev, (uintptr_t)addr, len, &at);
	if (rc == -ENODEV || (rc && rc != -EINVAL && is_the_hosts(e, addr, len)))
		rc = 0; /* then it cannot be a GPU's */
	if (rc == 0 && at != TCPX_ON_HOST)
		rc = ready(e, at);
	pthread_mutex_unlock(&g->lock);
	if (rc == 0 && at != TCPX_ON_HOST)
		rc = refuse_late(e, at);
	if (rc == 0 && at != TCPX_ON_HOST && atomic_exchange(&e->nics.host_only, false))
		tcpx_warn(TCPX_SUB_DEV, "memory of GPU %d, but this engine's NICs carry host memory: the "
			  "process had no GPU when it was opened, and a plugin may refuse this. Load the "
			  "driver before; TCPX_GPU=%d makes it an error", at, at);
	if (rc == 0)
		*place = at;
	return rc;
}

int
tcpx_gpu_lock(struct tcpx_engine *e, void *addr, size_t len, bool *locked)
{
	uint32_t i;
	int rc = 0;

	*locked = false;
	for (i = 0; i < e->nics.count && e->nics.at[i].gpu == TCPX_ON_HOST; i++)
		;
	if (i == e->nics.count)
		return 0;
	rc = tcpx_gpu_ready(e, e->nics.at[i].gpu);
	for (; rc == 0 && i < e->nics.count; i++)
		if (e->nics.at[i].gpu != TCPX_ON_HOST)
			rc = refuse_late(e, e->nics.at[i].gpu);
	if (rc == 0)
		rc = e->memory->gpus.ops->lock(e->memory->gpus.dev, addr, len);
	*locked = rc == 0;
	return rc < 0 ? rc : 0;
}

void
tcpx_gpu_unlock(struct tcpx_engine *e, void *addr)
{
	e->memory->gpus.ops->unlock(e->memory->gpus.dev, addr);
}
