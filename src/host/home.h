/* SPDX-License-Identifier: Apache-2.0 */
/* The node whose cores the NICs of a plan share. For plan.c. */
#ifndef HOST_HOME_H
#define HOST_HOME_H

#include "base/cpuset.h"
#include "host/machine.h"

/* The home of a device of @node: this node, if it has two cores with CPUs of @usable, so
 * that senders and receivers have one each; else the nearest node that has two; -1: the
 * node is unknown, or none has. With one node, or a kernel without any, all devices have
 * the same home. */
int tcpx_home_of_node(const struct tcpx_machine *m, const struct tcpx_cpuset *usable, int node);
/*
 * tcpx_homes - the home of each NIC of the machine
 * @taken: which NICs count
 * @out:   room for all NICs; -1 for all that are taken, or for none. A NIC of an unknown node is with the taken one
 *	   that is next to it on PCI.
 */
void tcpx_homes(const struct tcpx_machine *m, const struct tcpx_cpuset *usable, const bool *taken,
		int *out);

#endif
