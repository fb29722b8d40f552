/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin's lines, and the library's, in NCCL's own log. */
#ifndef NCCL_SAY_H
#define NCCL_SAY_H

#include "net/plugin/nccl_net.h"

/* Where lines go from now on; NULL: nowhere. Any thread. */
void tcpx_nccl_say_to(nccl_logger logger);

/* NCCL prints them at NCCL_DEBUG=WARN, and at INFO for the subsystems INIT and NET. */
void tcpx_nccl_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void tcpx_nccl_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A tcpx_log_sink_fn. */
void tcpx_nccl_sink(void *arg, int level, const char *line);

#endif
