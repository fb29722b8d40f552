/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machines from hwloc's texts: its XML, as `lstopo x.xml` writes it, or its synthetic
 * descriptions. Nodes with distances, cores, CPUs, L3 groups, NICs and GPUs with their
 * places on the bus. No queues and no interrupts: hwloc knows none.
 */
#ifndef TOOL_HWLOC_H
#define TOOL_HWLOC_H

#include "host/machine.h"

/*
 * hwloc_machine - one of both, or the machine that hwloc itself sees: a second opinion
 * @xml: a file, or NULL
 * @synthetic: a description, as "pack:2 core:8 pu:2"; or NULL
 * @out: for tcpx_machine_fini(); written on TOOL_OK
 * Return: TOOL_OK, or with a message of @command: TOOL_DENIED without the library, TOOL_USAGE.
 */
int hwloc_machine(const char *command, const char *xml, const char *synthetic,
		  struct tcpx_machine *out);

#endif
