/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads of a comm that move bytes: each has the sockets whose number it is, modulo the
 * threads. They start with the first task, never call the client, and say nothing when a
 * connection dies, as the real ones.
 */
#ifndef EMU_HELPER_H
#define EMU_HELPER_H

#include "emu/comm.h"

/* What a look at a socket's oldest task came to. */
enum emu_step {
	EMU_STEP_IDLE,    /* no task, or a dead connection                     */
	EMU_STEP_MOVED,
	EMU_STEP_BLOCKED, /* the connection is full, or empty                  */
	EMU_STEP_WAIT     /* for time, or for pages: look again in a moment    */
};

void emu_helper_wake(struct emu_comm *c, struct emu_socket *s);
void emu_helpers_stop(struct emu_comm *c);

enum emu_step emu_step_send(struct emu_helper *h, struct emu_socket *s, struct emu_task *t);
enum emu_step emu_step_recv(struct emu_helper *h, struct emu_socket *s, struct emu_task *t);

#endif
