/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of our plugin for NCCL: in this environment, and in the log of a job. */
#ifndef TOOL_NCCL_H
#define TOOL_NCCL_H

#include "tune/doctor/checks.h"

/* Loads and starts what NCCL_NET_PLUGIN names, as NCCL does. */
void nccl_probe(const struct machine *m, struct check_result *r);
/* Reads the log that NCCL_DEBUG_FILE names. Its job may have had variables that are not set here. */
void nccl_probe_used(const struct machine *m, struct check_result *r);

#endif
