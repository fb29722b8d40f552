/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The emulator's own variables (TCPX_EMU_*), and those of the real plugin that a client can
 * notice. init() reads them once.
 */
#ifndef EMU_CONFIG_H
#define EMU_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "net/plugin/nccl_net.h"

enum emu_memory { EMU_MEMORY_AUTO, EMU_MEMORY_GPU, EMU_MEMORY_PINNED, EMU_MEMORY_HOST };

struct emu_config {
	/* TCPX_EMU_* */
	bool strict;         /* MODE                                                      */
	bool page_loss_aborts; /* PAGE_LOSS: in strict mode; no hardware has shown the loss */
	uint64_t seed;       /* SEED                                                      */
	int gpu;             /* GPU: for a thread without a current context               */
	enum emu_memory memory;
	uint32_t pool_pages; /* POOL: of each GPU                                         */
	bool poison;         /* POISON: of pages given back                               */
	bool delays;         /* DELAYS: of the real set-up                                */
	uint32_t connect_ms; /* CONNECT_MS: time limit of an attempt                      */
	uint32_t stall_ms;   /* STALL_MS: a request that does not move is named then      */
	bool steering_check; /* data from before the rule was active has no cmsg          */
	/* NCCL_* */
	uint32_t threads;    /* helper threads of a comm                                  */
	uint32_t sockets;    /* data sockets of a comm                                    */
	uint32_t chunk;      /* bytes of a task                                           */
	uint32_t steering_us;
	uint32_t retries;    /* of a connection                                           */
	bool katy;           /* choice of sockets                                         */
	bool recv_sync;      /* the receiver announces each receive                       */
	bool spinwait;       /* isend() and irecv() wait for a comm that is not up yet    */
	const char *ctrl_dev, *ifname; /* borrowed of the environment, or NULL            */
};

/* Reports each value that is not allowed; then, or without a chunk size, it fails. */
enum nccl_result emu_config_read(struct emu_config *c);

#endif
