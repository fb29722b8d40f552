/* SPDX-License-Identifier: Apache-2.0 */
/* Registered memory: what regMr() gives. Of one comm, one thread at a time. */
#ifndef EMU_REG_H
#define EMU_REG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/nccl_net.h"

struct emu_reg {
	struct emu_reg *next;
	char *base;
	size_t size;
	bool gpu;      /* type CUDA      */
	bool live;     /* not deregistered: what is stays known, to tell a stale one */
	unsigned used; /* requests       */
};

/* Checks what the real one checks; @list is the comm's. */
enum nccl_result emu_reg_new(struct emu_reg **list, void *data, int size, int type,
			     void **mhandle);
enum nccl_result emu_reg_drop(struct emu_reg *list, void *mhandle);
/* The live one that @mhandle is, or NULL. */
struct emu_reg *emu_reg_find(struct emu_reg *list, const void *mhandle);
/* The comm is closed. What is registered still may be deregistered without it: the real one does
 * not look at the comm, and one that breaks with messages on their way has to be closed first. */
void emu_reg_orphan_all(struct emu_reg **list);
bool emu_reg_drop_orphan(const void *mhandle); /* false: it is none */

#endif
