/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The serving side: a struct client for each program that has sent a job. It all runs on the
 * command's one thread; nothing here waits for a client, and long work is done in steps. All that is
 * posted goes over the session that the client has opened: a client names no address.
 */
#ifndef MEASURE_PERF_SERVE_H
#define MEASURE_PERF_SERVE_H

#include "base/chain.h"
#include "base/log_limit.h"
#include "measure/perf/baseline.h"
#include "measure/job/job.h"
#include "measure/perf/args.h"
#include "measure/perf/memory.h"
#include "measure/perf/path.h"
#include "measure/perf/sides.h"
#include "measure/perf/sync.h"
#include "measure/perf/usage.h"

enum { PONG_SLOTS = 4 };

/* A run in progress. */
struct client_run {
	bool on, timed;          /* timed: its figures count                          */
	bool going;              /* the client will post now: wait for that           */
	bool over;               /* the client has seen its last acknowledgement      */
	uint64_t iters;
	uint64_t slot, ring;     /* of the first transfer; so many are gone round     */
	uint64_t received, sent; /* SEND/RECV: ended; pings that came, pongs posted   */
	uint64_t recv_posted, send_posted;
	uint64_t begin_ns;       /* by our clock; of a timed run whose end is known   */
	uint64_t end_said_ns;    /* by the client's clock                             */
	uint64_t took_said_ns;   /* likewise, from begin to end                       */
	struct sync sync;
	struct usage before, after;
};

/* Slots that are filled and poisoned, or compared, one after the other. */
struct client_check {
	enum { CHECK_NONE, CHECK_ARM, CHECK_VERIFY } kind;
	struct job_slots slots;
	uint64_t next;           /* slot                                              */
	uint64_t chunk;
	json_int_t transfer;
	char text[JOB_TEXT];     /* that has come                                     */
	struct layout_verdict total;
};

struct client {
	struct tcpx_node node;
	char name[64];           /* as its session says it, for the engine's figures  */
	char shown[64];          /* for people                                        */
	tcpx_peer *peer;         /* its session with us                               */
	struct job_inbox inbox;
	bool has_job;
	bool had_job;            /* it was measured, or should have been              */
	bool failed;             /* and something went wrong                          */
	bool leaving;            /* it has sent "bye" and will close the session      */
	uint64_t left_ns;        /* when it sent that                                 */
	uint64_t closed_ns;      /* when its session stopped being open; 0: it is open */
	struct job job;
	struct job_case at;
	struct layouts lay;
	struct place place;      /* where our memory for it lies                      */
	struct mem out, in;      /* data comes into out, goes from in                 */
	struct regions client_in; /* of the client, for pongs                         */
	struct lanes lanes_out, lanes_in; /* as the client's                          */
	uint64_t slots;          /* of the ring that the size has                     */
	uint64_t check_seed;
	struct client_run run;
	struct client_check check;
	struct path *path;       /* copies to and from our GPUs are measured; NULL no */
	struct placed placed;    /* our thread, during a run of a job with a CPU      */
	/* SEND/RECV: oldest first, ring of job.depth; pongs: ring of PONG_SLOTS */
	tcpx_xfer *recv[JOB_DEPTH_MAX], *send[JOB_DEPTH_MAX];
	tcpx_list *(*pong_list)[2]; /* of each slot of the ring, g->slots of them      */
	tcpx_xfer **pong;
	struct reach *reach;     /* ports that it tries; NULL: it does not            */
	struct baseline *raw;
	struct layout raw_flat;  /* of a transfer by it: one piece                    */
	struct mem raw_own[2];   /* its memory for out and in, where ours is a GPU's  */
	const struct mem *raw_mem[2]; /* its memory; NULL none                        */
	uint64_t raw_slots;      /* of its ring                                       */
	/* for what is printed */
	uint64_t timed_iters, timed_ns; /* of this size                              */
	uint64_t runs, wrong;
	uint64_t runs_of[2];     /* of this size: warm-up and checks, timed           */
	struct usage usage;      /* sum over the timed runs of this size              */
};

struct serve {
	const struct perf_args *args;
	tcpx_engine *engine;
	struct gpus *gpus;       /* NULL: no client has asked for one yet             */
	struct tcpx_node clients;
	uint64_t served, wrong;  /* clients that are gone                             */
	uint64_t measured, failed; /* of them: with a job; with a failed job */
	uint64_t refused;          /* answers to one without a job that say why */
	bool quiet;              /* nothing to stdout                                 */
	struct tcpx_log_limit lines; /* to stdout; anew for one that comes when nobody has been here for a second */
	uint64_t line_ns;        /* when the newest was to go                         */
	FILE *events;            /* borrowed; NULL none                               */
};

void serve_init(struct serve *s, const struct perf_args *args, tcpx_engine *engine);
/* Drops every client. */
void serve_fini(struct serve *s);
/* Has any client a job? */
bool serve_is_busy(const struct serve *s);
/* Are there several clients, with or without a job? */
bool serve_is_shared(const struct serve *s);
/* Takes one note and frees it. */
void serve_note(struct serve *s, tcpx_note *note);
/* Drops clients whose session is gone. */
void serve_sweep(struct serve *s);
/* Moves everything on by a step. *oldest: a transfer to wait for, NULL if there is none. True:
 * a client wants its server to spin, or has work left. */
bool serve_pump(struct serve *s, tcpx_xfer **oldest);

/* Calls between the parts of the server, serve_*.c. */
/* A line about a client, to stdout, if it is not quiet: ten a second. How many more there
 * were is said later. */
void serve_print(struct serve *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Says how many were left out, if that is due; @last: there will be no other chance. */
void serve_print_more(struct serve *s, bool last);
int client_take_reach(const struct serve *s, struct client *g, const json_t *msg);
void client_step_reach(struct client *g);
void client_end_reach(struct client *g);
int client_take_raw(struct serve *s, struct client *g, const json_t *msg);
int client_take_raw_call(struct client *g, const json_t *msg);
void client_end_raw(struct serve *s, struct client *g);
int client_take_path(struct serve *s, struct client *g, const json_t *msg);
/* Reports the failure to the client, once, and ends its run. */
void client_fail(struct serve *s, struct client *g, const char *what, int rc);
/* Is its session open? A post on a peer without one would dial addresses that the peer has named. */
bool client_is_here(const struct client *g);
/* job_send() to a client that is here; else TCPX_EPEERGONE. */
TCPX_MUST_CHECK int client_say(struct client *g, const char *type, json_t *msg);
bool client_step_path(struct serve *s, struct client *g);
void client_end_path(struct client *g);
/* Ends a run with all that it has posted. */
void client_stop_run(struct client *g);
int client_begin_run(struct serve *s, struct client *g, const json_t *msg);
void client_note_of_run(struct serve *s, struct client *g, const char *note, size_t len);
/* Slots of its ring, or of that of the plain sockets. */
int client_take_arm(struct client *g, const json_t *msg);
int client_take_verify(struct client *g, const json_t *msg);
/* True: there is more to do. */
bool client_step_check(struct serve *s, struct client *g);
bool client_pump(struct serve *s, struct client *g, tcpx_xfer **oldest);
/* Gives back what belongs to one size. */
void client_end_case(struct serve *s, struct client *g);

#endif
