/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of the plugin that keeps the contract, and pieces of it for clients that break
 * it. Each test forks a child with its own environment, since a process initialises once.
 */
#ifndef TESTS_EMU_CLIENT_H
#define TESTS_EMU_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/plugin/nccl_net.h"

#define HOST	 "TCPX_EMU_MEMORY=host|"
#define FAITHFUL HOST "TCPX_EMU_MODE=faithful"
#define STRICT	 HOST "TCPX_EMU_MODE=strict"
#define REFUSED	 NCCL_INTERNAL_ERROR

#define CHUNK	 (512u << 10)
#define WINDOW	 16
#define SLOTS	 NCCL_UNPACK_SLOTS
#define FOREVER_MS 60000

/* What a child's run came to. */
struct outcome {
	int status;      /* of wait()                  */
	char text[16384]; /* of its standard error     */
};

/* Runs @body(arg) in a child whose environment has @env ("NAME=value;..." with '|' between) on
 * top; its return value is the exit status. */
struct outcome run_child(const char *env, int (*body)(void *), void *arg);
bool said(const struct outcome *o, const char *what);
/* It must have exited with 0; else its text is shown. */
void must_pass(const char *env, int (*body)(void *), void *arg);
/* It must have ended by abort, with [name] in its text. */
void must_abort(const char *name, const char *env, int (*body)(void *), void *arg);
/* ... by exit status 1, with [name]. */
void must_exit(const char *name, const char *env, int (*body)(void *), void *arg);
/* ... with 0, and [name] in its text. */
void must_say(const char *name, const char *env, int (*body)(void *), void *arg);
/* Both, in strict and in faithful mode; @more: further settings, "" or "|NAME=VALUE". */
void must_name(const char *name, const char *more, int (*body)(void *));

/* ---- in the child ------------------------------------------------------------------------- */

#define CHECK(what)                                                                         \
	do {                                                                                \
		if (!(what))                                                                \
			check_failed(#what, __FILE__, __LINE__);                            \
	} while (0)
_Noreturn void check_failed(const char *what, const char *file, int line);

/* The plugin, initialised. */
const struct nccl_net_v7 *plugin(void);
/* Returns the plugin with a logger: plugin_said() is true once a new line had @words in it. */
const struct nccl_net_v7 *plugin_awaits(const char *words);
bool plugin_said(void);
/* Found, no more. */
const struct nccl_net_v7 *plugin_only(void);
void log_to_stderr(enum nccl_log_level level, unsigned long subsys, const char *file, int line,
		   const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* Memory as the plugin wants it: of the software driver if TCPX_CUDA_LIBRARY is set. */
bool mem_start(void);
char *mem_new(size_t size);
void mem_put(char *dst, const void *src, size_t len);
void mem_get(void *dst, const char *src, size_t len);
void mem_move(char *dst, const char *src, size_t len);

/* One connection within this process. */
struct pair {
	void *send, *recv;                /* comms                              */
	struct nccl_unpack_meta *meta;
	char *bounce;
	char *from, *to;                  /* buffers of WINDOW places           */
	size_t place;                     /* bytes of each                      */
	void *from_mh, *to_mh;
	uint64_t sent, received;          /* requests                           */
};

/* Both sides in turn until they stand; handle and all. */
void pair_connect(struct pair *p, int dev);
/* As far as accept() and connect() succeed: false: one of them gave *@result. */
bool pair_try(struct pair *p, int dev, enum nccl_result *result);
void pair_memory(struct pair *p, size_t place);
void pair_close(struct pair *p);

struct work {
	unsigned comms, messages;
	uint32_t max;      /* bytes of a message: sizes are random, 0 included */
	bool whole;        /* all of max bytes                                 */
	uint64_t seed;
	bool early;        /* a fault: consumed before it is unpacked          */
	uint32_t bytes_each; /* nonzero: what arrives though others were sent  */
};

/* Moves messages and compares every byte; false: a byte was wrong. */
bool pairs_move(struct pair *p, const struct work *w);
/* Loads the plugin, opens a pair on @dev with memory for @w, and moves it. */
bool pair_moves(struct pair *p, int dev, const struct work *w);

uint64_t now_ms(void);

/* ---- single steps ---------------------------------------------------------------------------- */

/* A pair with places of CHUNK bytes on the first NIC. */
void pair_start(struct pair *p);
enum nccl_result pair_send(struct pair *p, int size, void **request);
enum nccl_result pair_recv(struct pair *p, int size, void **request);
/* Tests it until it is done. */
void finish(void *request);
/* n messages are done and none is consumed. */
void pair_exchange(struct pair *p, unsigned n, int size, void **send, void **recv);

/* Two sides that have not met. */
struct halves {
	char handle[NCCL_HANDLE_BYTES];
	void *listen, *send, *recv;
	struct nccl_device_handle room, *device;
};

void halves_listen(struct halves *h);
void halves_meet(struct halves *h);

#endif
