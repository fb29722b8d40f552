/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One plain connection and its share of each transfer: a contiguous part of the stream, the
 * n-th of as many as there are connections in that direction. One thread uses it.
 */
#ifndef MEASURE_PERF_BASELINE_CONN_H
#define MEASURE_PERF_BASELINE_CONN_H

#include "measure/perf/baseline.h"

struct raw_conn {
	int fd;
	bool sends;      /* this side sends the data                      */
	bool blocking;   /* the only one of its thread                    */
	bool active;     /* in the middle of a round                      */
	bool blocked;    /* until poll() reports it                       */
	const struct layout *layout;
	uint8_t *mem;
	uint64_t span, depth, slots;
	uint64_t from, to;   /* its share of a transfer                   */
	uint64_t slot, pos;  /* next byte                                 */
	uint64_t left;       /* transfers of the round                    */
};

enum raw_step { RAW_BLOCKED, RAW_MOVED, RAW_DONE };

/* Gives conn k of the plan its share. */
void raw_conn_init(struct raw_conn *c, const struct baseline_plan *plan, size_t k);
bool raw_conn_is_empty(const struct raw_conn *c);
/* Begins a round. */
void raw_conn_begin(struct raw_conn *c);
/* One socket call of at most @call bytes. enum raw_step, or -errno; -EPIPE: closed. */
int raw_conn_step(struct raw_conn *c, uint64_t call);
/* One byte against the direction of the data: waits for it at most @timeout_ms (-1: no
 * limit), or sends it. */
int raw_conn_get_byte(struct raw_conn *c, int timeout_ms);
int raw_conn_put_byte(struct raw_conn *c);

/* A socket that listens on all addresses, on a port of the kernel's choice. What it accepts has
 * the same @congestion control ("" the system's). */
TCPX_MUST_CHECK int raw_listen(const char *congestion, uint16_t *port, int *fd);
/* Connects connection @number of the plan, and sends token and number. */
TCPX_MUST_CHECK int raw_connect(const struct baseline_plan *plan, size_t number, uint16_t port,
				int *fd);
/* The congestion control of a connection, as the kernel says; "" if it does not. */
void raw_congestion(int fd, char *name, size_t cap);
/* Accepts the next connection with the token; others are closed. -ETIMEDOUT. */
TCPX_MUST_CHECK int raw_accept(int listener, uint64_t token, uint32_t *number, int *fd);

#endif
