/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bounce pages of a GPU, shared by all receive comms of the process on it. Any free
 * page may be the next, so nobody can rely on an order. Thread-safe.
 */
#ifndef EMU_POOL_H
#define EMU_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/gpu.h"

struct emu_pool;

/* Counted; the last put frees it. NULL: no memory. */
struct emu_pool *emu_pool_get(int gpu, const struct emu_config *config);
void emu_pool_put(struct emu_pool *pool);

char *emu_pool_base(const struct emu_pool *pool);
/* Can the CPU write into its pages? */
bool emu_pool_direct(const struct emu_pool *pool);
/* Takes up to @n pages; returns their number. */
uint32_t emu_pool_take(struct emu_pool *pool, uint32_t *page, uint32_t n);
/* Takes @n pages that lie one after the other, from *first on; false: there are none. */
bool emu_pool_take_run(struct emu_pool *pool, uint32_t n, uint32_t *first);
/* Pages that nobody has. */
uint32_t emu_pool_left(struct emu_pool *pool);
void emu_pool_give(struct emu_pool *pool, const uint32_t *page, uint32_t n);
void emu_pool_give_run(struct emu_pool *pool, uint32_t first, uint32_t n);

#endif
