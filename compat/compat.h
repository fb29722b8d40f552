/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs of the older benchmark share. They know the library by its public header
 * alone. A run is one pair of processes: the server receives, the client sends, chunk by
 * chunk, each a message with a tag of its own, with a window of messages in flight.
 *
 *	client			server
 *	hello size chunk ...  ->
 *	time ns               <->      heard       some times: how their clocks relate
 *	               <-       ready i             receives are posted: the interval begins
 *	messages, tagged      ->
 *	begun i ns            ->                    when that was
 *	               <-       checked i wrong
 *	took ns               <->      took ns      after the last iteration
 */
#ifndef COMPAT_H
#define COMPAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <tcpx/tcpx.h>

enum { EXIT_FINDING = 1, EXIT_USAGE = 2 };
enum { GPUS_MAX = 64, SENDS_MAX = 256, WARM_UP = -1 };
#define PERF_BYTES_MAX (256ull << 20) /* of a message, as the older programs had it */

/* What differs between the programs. */
struct program {
	const char *name;
	const char *tag;          /* of its lines: "PERF", "TCPX"                  */
	const char *about;        /* one sentence                                  */
	uint16_t port;
	bool port_by_gpu;         /* port + GPU                                    */
	uint64_t size, chunk, iters, channels; /* where nothing else is said       */
	bool gpu_word;            /* "server <gpu>", else "server"                 */
	const char *text;         /* what is sent first; NULL: a pattern           */
	uint64_t first_tag;
};

/* One run, from the command line and the environment. */
struct run {
	const struct program *program;
	bool server;
	const char *ip;           /* of the server; NULL for the server            */
	unsigned gpu[GPUS_MAX];   /* one run each, at once                         */
	size_t gpus;
	uint64_t port;            /* of GPU 0 with port_by_gpu                     */
	uint64_t size, chunk, iters, channels;
	uint64_t sends, receives; /* windows                                       */
	uint64_t timeout_s;
	bool host_only;           /* memory of the host even if there is a GPU     */
	bool warm_up;
	bool verbose;             /* a line for each chunk                         */
	const char *impl;         /* "kernel", "d2d", "host", "none"; NULL default */
	const char *log;          /* file for each GPU, %g in it; NULL: stdout     */
};

typedef const char *(*env_fn)(void *arg, const char *name);

/* 0; -1: help was printed; else EXIT_USAGE, after a message. */
int run_parse(const struct program *program, int argc, char **argv, env_fn env, void *arg,
	      struct run *run);
void run_help(const struct program *program, FILE *f);
/* The same with the process's environment, then all of the run: what main() returns. */
int run_main(const struct program *program, int argc, char **argv);

/* "64K", "4194304", "2M". False if it is none. */
bool size_parse(const char *text, uint64_t *bytes);
/* The variable of this process. */
const char *env_of_process(void *arg, const char *name);

/* One side of one run. */
struct link {
	int result;               /* what main() returns for it                    */
	const struct run *run;
	unsigned gpu;
	FILE *out;                /* where its lines go                            */
	tcpx_engine *engine;
	tcpx_peer *peer;
	char peer_name[64];
};

/* 0 or a code of the library, explained on @l->out. The client returns with an open session;
 * the server with a listener. */
int link_open(struct link *l);
void link_close(struct link *l);
/* The server's: waits for a client's hello, however long, and keeps its text in @hello. */
int link_accept(struct link *l, char *hello, size_t cap);
int link_tell(struct link *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Waits for a note that begins with @word; -ETIMEDOUT, or what ended the session. */
int link_hear(struct link *l, const char *word, char *text, size_t cap);
/* "[ERROR] what: why". Returns @rc. */
int link_fail(struct link *l, int rc, const char *what);

/* Memory of one side: of the GPU where there is one. */
struct driver;
struct memory {
	int gpu;                  /* -1: host memory                               */
	struct driver *driver;    /* owned; NULL for host memory                   */
	uint64_t addr;
	uint8_t *host;            /* of the same size: pattern, or what came       */
	size_t len;
	uint64_t region;
};

/* Which driver, and is GPU @gpu there? 0; -ENODEV and why not in @why. The calling thread can
 * use its memory afterwards. */
int driver_open(unsigned gpu, char *why, size_t cap);
/* "0000:06:00.0" of it. */
int driver_pci(unsigned gpu, char pci[32]);

/* @why: room for 96 bytes, says what memory it is. */
int memory_open(struct link *l, size_t len, struct memory *m, char why[96]);
void memory_close(struct link *l, struct memory *m);
/* Pattern of iteration @i, or @text and then the pattern. */
int memory_fill(struct memory *m, int i, const char *text);
int memory_poison(struct memory *m);
/* How many bytes are not as filled; where the first is. */
int memory_verify(struct memory *m, int i, const char *text, uint64_t *wrong, uint64_t *first);
uint8_t memory_byte(int i, const char *text, uint64_t at);

/* Shared beginning of two PCI paths and their distance in one figure: shared segments x 100
 * less the segments that are not; 0 for no path. "/pci0000:00/0000:00:01.0/0000:01:00.0" */
int path_score(const char *gpu, const char *nic);
/* "[ChannelManager] Channel i -> netDev d (...)", for each that sends, or if none does, that
 * receives. Returns how many. */
unsigned print_channels(struct link *l, int gpu);
/* Where @link points to below /sys/devices, as path_score() takes it; "" if nowhere there. */
void sysfs_path(const char *link, char *out, size_t cap);

uint64_t now_ns(void);

#endif
