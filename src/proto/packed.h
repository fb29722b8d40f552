/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A packed list: a descriptor list as it travels (proto/runs.h), made once and copied into
 * the frames of every post. A shuffled list has 4 to 5 bytes an entry. Each cell holds
 * whole operations behind their length in bytes, so the list can be cut without being read.
 */
#ifndef PROTO_PACKED_H
#define PROTO_PACKED_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "proto/runs.h"

#define TCPX_PACKED_CELL 1024u /* 15 go into an OPEN, 16 into a LIST frame         */
#define TCPX_PACKED_MIN  128u  /* least size of the first memory                   */

struct tcpx_packed {
	uint8_t *data;  /* first, or the list's own memory                         */
	uint8_t *first; /* borrowed: outlives the list                             */
	size_t cap;
	size_t cell;    /* offset of the last cell                                 */
	size_t pos;     /* offset behind its last operation                        */
	struct tcpx_runs_writer writer;
};

/* @room: the first memory, at least TCPX_PACKED_MIN bytes. */
void tcpx_packed_init(struct tcpx_packed *o, void *room, size_t bytes);
void tcpx_packed_fini(struct tcpx_packed *o);
/* Adds an entry; see tcpx_runs_write() for @regions. NULL ends the list. 0 or -ENOMEM (not
 * logged). */
int tcpx_packed_add(struct tcpx_packed *o, const struct tcpx_region_ref *regions,
		    const struct tcpx_run_entry *e);
/* Appends whole cells from *at on (0 at first) while they fit; advances *at. An empty b of
 * TCPX_PACKED_CELL bytes takes at least one. Returns true when the list is complete. */
bool tcpx_packed_copy(const struct tcpx_packed *o, size_t *at, struct tcpx_buf *b);

#endif
