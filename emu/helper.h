/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads of a comm that move bytes. Thread i has the sockets whose number modulo the
 * threads is i. They start with the first task and never call the client. Like a real one, a thread
 * ends at the first connection that fails, with all that it serves: a line in the log, and no result.
 */
#ifndef EMU_HELPER_H
#define EMU_HELPER_H

#include "emu/comm.h"

/* The result of a look at a socket's oldest task. */
enum emu_step {
	EMU_STEP_IDLE,    /* no task                                           */
	EMU_STEP_MOVED,
	EMU_STEP_BLOCKED, /* the connection is full, or empty                  */
	EMU_STEP_WAIT,    /* for time or for pages: look again soon            */
	EMU_STEP_END      /* the connection failed: so the thread ends         */
};

void emu_helper_wake(struct emu_comm *c, struct emu_socket *s);
void emu_helpers_stop(struct emu_comm *c);
/* Says so of the socket, with errno: 0: the peer has closed it. */
enum emu_step emu_helper_lost(const struct emu_helper *h, const struct emu_socket *s);

enum emu_step emu_step_send(struct emu_helper *h, struct emu_socket *s, struct emu_task *t);
enum emu_step emu_step_recv(struct emu_helper *h, struct emu_socket *s, struct emu_task *t);

#endif
