/* SPDX-License-Identifier: Apache-2.0 */
/* The server of --self and of a mesh's rank: this program again. */
#ifndef MEASURE_JOB_SERVER_H
#define MEASURE_JOB_SERVER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "measure/job/args.h"

/* A `tcpx serve` of our own with these options (and --mem, unless the client is to say), and
 * its engine's blob. 0 or -errno, not logged. */
TCPX_MUST_CHECK int perf_server_start(const struct perf_args *a, uint8_t *blob, size_t cap,
				      size_t *len, pid_t *pid);
/* Ends it and waits; nothing if *pid is 0. */
void perf_server_stop(pid_t *pid);
/* Reads an engine's blob until its writer closes @fd. 0 or -errno, not logged. */
int perf_read_blob(int fd, uint8_t *blob, size_t cap, size_t *len);

#endif
