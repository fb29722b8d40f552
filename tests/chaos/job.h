/* SPDX-License-Identifier: Apache-2.0 */
/* The transfers and notes of one process of a run of chaos. */
#ifndef CHAOS_JOB_H
#define CHAOS_JOB_H

#include "chaos/link.h"

/* The bytes that life @life of @host lets others read. */
uint64_t chaos_source_id(unsigned host, uint32_t life);
/* Starts receives, and with @more a transfer, where there is room. */
void chaos_job_post(struct worker *w, bool more);
/* Cancels what is due, and takes what has ended; waits some milliseconds for it. */
void chaos_job_reap(struct worker *w);
/* All notes that are there. */
void chaos_notes_take(struct worker *w);
/* Transfers without an end, receives not counted. */
unsigned chaos_jobs_open(const struct worker *w);

#endif
