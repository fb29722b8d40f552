/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and checks the command lines of `tcpx perf` and `tcpx serve`, and makes the engine's
 * settings of them.
 */
#ifndef MEASURE_PERF_ARGS_H
#define MEASURE_PERF_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cfg.h"
#include "measure/job/args.h"
#include "tool/opt.h"
#include "tool/gpu/gpu.h"

/* For the option tables of both commands: an engine setting, checked by the table of
 * settings, whose text also stays in @m; a place; a short text. */
#define PERF_SETTING(which) .min = TCPX_SET_##which, OPT_TAKE(perf_take_setting)
#define PERF_SETTING_TOO(which, m) PERF_SETTING(which), .at = offsetof(struct perf_args, m)
#define PERF_PLACE(m) OPT_TAKE(perf_take_place), .at = offsetof(struct perf_args, m)
#define PERF_LABEL(m) OPT_TAKE(perf_take_label), .at = offsetof(struct perf_args, m)
int perf_take_setting(const struct opt_parser *p, int id, void *args);
int perf_take_place(const struct opt_parser *p, int id, void *args);
int perf_take_label(const struct opt_parser *p, int id, void *args);

/* TOOL_OK, or an exit code after a message. -1: help was printed, exit with 0. */
int perf_args_parse(struct perf_args *a, int argc, char **argv);
int serve_args_parse(struct perf_args *a, int argc, char **argv);

/* The sizes of the sweep, at most PERF_SIZES. Returns how many. */
size_t perf_args_sizes(const struct perf_args *a, uint64_t sizes[PERF_SIZES]);

/* The engine's settings, by flags, environment and files. TCPX_ECONFIG, logged. */
TCPX_MUST_CHECK int perf_load_settings(const struct perf_args *a, struct tcpx_cfg **cfg);
/* Before the engine: checks that the requested plugin and GPUs exist. With --any a missing
 * one is replaced in @a, with a message; else TOOL_DENIED after a message. *gpus is NULL
 * for host memory. */
int perf_settle(struct perf_args *a, const char *command, struct gpus **gpus);
/* The driver, and the GPUs of @place made ready; before the engine is opened, which then
 * finds the driver in the process. TOOL_DENIED with a message if they are not there. */
int perf_open_gpus(const struct perf_args *a, const char *command, const struct place *place,
		   struct gpus **gpus);

/* Opens an engine that listens on @listen with these settings; --any goes without a plugin that
 * drives none of the NICs. TOOL_OK, or an exit code after a message. */
int perf_open_engine(struct perf_args *a, const char *command, const char *listen,
		     tcpx_engine **engine);

#endif
