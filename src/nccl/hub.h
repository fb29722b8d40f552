/* SPDX-License-Identifier: Apache-2.0 */
/* A hub: its inside for pipe.c, and how its NICs are chosen. */
#ifndef NCCL_HUB_H
#define NCCL_HUB_H

#include "nccl/pipe.h"

#define HUB_NAME_BYTES  44
#define HUB_ADDRS_BYTES 52

struct hub {
	tcpx_engine *engine;
	char name[HUB_NAME_BYTES];   /* no other process of any host has it             */
	char addrs[HUB_ADDRS_BYTES]; /* of its NICs, between commas, as many as fit      */
	uint16_t port;
};

/* The variable that chooses the NICs, "NCCL_SOCKET_IFNAME" or "TCPX_NICS"; NULL: neither is set. */
const char *tcpx_nccl_hub_nics_by(void);

/* "10.0.0.2,10.0.0.3": of the NICs that have one, as many as fit. Connecting begins with the first. */
void tcpx_nccl_hub_addrs(const struct tcpx_nic_info *nics, size_t count, char out[HUB_ADDRS_BYTES]);

#endif
