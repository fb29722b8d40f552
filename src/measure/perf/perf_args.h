/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of `tcpx perf` and `tcpx serve` as one struct, checked. Also the
 * engine settings that both make of it.
 */
#ifndef TOOL_PERF_ARGS_H
#define TOOL_PERF_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cfg.h"
#include "measure/perf/job.h"
#include "tool/opt.h"
#include "measure/report/out.h"
#include "tool/gpu/gpu.h"
#include "tool/gpu/place.h"

#define PERF_PORT_TEXT "28515"
enum { PERF_PORT = 28515, PERF_SETTINGS = 16, PERF_SIZES = 256 };

struct perf_args {
	/* perf */
	const char *host;          /* "HOST[:PORT]"; NULL with --self              */
	bool self, lat, spin, baseline;
	enum job_op op;
	unsigned bi;               /* 1: both ways at once                         */
	uint64_t begin, end, factor, step;
	uint64_t iters;            /* 0: as many as fill a run                     */
	uint64_t warmup, depth, lanes, descs, duration_s, pairs;
	uint64_t interval_ms;      /* of interval lines and points; 0: not asked   */
	unsigned check;            /* 1: every byte is compared                    */
	bool spoil;
	const char *peer_mem;      /* a place, as typed; NULL: as the server has it */
	const char *peer_nics;     /* for --self's server; NULL: as --nics         */
	enum out_format format;
	bool wide, verbose;        /* more columns; more lines                     */
	const char *json, *report; /* files; NULL none                             */
	const char *peer_blob;     /* file with a server's blob, in place of host  */
	int gate_fd;               /* descriptor to wait on before the timed run; -1 none */
	uint64_t beside;           /* measurements that share the machine's memory with it */
	bool each;                 /* every transfer is a run, timed and compared  */
	const char *text;          /* the transfer begins with it; NULL            */
	bool mesh, from_env, at_once;
	uint64_t ranks;            /* of a mesh to be started here; 0 none         */
	const char *rendezvous;    /* "HOST[:PORT]"; NULL: as the environment says */
	bool mem_local;            /* mem is the GPU with our number on this host  */
	/* serve */
	bool once;
	uint64_t wait_s;           /* for a client; 0: for ever                    */
	int ready_fd;              /* the metadata blob is written there; -1 none  */
	const char *port;
	/* both */
	struct place mem;          /* of this side; for serve, unless a client chooses */
	bool any;                  /* sockets for a plugin, host memory for a GPU  */
	const char *label;         /* of both sides, or neither; NULL              */
	const char *events;        /* file, "-" stdout; NULL none                  */
	const char *unpack;        /* as typed; NULL: not given                    */
	const char *zerocopy;      /* the same; memory is registered with TCPX_MEM_LEND */
	uint64_t timeout_s;
	const char *nics, *dist;
	char settings[PERF_SETTINGS][128]; /* "TCPX_CHUNK=1048576"                 */
	size_t setting_count;
};

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
