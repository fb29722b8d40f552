/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine without sockets, threads or devices: loops that nobody polls, a clock that the
 * test moves, and a session that the test fills. For tests of one room.
 */
#ifndef UNIT_CORE_BARE_H
#define UNIT_CORE_BARE_H

#include "cases.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/channel/channel.h"
#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/memory/memory.h"
#include "core/session/kept.h"
#include "core/session/session.h"
#include "core/transfer/transfer.h"

#define BARE_LOOPS 4

struct bare {
	struct tcpx_engine e;
	struct memory memory;
	struct pot pot;
	struct loop loop[BARE_LOOPS];
	struct tcpx_net_ops ops;
	uint64_t now_ns;
	struct session *s;
};

/* With a session that is open. This thread has the leases: no loop has to be woken. */
void bare_open(struct bare *b, bool opener);
void bare_close(struct bare *b);
/* Closes it after the work that its loops still have. */
void bare_end(struct bare *b);
/* Channel @index of the session, which sends and is up, with a window of 4. */
struct channel *bare_channel(struct bare *b, uint16_t index);
/* A transfer of host memory that sends @total bytes in chunks of @chunk; live. */
struct tcpx_xfer *bare_xfer(struct bare *b, uint64_t id, uint64_t total, uint32_t chunk);
/* The works that the loop has been asked to run; they are asked for no more. */
uint32_t bare_works(struct loop *l);

#endif
