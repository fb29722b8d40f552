/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory tree that reads like a machine: the files of /sys and /proc that this folder's
 * readers look at, in the kernel's own form, for tests and for trying things out. Marked by a
 * file of the name TCPX_TREE_MARK, so that it may be written to where a machine may not.
 *
 * What a machine's facts do not hold is chosen: addresses 10.N.0.2/24, counts of interrupts
 * (a function of IRQ and CPU), requested affinity all online CPUs, effective one of its node.
 */
#ifndef HOST_TREE_H
#define HOST_TREE_H

#include "host/machine.h"

#define TCPX_TREE_MARK "tcpx-fixture"

/*
 * tcpx_tree_write - make the tree of @m in @dir
 * @dir: is made, or empty
 * Vectors that the kernel told of (TCPX_VECTOR_NETDEV) go into the file "queues"; those known
 * by their driver's order have no action's name; all others are told by their names.
 * Return: 0, -ENOTEMPTY (nothing was written), or -errno; logged with the path.
 */
TCPX_MUST_CHECK int tcpx_tree_write(const struct tcpx_machine *m, const char *dir);

/* Removes such a tree, and nothing that is not marked as one: -EPERM. */
TCPX_MUST_CHECK int tcpx_tree_remove(const char *dir);

/* How often an IRQ of such a tree has fired on a CPU; 0 but on its effective CPU. */
uint32_t tcpx_tree_count(unsigned irq, int cpu, int effective);

#endif
