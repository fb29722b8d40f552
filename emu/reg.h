/* SPDX-License-Identifier: Apache-2.0 */
/* Registered memory, the result of regMr(). It belongs to one comm; one thread at a time. */
#ifndef EMU_REG_H
#define EMU_REG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/plugin/nccl_net.h"

struct emu_reg {
	struct emu_reg *next;
	char *base;
	size_t size;
	bool gpu;      /* type CUDA      */
	bool live;     /* not deregistered; dead entries stay, to recognise stale handles */
	unsigned used; /* number of requests that use it */
};

/* Registers @data after the real plugin's checks. @list: the comm's. */
enum nccl_result emu_reg_new(struct emu_reg **list, void *data, int size, int type,
			     void **mhandle);
/* Makes a registration dead. Refused: it is not live, or a request uses it. */
enum nccl_result emu_reg_drop(struct emu_reg *list, void *mhandle);
/* The live registration of @mhandle, or NULL. */
struct emu_reg *emu_reg_find(struct emu_reg *list, const void *mhandle);
/* Moves the live registrations of a closed comm to a list of the process, which any thread may
 * use. A client may deregister after closing: the real plugin does not look at the comm, and a
 * broken comm has to be closed first. */
void emu_reg_orphan_all(struct emu_reg **list);
bool emu_reg_drop_orphan(const void *mhandle); /* false: not on that list */

#endif
