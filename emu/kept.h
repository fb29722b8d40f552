/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects whose pointers a client has. One that has ended stays as it is until EMU_KEPT more have
 * ended, so that a late caller is recognised; then its memory is the next new one's. None goes back
 * to the heap: a caller however late reads an object of ours.
 */
#ifndef EMU_KEPT_H
#define EMU_KEPT_H

#include <pthread.h>
#include <stddef.h>

#define EMU_KEPT 64

/* The first member of such an object. */
struct emu_kept_node {
	struct emu_kept_node *all;  /* every object that there is     */
	struct emu_kept_node *next; /* of those that have ended       */
};

struct emu_kept {
	pthread_mutex_t lock;
	struct emu_kept_node *all, *oldest, *newest;
	unsigned ended;
};

/* An object of zeros behind its node, of @size bytes: one kind has one size. NULL: no memory. */
void *emu_kept_new(struct emu_kept *k, size_t size);
/* Nobody but late callers uses it any more. */
void emu_kept_end(struct emu_kept *k, void *object);

#endif
