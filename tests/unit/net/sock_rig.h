/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Common parts of the tests of the sock provider: two ends on 127.0.0.1 in one thread,
 * every wait bounded, and a check that no descriptor is left.
 */
#ifndef SOCK_RIG_H
#define SOCK_RIG_H

#include "cases.h"
#include "net/registry.h"
#include "net/sock/chan.h"
#include "net/sock/payload.h"
#include "net/sock/poller.h"
#include "net/sock/port.h"
#include "net/sock/sock.h"
#include "net/sock/wire.h"

#define COUNT(a)      (sizeof(a) / sizeof((a)[0]))
#define RIG_WAIT_NS   (10 * TCPX_SEC) /* no test takes this long unless it fails */
#define RIG_CHUNK_MAX (4u << 20)

struct rig {
	const struct tcpx_net_ops *ops;
	struct tcpx_nic nic;
	struct tcpx_net *net;
	struct tcpx_poller *poller;
	struct tcpx_clock clock; /* the machine's, moved on by skip_ns */
	uint64_t skip_ns;
	int fds_before;
	/* one channel, when rig_channel() has made it */
	struct tcpx_chan *tx, *rx;
	int warnings; /* lines logged */
};

/* cmocka's setup and teardown; *state is the rig. */
int rig_open(void **state);
int rig_close(void **state);
/* The same with a channel that stands: the opener sends. */
int rig_open_channel(void **state);
int rig_open_channel_lending(void **state, enum tcpx_lend lend);

/* Milliseconds of the wait are short: the deadline is counted over all calls. */
uint64_t rig_deadline(void);
/* Lets the kernel's other half work; fails the test once the deadline is over. */
void rig_pause(struct rig *r, uint64_t deadline_ns);

struct tcpx_chan_id rig_id(uint16_t channel, uint8_t token);
/* Makes a channel; codes of either side end it. *sender and *receiver only on success. */
int rig_channel(struct rig *r, const struct tcpx_chan_id *id, struct tcpx_chan **sender,
		struct tcpx_chan **receiver);
/* A plain socket connected to the address of a handle. */
int rig_raw(const uint8_t handle[TCPX_HANDLE_BYTES]);
/* Whether the other end has closed it. */
int rig_raw_closed(int fd);

/* Byte k of a message, so that any slip shows. */
uint8_t rig_byte(uint64_t seq, size_t k);

#endif
