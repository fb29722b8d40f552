/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin inside the test, at the shape of net/plugin: it holds back, cuts, shuffles and
 * lies on request, and notices broken rules of that header. One thread.
 *
 * Sources are read when a message leaves, and a released page is overwritten at once: a
 * send buffer reused too early and a page read too late both show as wrong bytes.
 */
#ifndef NET_PLUG_FAKE_H
#define NET_PLUG_FAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"

#define FAKE_DEVS   4
#define FAKE_POISON 0xDB

struct plug_fake {
	const char *dev[FAKE_DEVS]; /* names; NULL ends them                              */
	const char *pci[FAKE_DEVS];
	bool unpack;
	uint32_t requests;      /* of a comm at once                                      */
	uint32_t frag_max;      /* longest fragment; 0: a page                            */
	bool shuffle;           /* fragments come in any order                            */
	int not_yet;            /* so many "not yet" of each accept and connect           */
	int early;              /* so many refused sends and receives of each comm        */
	bool hold;              /* nothing is delivered                                   */
	uint32_t slow;          /* so many looks at a landed message before it is done    */
	uint32_t slow_acks;     /* likewise at a message that the peer has                */
	int lie;                /* landed messages are so much longer, or shorter         */
	bool hole;              /* of a message's fragments one is left out               */
	int open_code, listen_code, accept_code, connect_code, reg_code, send_code, recv_code,
	    test_code, consume_code; /* fail so                                          */
	struct tcpx_rng rng;
	/* what it saw */
	int gpu;                /* the current GPU, by the rig's memory; -1 none          */
	int listen_gpu, connect_gpu, accept_gpu, reg_gpu;
	int listen_dev, connect_dev;
	uint32_t listens, comms, regs, pages; /* that live                                */
	uint32_t tests;         /* calls, ever                                            */
	uint32_t violations;
	char violation[160];
};

extern struct plug_fake plug_fake;

void plug_fake_reset(void);

#endif
