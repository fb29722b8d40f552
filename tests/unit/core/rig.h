/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Common parts of the engine's tests: engines with loopback addresses as NICs, a pair of
 * them with keys to each other's memory, and a check that no descriptor or thread is left.
 */
#ifndef UNIT_CORE_RIG_H
#define UNIT_CORE_RIG_H

#include "cases.h"

#include <stdbool.h>
#include <stdio.h>

#include "tcpx/tcpx.h"

#define WAIT_MS 15000 /* far above what anything here takes */

#define assert_ok(expr) assert_code(expr, 0)
/* Says the code's name instead of its number. */
#define assert_code(expr, code)                                                        \
	assert_string_equal(tcpx_strerror_name(expr), tcpx_strerror_name(code))

/* Opens an engine with one NIC, 127.0.1.1, port 0 and 2 channels; settings (to NULL) beat
 * that. The engine is named name. */
int rig_try_open(const char *name, const char *const *settings, tcpx_engine **e);
tcpx_engine *rig_open(const char *name, const char *const *settings);
/* Adds b to a by its blob. */
tcpx_peer *rig_add(tcpx_engine *a, tcpx_engine *b);
/* The same by address and port. */
tcpx_peer *rig_connect(tcpx_engine *a, tcpx_engine *b);

/* A registered buffer of engine "owner" and its name at engine "user". */
struct mem {
	uint8_t *at;
	size_t len;
	uint64_t id, far;
};

/* Two engines: a knows b. */
struct rig {
	tcpx_engine *a, *b;
	tcpx_peer *to_b;
	struct mem near, far; /* of a; of b, with its name at a */
	int fds, threads;
};

/* The set-up and the teardown of a case. Teardown closes what is open and counts. */
int rig_setup(void **state);
int rig_teardown(void **state);
/* In place of rig_setup: with settings for both. */
void rig_begin(struct rig *r, const char *const *settings_a, const char *const *settings_b);
void rig_end(struct rig *r);
/* Memory at both sides, filled with different patterns. */
void rig_memory(struct rig *r, size_t near, size_t far);
void mem_open(struct mem *m, tcpx_engine *owner, size_t len, unsigned access);
/* The name of m at another engine. */
uint64_t mem_tell(const struct mem *m, tcpx_engine *owner, tcpx_engine *user);
void mem_close(struct mem *m);
/* Byte k of pattern seed, and whole ranges of it from byte k on. */
void fill(uint8_t *at, size_t len, uint32_t seed);
/* How many bytes from the first on are of this seed. */
size_t filled(const uint8_t *at, size_t len, uint32_t seed);
void assert_filled(const uint8_t *at, size_t len, uint32_t seed);

/* Posts and waits; returns how it ended. */
int rig_move(struct rig *r, enum tcpx_op op, uint64_t near, uint64_t far, uint64_t len);
/* Ends of it. */
int finish(tcpx_xfer *x);
/* Its bytes: a receive that has ended knows how many have come. */
uint64_t length_of(tcpx_xfer *x);
/* The next note must be these bytes from this sender. */
void assert_note(tcpx_engine *e, const char *sender, const char *text);
void assert_no_note(tcpx_engine *e);
struct tcpx_counters counters_of(tcpx_engine *e);
/* 0 open, -EAGAIN not yet, or why it is gone. */
int status_of(tcpx_peer *p);

int fd_count(void);
int thread_count(void);
void assert_threads(int expected);

#endif
