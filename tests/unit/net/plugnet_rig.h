/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Common parts of the tests of the plugin provider: two engines' networks in one thread, a
 * clock that the test moves, and memory whose GPU is a number.
 */
#ifndef PLUGNET_RIG_H
#define PLUGNET_RIG_H

#include "cases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/registry.h"
#include "plug_fake.h"

#define COUNT(a)   (sizeof(a) / sizeof((a)[0]))
#define RIG_CHUNK  65536u
#define RIG_WINDOW 4u

struct rig {
	const struct tcpx_net_ops *ops;
	struct tcpx_nic nic[2];
	struct tcpx_net_params params; /* of both */
	struct tcpx_net *net[2];       /* [0] sends, [1] receives */
	struct tcpx_net_facts facts[2];
	struct tcpx_poller *poller[2];
	struct tcpx_clock clock;
	uint64_t now_ns;
	struct tcpx_net_memory memory;
	uint32_t blocks; /* of memory that live */
	int get_code, enter_code, read_code; /* fail so */
	uint64_t seq;    /* newest message sent */
	uint64_t taken;  /* newest received */
	struct tcpx_chan *tx, *rx;
	int warnings;    /* lines logged, and the newest of them */
	char warning[512];
};

/* Of all tests' setup: nothing is open yet, so that a test may change fake, nics, params. */
int rig_setup(void **state);
/* Closes what is open; nothing of the plugin, of memory or of rules may be left over. */
int rig_teardown(void **state);
void rig_open(struct rig *r);
struct tcpx_chan_id rig_id(uint16_t channel);
/* Makes a channel of the first NIC of each, which both pollers watch; 0 or the first code. */
int rig_channel(struct rig *r, uint16_t channel);
void rig_open_channel(struct rig *r);

/* Byte k of a message, so that any slip shows. */
uint8_t rig_byte(uint64_t seq, size_t k);
struct tcpx_head rig_head(uint64_t seq, uint32_t len);
/* Fills the slot of the next message; -EAGAIN takes nothing. */
int rig_send(struct rig *r, uint32_t len);
/* Compares all bytes of the next landed message. 0, or the code. */
int rig_take(struct rig *r);
/* So many turns of a side's poller that do not wait; what its channel said, or-ed. */
unsigned rig_turns(struct rig *r, int side, int count);

#endif
