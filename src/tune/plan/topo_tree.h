/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The topology of a machine that is elsewhere. It is written as a tree to a directory of
 * our own, read like any other, and removed before anything is printed. The next run
 * removes the tree of a killed one.
 */
#ifndef TOOL_TOPO_TREE_H
#define TOOL_TOPO_TREE_H

#include "tune/facts/topo.h"

/* TOOL_OK, or an exit code with a message of @command. @out: for tcpx_topo_free(). */
int topo_of_machine(const char *command, const struct tcpx_machine *m, struct tcpx_topo **out);

#endif
