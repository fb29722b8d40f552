/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs of the older benchmark, made from the tool. options.c reads their command line
 * and variables. front.c runs `tcpx serve --once` or `tcpx perf` with them. lines.c prints the
 * tool's events as the older benchmark's lines.
 */
#ifndef COMPAT_FRONT_H
#define COMPAT_FRONT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { EXIT_FINDING = 1, EXIT_USAGE = 2, GPUS_MAX = 64 };

/* What differs between the programs. Values as they would be typed. */
struct program {
	const char *name;
	const char *tag;        /* each line begins with it: "PERF", "TCPX"   */
	const char *about;      /* one sentence                               */
	uint64_t port;
	bool by_gpu;            /* port + GPU's number; takes several GPUs    */
	const char *size, *iters, *channels;
	const char *text;       /* what is sent first; NULL: only the pattern */
	uint64_t first_tag;
};

/* Options that have a value, and those that are on or off. The order is that of the help. */
enum value {
	PORT, SIZE, ITERS, CHUNK, CHANNELS, WINDOW, TIMEOUT, WAIT, IFACES, CTRL, IMPL, LOG,
	HOST_RECV, SKIP_WARMUP, VERBOSE, ANY, DRY_RUN, VALUES
};

/* One run, from the command line and the environment. */
struct run {
	const struct program *program;
	const char *ip;         /* of the server; NULL for the server         */
	unsigned gpu[GPUS_MAX]; /* one run each, at once                      */
	size_t gpus;
	const char *value[VALUES]; /* by enum value; NULL: not given, no default */
	bool chosen[VALUES];       /* by an option                               */
	uint64_t port, size, iters; /* PORT, SIZE and ITERS as numbers        */
	uint64_t first_port;    /* with by_gpu: of GPU 0                      */
};

/* NULL: there is none of that name. */
const struct program *program_find(const char *name);
/* 0; -1: help was printed; else EXIT_USAGE, after a message. */
int run_parse(const struct program *program, int argc, char **argv, struct run *run);
/* Is the option, one without a value, on? */
bool run_is_on(const struct run *run, enum value id);

/* One side of one run, as its events report it. */
struct side {
	const struct run *run;
	unsigned gpu;
	FILE *out;              /* where its lines go                         */
	int fd, pid;            /* the tool's output; the tool's process      */
	char *line;             /* output after the last whole line           */
	size_t len, cap;
	char how[96];           /* "provider tcpx, GPU 0 to GPU 1"            */
	char by[64];            /* " channel=0 NIC=eth1", " by one of 4 channels" */
	uint64_t size, chunk, window, iters;
	uint64_t at;            /* the iteration that has begun               */
	bool timed, shown;      /* that one: is timed; its chunks are printed */
	uint64_t done, ns, peer_ns, first_ns; /* ended timed iterations: number, times */
	uint64_t verdicts, wrong;
	bool failed;
};

/* Takes a line of the tool's output, without its \n: an event, or text for people. */
void side_line(struct side *s, const char *line);
/* Prints the last lines. @code: the tool's exit code, 128 + signal if one ended it. */
void side_end(struct side *s, int code);

#endif
