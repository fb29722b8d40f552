/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a machine, short enough to write by hand, to make its tree for tests. A line is a
 * fact; "#" begins a comment; words stand between blanks, and those after the first few are pairs
 * of a key and its value, in any order.
 *
 *	machine NAME
 *	node ID [distance N,N...]            to the nodes in the order of their ids
 *	cores NODE LIST[/LIST...] [l3 ID[/CORES]]
 *	                                     the k-th CPU of each list is one core. Lists are
 *	                                     as 0-51,104 or 0-14:2 (every second). L3 group ID,
 *	                                     and the next one after so many cores. NODE may be
 *	                                     "-": a kernel without NUMA
 *	nic NAME [node ID] [from SOURCE] [rx N] [tx N] [max N] [driver D] [pci ADDRESS]
 *	    [path PATH]                      SOURCE of the node: device, cpus, only. PATH from the
 *	                                     host bridge, as below sys/devices, to the device,
 *	                                     which has the address:
 *	                                     pci0000:00/0000:00:01.0/0000:06:00.0
 *	irq NIC KIND [QUEUE[-QUEUE]] at IRQ [hwirq N] [source S] [chip C] [fixed] [name TEXT]
 *	                                     KIND: tx, rx, txrx, mgmt, unknown. Queues of a range
 *	                                     have rising IRQs and hwirqs. S: netdev, name, order,
 *	                                     none. TEXT is the rest of the line; {5} in it
 *	                                     stands for 5, 6, 7... "fixed": the kernel does not
 *	                                     let it be moved. The NIC stands above it
 *	gpu INDEX [node ID] [pci ADDRESS] [path PATH]
 *	offline LIST                         CPUs that are there and not online
 *	allowed LIST                         CPUs that may be used; without it all online ones
 *	small LIST                           CPUs of small cores
 *	isolated LIST                        each LIST here rising, "none" for none
 *
 * Without a node, NICs and GPUs have node -1, unknown. Nothing else is accepted; an error
 * names its line.
 */
#ifndef MACHINE_SPEC_H
#define MACHINE_SPEC_H

#include <stddef.h>

#include "host/machine.h"

#define TCPX_SPEC_BYTES (4u << 20) /* longest text */

/*
 * tcpx_spec_parse - read a machine
 * @text: NUL-terminated
 * @what: names the text in messages: a file's name
 * @out:  a finished machine, for tcpx_machine_fini(); written only on success
 * Return: 0, -EINVAL (logged with the line), -ENOMEM.
 */
TCPX_MUST_CHECK int tcpx_spec_parse(const char *text, const char *what,
				    struct tcpx_machine *out);
/* Reads a spec from a file of at most TCPX_SPEC_BYTES. -errno, -EFBIG. */
TCPX_MUST_CHECK int tcpx_spec_load(const char *path, struct tcpx_machine *out);

#endif
