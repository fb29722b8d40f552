/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPUs that I/O threads may run on. TCPX_CPUS is for all of them and overrides the rest.
 * Without it a thread follows the NICs of its loop's channels: the CPUs that bindings give these
 * for sending and receiving, since a loop does both. NICs without an entry add nothing. For a
 * thread without any CPUs the kernel chooses.
 */
#ifndef CORE_LOOP_AFFINITY_H
#define CORE_LOOP_AFFINITY_H

#include <stdint.h>

struct loop;
struct tcpx_engine;

/* The loop has a channel on NIC @nic (index in nics.at): its thread moves to the CPUs of that NIC,
 * too. Any thread. */
void tcpx_bind_nic(struct loop *l, uint32_t nic);
/* Called by the I/O thread of the loop alone: as it begins, and before it ends. */
void tcpx_bind_begin(struct loop *l);
void tcpx_bind_end(struct loop *l);

#endif
