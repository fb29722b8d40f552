/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a hub, for pipe.c. */
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

#endif
