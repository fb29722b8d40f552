/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registered memory, the result of regMr(). It belongs to the process and to a NIC: any comm of
 * the NIC may use it, and it outlives the comm that it was made with. Any thread.
 */
#ifndef EMU_REG_H
#define EMU_REG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/plugin/nccl_net.h"

struct emu_nic;

struct emu_reg {
	struct emu_reg *next;
	const struct emu_nic *nic;
	char *base;
	size_t size;
	bool gpu;      /* type CUDA                      */
	unsigned used; /* number of requests that use it */
};

/* Registers @data after the real plugin's checks. */
enum nccl_result emu_reg_new(const struct emu_nic *nic, void *data, int size, int type,
			     void **mhandle);
/* For a request: the registration of @mhandle, if it is one of the NIC; or NULL. */
struct emu_reg *emu_reg_use(const struct emu_nic *nic, const void *mhandle);
void emu_reg_unuse(struct emu_reg *r);
/* Refused: it is none, or a request uses it. NULL is well. */
enum nccl_result emu_reg_drop(const void *mhandle);

#endif
