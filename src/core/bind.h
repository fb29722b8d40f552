/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where I/O threads run. TCPX_CPUS is for all of them and beats the rest. Otherwise a thread
 * goes by the NICs of its loop's channels: to the CPUs that bindings give these for sending
 * and for receiving, since a loop does both. NICs without an entry add nothing; a thread
 * without any CPUs is left as the kernel likes.
 */
#ifndef CORE_BIND_H
#define CORE_BIND_H

#include <stdint.h>

struct loop;
struct tcpx_engine;

/* Reads bindings, or plans them, as TCPX_BIND says, once the NICs are known.
 * TCPX_ECONFIG (logged), -ENOMEM. */
int tcpx_bind_open(struct tcpx_engine *e);
void tcpx_bind_close(struct tcpx_engine *e);
/* The loop has a channel on that NIC of ours: its thread moves there. Any thread. */
void tcpx_bind_nic(struct loop *l, uint32_t nic);
/* The loop's own thread, first and last. */
void tcpx_bind_begin(struct loop *l);
void tcpx_bind_end(struct loop *l);

#endif
