/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Common parts of the tests of the plugin layer: fresh copies of the fake plugins (a
 * library is initialised once a process, so each test takes one of its own), pairs of
 * comms, log lines.
 */
#ifndef UNIT_NET_PLUG_RIG_H
#define UNIT_NET_PLUG_RIG_H

#include "cases.h"
#include "fake/net_fake.h"
#include "net/plugin/comm.h"
#include "net/plugin/frag.h"
#include "net/plugin/mem.h"
#include "net/plugin/plug.h"
#include "net/plugin/req.h"

struct rig {
	char path[256];        /* of the copy                                  */
	void *library;
	struct net_fake *fake; /* NULL: another plugin                         */
	struct plug *plug;
	struct plug_comm *tx, *rx;
	void *tx_mr, *rx_mr;
	uint8_t *tx_mem, *rx_mem; /* RIG_MEM each, registered, page-aligned       */
	bool gpu;              /* registered as memory of a GPU                */
};

#define RIG_MEM (4u << 20)

/* A copy of a library under a name of its own; not opened. */
void rig_copy(struct rig *r, const char *from, const char *name);
/* A copy of the fake of that version ("v7", "none") under a name of its own; not opened. */
void rig_take(struct rig *r, const char *version, const char *name);
/* The same, opened and with a pair of comms. unpack: the plugin says that it unpacks. */
void rig_open(struct rig *r, const char *version, bool unpack);
void rig_connect(struct rig *r);
void rig_register(struct rig *r);
void rig_disconnect(struct rig *r);
void rig_close(struct rig *r);

/* Ask until it is no more -EAGAIN; a minute at most. */
int rig_test(struct plug_comm *c, struct plug_request *req, uint32_t *len);
/* Sends and receives len bytes of a pattern, compares, consumes. */
void rig_message(struct rig *r, uint32_t len, unsigned seed);

/* Lines logged since rig_log_clear(), and the last of them. */
unsigned rig_log_lines(void);
const char *rig_log_last(void);
void rig_log_clear(void);
void rig_log_start(void);

#endif
