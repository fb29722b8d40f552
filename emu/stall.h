/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What hangs in silence with the real plugin, named: a request that does not move for seconds, and a
 * comm that is closed with requests that are not done. The caller is inside the comm.
 */
#ifndef EMU_STALL_H
#define EMU_STALL_H

#include "emu/comm.h"

/* Starts the thread that finds sends for which nobody calls test(); it has no signals and stays. */
void emu_stall_start(const struct emu_config *config);
/* A send was posted, or test() called for one. */
void emu_stall_asked(struct emu_comm *c);
/* test() has just said "not done": once a stall, after STALL_MS, says what the comm waits for. */
void emu_stall_look(struct emu_comm *c);
/* The comm is about to be closed. */
void emu_stall_close(const struct emu_comm *c);

#endif
