/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory tree that reads like a machine: the files of /sys and /proc that the readers
 * use, in the kernel's own form, for tests. A file of the name TCPX_TREE_MARK
 * marks it, so that it may be written to where a machine may not.
 *
 * Facts that a machine value lacks are chosen: addresses 10.N.0.2/24, counts of interrupts
 * (a function of IRQ and CPU), requested affinity all online CPUs, effective one of its node.
 */
#ifndef MACHINE_TREE_H
#define MACHINE_TREE_H

#include "host/machine.h"

#define TCPX_TREE_MARK "tcpx-fixture"

/*
 * tcpx_tree_write - make the tree of @m in @dir
 * @dir: is made, or empty
 * Vectors known from the kernel (TCPX_VECTOR_NETDEV) go into the file "queues"; those known
 * by their driver's order have no action's name; all others are recognised by their names.
 * Return: 0, -ENOTEMPTY (nothing was written), or -errno; logged with the path.
 */
TCPX_MUST_CHECK int tcpx_tree_write(const struct tcpx_machine *m, const char *dir);

/* Removes such a tree; -EPERM: it is not marked as one. */
TCPX_MUST_CHECK int tcpx_tree_remove(const char *dir);

/* The count of an IRQ of such a tree on a CPU; 0 except on its effective CPU. */
uint32_t tcpx_tree_count(unsigned irq, int cpu, int effective);

#endif
