/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A NCCL net plugin within one process, built once for each version of the interface. It
 * moves bytes between comms of the process inside test(). It is as careless of its callers
 * as real plugins are, but records their mistakes. A test reaches it by the symbol
 * "net_fake". One thread.
 */
#ifndef FAKE_NET_FAKE_H
#define FAKE_NET_FAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "net/plugin/nccl_net.h"

enum net_fake_call {
	NET_FAKE_INIT,
	NET_FAKE_DEVICES,
	NET_FAKE_PROPERTIES,
	NET_FAKE_LISTEN,
	NET_FAKE_CONNECT,
	NET_FAKE_ACCEPT,
	NET_FAKE_REG,
	NET_FAKE_DEREG,
	NET_FAKE_ISEND,
	NET_FAKE_IRECV,
	NET_FAKE_IFLUSH,
	NET_FAKE_TEST,
	NET_FAKE_CONSUMED,
	NET_FAKE_CLOSE,
	NET_FAKE_CLOSE_LISTEN,
	NET_FAKE_FINALIZE,
	NET_FAKE_CALLS
};

struct net_fake {
	/* set by a test */
	int result[NET_FAKE_CALLS]; /* what calls return from now on, instead of working     */
	int device_count;           /* 2                                                     */
	int device_type, device_version;
	int ptr_support;
	bool no_pci;
	uint64_t p2p_bytes;         /* v9 and later: bytes of a message                      */
	int nulls;                  /* connect() and accept() say "not yet" so often         */
	int early;                  /* and isend() and irecv() then, for each comm           */
	int delay;                  /* calls of test() before a request is done              */
	int short_by;               /* bytes that messages lack                              */
	bool no_handle;             /* accept() does not say where it unpacks                */
	const struct nccl_unpack_frag *list; /* what is listed for messages, instead         */
	uint64_t list_count;
	/* looked at by a test */
	int calls[NET_FAKE_CALLS];
	uint64_t size;              /* last registered, sent or posted                       */
	char wrong[160];            /* the first mistake of a caller, "" none                */
	uint64_t flushed;           /* bytes                                                 */
	int open;                   /* comms and listeners                                   */
	int registered;
};

#endif
