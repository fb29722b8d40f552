/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readying a GPU, small copies within a call, and the words that callers' streams wait for.
 * Everything is made when the first region of a GPU is registered, nothing by transfers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"

#define WORDS 4096u

void
tcpx_gpus_init(struct tcpx_engine *e, const struct tcpx_device_ops *ops)
{
	pthread_mutex_init(&e->gpus.lock, NULL);
	pthread_mutex_init(&e->gpus.small_lock, NULL);
	tcpx_mutex_init(&e->gpus.word_lock);
	e->gpus.ops = ops ? ops : &tcpx_device_cuda;
}

void
tcpx_gpus_fini(struct tcpx_engine *e)
{
	struct gpus *g = &e->gpus;
	int f, i;

	if (g->dev) {
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

/* ---- readying ---- */

/* lock held. -ENODEV: no driver, or nobody has loaded it so far. */
static int
open_device(struct tcpx_engine *e)
{
	struct gpus *g = &e->gpus;
	struct tcpx_device_params params = {
		.library = tcpx_cfg_str(e->cfg, TCPX_SET_CUDA_LIBRARY),
		.impl = e->limit.unpack, .clock = &e->clock, .test_arg = e->gpu_arg,
	};

	return g->dev ? 0 : g->ops->open(&params, &g->dev);
}

/* lock held. */
static int
make_words(struct gpus *g)
{
	uint32_t i;
	int rc;

	if (g->word_count)
		return 0;
	rc = g->words ? 0 : g->ops->pinned(g->dev, WORDS * sizeof(*g->words), (void **)&g->words);
	if (rc)
		return rc;
	memset(g->words, 0, WORDS * sizeof(*g->words));
	g->word_value = calloc(WORDS, sizeof(*g->word_value));
	g->word_free = calloc(WORDS, sizeof(*g->word_free));
	if (!g->word_value || !g->word_free) {
		free(g->word_value);
		free(g->word_free);
		g->word_value = NULL;
		g->word_free = NULL;
		return -ENOMEM;
	}
	for (i = 0; i < WORDS; i++)
		g->word_free[i] = WORDS - 1 - i;
	g->word_count = g->word_free_count = WORDS;
	return 0;
}

/* lock held. A queue of each loop and direction. */
static int
open_queues(struct tcpx_engine *e, int place)
{
	struct gpus *g = &e->gpus;
	struct tcpx_queue **at;
	uint32_t i;
	int f, rc = 0;

	for (f = 0; f < TCPX_FLOWS && rc == 0; f++) {
		for (i = 0; i < e->loop_count && rc == 0; i++) {
			at = &e->loop[i].batches.queue[f][place + 1];
			if (!*at)
				rc = g->ops->queue_open(g->dev, place, (enum tcpx_flow)f, at);
		}
		if (rc == 0 && !g->small[f][place])
			rc = g->ops->queue_open(g->dev, place, (enum tcpx_flow)f,
						&g->small[f][place]);
	}
	return rc;
}

/* lock held. Copies between that GPU's memory and the slots of channels of other GPUs. */
static int
reach_slots(struct tcpx_engine *e, int place)
{
	struct gpus *g = &e->gpus;
	uint32_t i;
	int rc = 0;

	for (i = 0; i < e->nic_count && rc == 0; i++)
		if (e->nic[i].gpu != TCPX_ON_HOST && e->nic[i].gpu != place)
			rc = g->ops->reach(g->dev, place, e->nic[i].gpu);
	return rc;
}

/* lock held. */
static int
ready(struct tcpx_engine *e, int place)
{
	struct gpus *g = &e->gpus;
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
		rc = make_words(g);
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
	pthread_mutex_lock(&e->gpus.lock);
	rc = open_device(e);
	pthread_mutex_unlock(&e->gpus.lock);
	if (rc == 0)
		rc = e->gpus.ops->list(e->gpus.dev, pci, cap, count);
	return rc == -ENODEV ? 0 : rc;
}

int
tcpx_gpu_ready(struct tcpx_engine *e, int place)
{
	int rc;

	if (place >= 0 && place < TCPX_GPUS_MAX && e->gpus.used & 1u << place)
		return 0;
	pthread_mutex_lock(&e->gpus.lock);
	rc = open_device(e);
	if (rc == 0)
		rc = ready(e, place);
	pthread_mutex_unlock(&e->gpus.lock);
	return rc;
}

int
tcpx_gpu_place(struct tcpx_engine *e, void *addr, size_t len, int *place)
{
	struct gpus *g = &e->gpus;
	int at = TCPX_ON_HOST, rc;

	pthread_mutex_lock(&g->lock);
	rc = open_device(e);
	if (rc == 0)
		rc = g->ops->where(g->dev, (uintptr_t)addr, len, &at);
	else if (rc == -ENODEV)
		rc = 0; /* then it cannot be a GPU's */
	if (rc == 0 && at != TCPX_ON_HOST)
		rc = ready(e, at);
	pthread_mutex_unlock(&g->lock);
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
	for (i = 0; i < e->nic_count && e->nic[i].gpu == TCPX_ON_HOST; i++)
		;
	if (i == e->nic_count)
		return 0;
	rc = tcpx_gpu_ready(e, e->nic[i].gpu);
	if (rc == 0)
		rc = e->gpus.ops->lock(e->gpus.dev, addr, len);
	*locked = rc == 0;
	return rc < 0 ? rc : 0;
}

void
tcpx_gpu_unlock(struct tcpx_engine *e, void *addr)
{
	e->gpus.ops->unlock(e->gpus.dev, addr);
}

/* ---- small copies ---- */

/* Waits for the copy: a few microseconds. lock held. */
static int
copy_small(struct gpus *g, enum tcpx_flow flow, const struct tcpx_list *l, uint64_t len)
{
	struct tcpx_queue *q = g->small[flow][l->place];
	struct tcpx_copy copy[CORE_IOV];
	struct tcpx_fraglist list = list_frags(l);
	struct tcpx_fragpos pos = { 0, 0 };
	struct tcpx_frag frag[CORE_IOV];
	uint64_t done = 0, part, ticket;
	size_t i, n;
	int rc = 0;

	while (rc == 0 && done < len) {
		n = tcpx_frag_take(&list, &pos, len - done, frag, CORE_IOV, &part);
		for (i = 0; i < n; i++) {
			uint64_t ours = (uintptr_t)g->scratch + done;

			copy[i] = flow == TCPX_FLOW_PACK ?
					  (struct tcpx_copy){ frag[i].addr, ours, frag[i].len } :
					  (struct tcpx_copy){ ours, frag[i].addr, frag[i].len };
			done += frag[i].len;
		}
		do {
			rc = g->ops->copy(q, copy, n, &ticket);
		} while (rc == -EAGAIN); /* nothing is in flight: there will be room */
		if (rc == 0)
			rc = g->ops->finish(q, ticket);
	}
	return rc;
}

/* TCPX_FLOW_UNPACK: buf into the list; PACK: the list into buf. */
static void
copy_host(enum tcpx_flow flow, const struct tcpx_list *l, uint8_t *buf, uint64_t len)
{
	size_t i;
	uint64_t n;

	for (i = 0; i < l->frag_count && len > 0; i++, buf += n, len -= n) {
		void *at = (void *)(uintptr_t)l->frag[i].addr;

		n = l->frag[i].len < len ? l->frag[i].len : len;
		memcpy(flow == TCPX_FLOW_UNPACK ? at : buf, flow == TCPX_FLOW_UNPACK ? buf : at, n);
	}
}

static int
copy_list(enum tcpx_flow flow, const struct tcpx_list *l, uint8_t *buf, uint64_t len)
{
	struct gpus *g = &l->engine->gpus;
	int rc;

	if (len == 0)
		return 0;
	if (!list_staged(l)) {
		copy_host(flow, l, buf, len);
		return 0;
	}
	if (len > GPU_SMALL_MAX)
		return -EINVAL;
	pthread_mutex_lock(&g->small_lock);
	if (flow == TCPX_FLOW_UNPACK)
		memcpy(g->scratch, buf, len);
	rc = copy_small(g, flow, l, len);
	if (rc == 0 && flow == TCPX_FLOW_PACK)
		memcpy(buf, g->scratch, len);
	pthread_mutex_unlock(&g->small_lock);
	return rc;
}

int
tcpx_list_copy_in(const struct tcpx_list *l, const uint8_t *src, uint64_t len)
{
	return copy_list(TCPX_FLOW_UNPACK, l, (uint8_t *)(uintptr_t)src, len); /* only read */
}

int
tcpx_list_copy_out(const struct tcpx_list *l, uint8_t *dst, uint64_t len)
{
	return copy_list(TCPX_FLOW_PACK, l, dst, len);
}

/* ---- words that streams wait for ---- */

/* lock held. The transfer's word, for as long as its handle lives. */
static int
word_of(struct gpus *g, struct tcpx_xfer *x)
{
	if (x->word)
		return 0;
	if (!g->word_free_count)
		return tcpx_fail(TCPX_SUB_DEV, TCPX_ELIMIT,
				 "streams wait for %u transfers already, that is all", g->word_count);
	x->word = (int32_t)g->word_free[--g->word_free_count] + 1;
	return 0;
}

static void
raise_word(struct gpus *g, uint32_t i)
{
	__atomic_store_n(&g->words[i], g->word_value[i], __ATOMIC_RELEASE);
}

void
tcpx_gpu_word_set(struct tcpx_xfer *x)
{
	struct gpus *g = &x->engine->gpus;

	pthread_mutex_lock(&g->word_lock);
	if (x->word)
		raise_word(g, (uint32_t)x->word - 1);
	pthread_mutex_unlock(&g->word_lock);
}

void
tcpx_gpu_word_put(struct tcpx_xfer *x)
{
	struct gpus *g = &x->engine->gpus;

	pthread_mutex_lock(&g->word_lock);
	if (x->word) {
		raise_word(g, (uint32_t)x->word - 1);
		g->word_free[g->word_free_count++] = (uint32_t)x->word - 1;
	}
	x->word = 0;
	pthread_mutex_unlock(&g->word_lock);
}

int
tcpx_xfer_stream_wait(tcpx_xfer *x, void *stream)
{
	struct gpus *g = &x->engine->gpus;
	uint64_t value = 0;
	uint32_t i = 0;
	int rc;

	if (!x->post_ns)
		return tcpx_fail(TCPX_SUB_XFER, TCPX_ESTATE,
				 "a stream cannot wait for a transfer that was never posted");
	if (!g->used)
		return tcpx_fail(TCPX_SUB_DEV, -ENOTSUP, "no GPU memory is registered");
	pthread_mutex_lock(&g->word_lock);
	rc = word_of(g, x);
	if (rc == 0) {
		i = (uint32_t)x->word - 1;
		value = ++g->word_value[i];
	}
	pthread_mutex_unlock(&g->word_lock);
	if (rc == 0)
		rc = g->ops->stream_wait(g->dev, stream, &g->words[i], value);
	if (rc == 0 && atomic_load(&x->status) != -EAGAIN)
		tcpx_gpu_word_set(x); /* it ended before it had a word */
	return rc;
}
