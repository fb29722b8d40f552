/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion words: page-locked words that the streams of callers wait on. A transfer keeps the
 * index of its word + 1; 0: it has none.
 */
#ifndef CORE_MEMORY_WORD_H
#define CORE_MEMORY_WORD_H

#include <stdint.h>

struct gpus;

/* Makes all words; a no-op if they exist. gpus.lock held. -ENOMEM or the code of the device. */
int tcpx_words_open(struct gpus *g);
/* Gives a transfer a word, unless it has one, until put. word_lock held. TCPX_ELIMIT (logged). */
int tcpx_gpu_word_get(struct gpus *g, _Atomic int32_t *word);
/* The transfer has ended: writes the value that streams wait for. Takes word_lock, as does put. */
void tcpx_gpu_word_set(struct gpus *g, _Atomic int32_t *word);
/* The transfer is freed: writes the value and takes the word back. */
void tcpx_gpu_word_put(struct gpus *g, _Atomic int32_t *word);

#endif
