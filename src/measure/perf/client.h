/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The measuring side: its engine, its session with the server, its memory. Made once a
 * run; load, latency and baseline measure with it.
 */
#ifndef MEASURE_PERF_CLIENT_H
#define MEASURE_PERF_CLIENT_H

#include <sys/types.h>

#include "measure/job/job.h"
#include "measure/perf/args.h"
#include "measure/perf/lane.h"
#include "measure/perf/memory.h"
#include "measure/perf/pace.h"
#include "measure/perf/path.h"
#include "measure/perf/sides.h"

struct perf {
	const struct perf_args *args;
	tcpx_engine *engine;
	tcpx_peer *peer;
	pid_t child;             /* the server of --self; 0 none                   */
	char peer_name[64];
	struct job job;
	struct job_case at;      /* the size being measured                        */
	struct layouts lay;      /* of it                                          */
	uint64_t slots;          /* that the server has for it                     */
	struct gpus *gpus;       /* NULL: host memory only                         */
	struct mem out, in;
	struct regions far_out, far_in; /* the server's memory for either way      */
	struct lanes lanes_out, lanes_in; /* of the job                            */
	struct place far_mem;    /* where it lies                                  */
	bool spoiled;            /* this size has its wrong byte (--spoil)         */
	bool unchecked;          /* a side copies nothing (--unpack none)          */
	struct sides sides;      /* where either side's thread runs                */
	struct job_inbox inbox;
	char refusal[192];       /* the server's last error message                */
	json_t *server;          /* its job_ok: NICs, memory, how it copies        */
	FILE *events;            /* borrowed; NULL none                            */
	struct pace *pace;       /* of the size being measured; NULL none          */
	uint64_t runs[2];        /* of this size: warm-up and checks, timed        */
	double path_GBps[2];     /* limit of the GPUs, by copies of 1 MiB and 64 MiB;
				  * NAN: not measured */
};

/* Settles what @args leave open (perf_settle()), opens engine and session (with --self also the
 * server). TOOL_OK, or an exit code after
 * a message; then nothing is left open. */
int perf_open(struct perf *p, struct perf_args *args);
void perf_close(struct perf *p);

/* Sends the job to the server; both sides allocate for sizes up to @size_max. */
int perf_begin_job(struct perf *p, uint64_t size_max);
/* Both sides make the layouts of @size. */
int perf_begin_case(struct perf *p, uint64_t size);

/* Both sides copy to and from their GPUs at once; fills path_GBps. */
TCPX_MUST_CHECK int perf_measure_path(struct perf *p);

/* Sends @msg (its reference is taken; NULL for none) as @type and waits for the answer
 * @want, a new reference. Codes of the session; TCPX_ESTATE after an error message of
 * the server (printed); TCPX_ETIMEDOUT. */
TCPX_MUST_CHECK int perf_ask(struct perf *p, const char *type, json_t *msg, const char *want,
			     json_t **reply);
/* The same for an answer without content. */
TCPX_MUST_CHECK int perf_tell(struct perf *p, const char *type, json_t *msg, const char *want);
/* Waits for a message that the server sends without a request. */
TCPX_MUST_CHECK int perf_await(struct perf *p, const char *want, uint64_t timeout_ms,
			       json_t **reply);
/* The next note of any sender: 0 and the caller's, -EAGAIN at @until_ns or soon after a signal,
 * or the code of the session's end. */
TCPX_MUST_CHECK int perf_await_note(struct perf *p, uint64_t until_ns, tcpx_note **note);
/* Such a wait for @want, of @timeout_ms, came to nothing: prints that, unless a signal ended it.
 * Returns -EINTR then, TCPX_ETIMEDOUT for -EAGAIN, else @rc. */
TCPX_MUST_CHECK int perf_no_answer(struct perf *p, const char *want, uint64_t timeout_ms, int rc);

#endif
