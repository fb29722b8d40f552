/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin's init(), which may never return. */
#ifndef NET_PLUGIN_INIT_H
#define NET_PLUGIN_INIT_H

#include "net/plugin/inside.h"

#define PLUG_WORDS 200

/* Calls it in a thread of its own, and waits. 0: *result is what it returned, and @words its last
 * warning before that, "" without one. -ETIMEDOUT: it has
 * not within @limit_ns. Nobody can end it: the thread stays, and so must the library. -EAGAIN: no
 * thread. */
int plug_init(struct plug *p, uint64_t limit_ns, enum nccl_result *result, char words[PLUG_WORDS]);
/* A warning of a plugin in this thread. */
void plug_init_heard(const char *text);

#endif
