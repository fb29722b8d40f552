/* SPDX-License-Identifier: Apache-2.0 */
/* One direction between two comms: a listener and its receiver, or a sender, or all in one. */
#ifndef STRANGER_LINK_H
#define STRANGER_LINK_H

#include "abi.h"

struct link {
	const struct net_table *net;
	int dev;
	_Alignas(64) char theirs[HANDLE_BYTES]; /* the peer's handle: connect keeps its state there */
	void *listen, *send, *recv;
	_Alignas(16) struct device_handle device;
	const struct unpack_meta *meta;
	const uint8_t *bounce;
};

/* Listens; the peer needs HANDLE. */
int link_listen(struct link *link, char handle[HANDLE_BYTES]);

/* Connects and accepts until all of LINKS stand: those with a listener, those with a handle. */
int link_stand(struct link *links, unsigned count, unsigned long senders);

/* Ends what there is. */
int link_close(struct link *link);

#endif
