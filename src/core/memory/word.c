/* SPDX-License-Identifier: Apache-2.0 */
/* Completion words: page-locked words that the streams of callers wait on. */
#include "core/memory/word.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory/gpu.h"

#define WORDS 4096u

/* gpus.lock held. */
int
tcpx_words_open(struct gpus *g)
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

/* word_lock held. The word stays with the transfer until tcpx_gpu_word_put(). */
int
tcpx_gpu_word_get(struct gpus *g, _Atomic int32_t *word)
{
	if (*word)
		return 0;
	if (!g->word_free_count)
		return tcpx_fail(TCPX_SUB_DEV, TCPX_ELIMIT,
				 "streams wait for %u transfers already, that is all", g->word_count);
	*word = (int32_t)g->word_free[--g->word_free_count] + 1;
	return 0;
}

static void
raise_word(struct gpus *g, uint32_t i)
{
	__atomic_store_n(&g->words[i], g->word_value[i], __ATOMIC_RELEASE);
}

void
tcpx_gpu_word_set(struct gpus *g, _Atomic int32_t *word)
{
	pthread_mutex_lock(&g->word_lock);
	if (*word)
		raise_word(g, (uint32_t)*word - 1);
	pthread_mutex_unlock(&g->word_lock);
}

void
tcpx_gpu_word_put(struct gpus *g, _Atomic int32_t *word)
{
	pthread_mutex_lock(&g->word_lock);
	if (*word) {
		raise_word(g, (uint32_t)*word - 1);
		g->word_free[g->word_free_count++] = (uint32_t)*word - 1;
	}
	*word = 0;
	pthread_mutex_unlock(&g->word_lock);
}
