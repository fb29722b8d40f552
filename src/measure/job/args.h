/* SPDX-License-Identifier: Apache-2.0 */
/* Options of `tcpx perf` and `tcpx serve` as one struct. */
#ifndef MEASURE_JOB_ARGS_H
#define MEASURE_JOB_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "measure/job/job.h"
#include "measure/report/out.h"
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

#endif
