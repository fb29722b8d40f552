/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A descriptor list as it travels (proto/runs.h), kept: made once, then copied into the
 * frames of every post. 4 to 5 bytes an entry of a shuffled list. It lies in cells of whole
 * operations, each headed by how many bytes they are, so that it can be cut without being
 * read.
 */
#ifndef PROTO_OPLIST_H
#define PROTO_OPLIST_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "proto/runs.h"

#define TCPX_OPLIST_CELL 1024u /* 15 go into an OPEN, 16 into a LIST frame         */
#define TCPX_OPLIST_MIN  128u  /* bytes that the first memory has at least         */

struct tcpx_oplist {
	uint8_t *data;  /* first, or of its own                                    */
	uint8_t *first; /* borrowed: outlives the list                             */
	size_t cap;
	size_t cell;    /* where the last cell begins                              */
	size_t pos;     /* behind its last operation                               */
	struct tcpx_runs_writer writer;
};

/* @room: memory for the beginning, at least TCPX_OPLIST_MIN bytes. */
void tcpx_oplist_init(struct tcpx_oplist *o, void *room, size_t bytes);
void tcpx_oplist_fini(struct tcpx_oplist *o);
/* Adds an entry; see tcpx_runs_write() for @regions. NULL ends the list. 0 or -ENOMEM (not
 * logged). */
int tcpx_oplist_add(struct tcpx_oplist *o, const struct tcpx_region_ref *regions,
		    const struct tcpx_run_entry *e);
/* Appends whole cells from *at on (0 at first) while they fit; advances *at. An empty b with
 * TCPX_OPLIST_CELL bytes takes at least one. Returns true when all is written. */
bool tcpx_oplist_copy(const struct tcpx_oplist *o, size_t *at, struct tcpx_buf *b);

#endif
