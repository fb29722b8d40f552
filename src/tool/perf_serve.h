/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The serving side: one guest for each client that has sent a job. All of it runs on the
 * command's one thread; nothing here waits for a client.
 */
#ifndef TOOL_PERF_SERVE_H
#define TOOL_PERF_SERVE_H

#include "base/chain.h"
#include "tool/baseline.h"
#include "tool/job.h"
#include "tool/perf_layout.h"
#include "tool/perf_usage.h"

enum { PONG_SLOTS = 4 };

/* A run in progress. */
struct guest_run {
	bool on, timed;          /* timed: its figures count                          */
	bool over;               /* the client has seen its last acknowledgement      */
	uint64_t iters;
	uint64_t received, sent; /* SEND/RECV and pongs: ended                        */
	uint64_t recv_posted, send_posted;
	struct usage before;
};

struct guest {
	struct tcpx_node node;
	char name[64];
	tcpx_peer *peer;         /* its session with us                               */
	tcpx_peer *back;         /* the same, added by blob so that we can post to it */
	struct job_inbox inbox;
	bool has_job;
	bool leaving;            /* it has said goodbye and will close the session    */
	uint64_t left_ns;        /* when it did                                       */
	uint64_t closed_ns;      /* since when its session is not open; 0 it is       */
	struct job job;
	struct job_case at;
	struct layouts lay;
	struct layout_mem out, in; /* data comes into out, goes from in               */
	uint64_t client_in;      /* region of the client, for pongs; 0 none           */
	uint64_t check_seed;
	struct guest_run run;
	/* SEND/RECV: oldest first, ring of job.depth; pongs: ring of PONG_SLOTS */
	tcpx_xfer *recv[JOB_DEPTH_MAX], *send[JOB_DEPTH_MAX];
	tcpx_list *pong_list[2];
	tcpx_xfer *pong[PONG_SLOTS];
	struct baseline *raw;
	/* for what is printed */
	uint64_t timed_iters, timed_ns; /* of this size                              */
	uint64_t runs, wrong;
};

struct serve {
	tcpx_engine *engine;
	struct tcpx_node guests;
	uint64_t served, wrong;  /* guests that are gone                              */
	bool quiet;
};

void serve_init(struct serve *s, tcpx_engine *engine);
/* Drops every guest. */
void serve_fini(struct serve *s);
/* Takes one note and frees it. */
void serve_note(struct serve *s, tcpx_note *note);
/* Drops guests whose session is gone. */
void serve_sweep(struct serve *s);
/* Moves SEND/RECV runs on. *oldest: a transfer to wait for, NULL if there is none. True:
 * a guest wants its server to spin. */
bool serve_pump(struct serve *s, tcpx_xfer **oldest);

/* For the parts of the server (perf_serve_run.c): */
void guest_fail(struct guest *g, const char *what, int rc);
int guest_begin_run(struct serve *s, struct guest *g, const json_t *msg);
void guest_note_of_run(struct serve *s, struct guest *g, char kind);
bool guest_pump(struct serve *s, struct guest *g, tcpx_xfer **oldest);
/* Gives back what belongs to one size. */
void guest_end_case(struct serve *s, struct guest *g);

#endif
