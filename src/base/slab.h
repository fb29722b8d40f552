/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for many pieces that are kept for a while: it goes back to the system when the pieces of a slab have
 * gone, whatever else the process has allocated meanwhile. A place, which its owner locks, gives pieces; any
 * thread frees them, also when the place is no more.
 */
#ifndef BASE_SLAB_H
#define BASE_SLAB_H

#include <stddef.h>

#define TCPX_SLAB_BYTES (128u << 10)
#define TCPX_SLAB_MOST  (TCPX_SLAB_BYTES / 4) /* of one piece */

struct tcpx_slab; /* NULL: an empty place */

/* Takes @len bytes, TCPX_SLAB_MOST at most, aligned for any type. NULL: there is no memory. */
void *tcpx_slab_take(struct tcpx_slab **place, size_t len);
void tcpx_slab_free(void *piece); /* NULL: a no-op */
/* No more pieces are taken there. */
void tcpx_slab_leave(struct tcpx_slab **place);

#endif
