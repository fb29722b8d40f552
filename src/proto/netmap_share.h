/* SPDX-License-Identifier: Apache-2.0 */
/* Private to netmap*.c: the order in which GPUs take NICs. */
#ifndef PROTO_NETMAP_SHARE_H
#define PROTO_NETMAP_SHARE_H

#include "proto/netmap.h"

/* Bit i: NIC i is an own NIC of the GPU. */
struct tcpx_netmap_owned {
	uint32_t nics[TCPX_NETMAP_GPUS];
};

/*
 * @rank: of each NIC for side->gpu, 0 first; those that it has no use for stand behind the others
 * Own NICs come before relays, near relays before far ones. Where that leaves a choice, the GPUs of
 * the machine share the NICs evenly. side->process does not matter, so all processes agree.
 */
void tcpx_netmap_share(const struct tcpx_netmap_side *side, const struct tcpx_netmap_owned *own,
		       uint8_t rank[TCPX_NETMAP_NICS]);

#endif
