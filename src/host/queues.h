/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues and vectors of a NIC, and which vector serves which queue: as the kernel says (generic
 * netlink "netdev"), by the name of the action, by the driver's layout, or not known. The
 * source stands with each.
 *
 * Below another root the kernel's word comes from the file "queues", one
 * "NIC rx|tx QUEUE NAPI IRQ PID" a line, "-" for what it does not report.
 */
#ifndef HOST_QUEUES_H
#define HOST_QUEUES_H

#include "host/asker.h"
#include "host/irqtab.h"
#include "host/machine.h"
#include "host/maybe.h"

struct tcpx_nic_queue {
	bool tx;
	unsigned index;
	struct tcpx_maybe napi; /* id                                                */
	struct tcpx_maybe irq;
	struct tcpx_maybe pid;  /* of the kernel thread that does its work           */
	struct tcpx_maybe_set steer; /* of TX: XPS, CPUs that send by this queue; of RX: RPS,
				      * CPUs that its packets are given to; empty: off */
	struct tcpx_maybe_set rxqs;  /* of TX: XPS by RX queue; a set of queues        */
	struct tcpx_maybe flows;     /* of RX: RFS, flows that are remembered          */
};

struct tcpx_nic_vector {
	struct tcpx_machine_vector v; /* nic is not set here                          */
	struct tcpx_maybe_set requested; /* smp_affinity_list                         */
	struct tcpx_maybe_set effective; /* where it is really programmed to fire     */
	struct tcpx_maybe_set hint;      /* the driver's wish; empty: none            */
	struct tcpx_maybe node;          /* of the descriptor's memory, not the NIC's */
};

/* @out: heap, the caller's: RX by number, then TX. None without files. -ENOMEM. */
TCPX_MUST_CHECK int tcpx_queues_read(const char *root, struct tcpx_asker *a, const char *ifname,
				     unsigned ifindex, struct tcpx_nic_queue **out,
				     unsigned *count);

/*
 * tcpx_vectors_read - all vectors of a NIC's PCI device
 * @tab:    proc/interrupts, for names; NULL: not known
 * @queues: its queues, for what the kernel said
 * @out:    heap, the caller's, by IRQ
 * @why:    static: why there are none; NULL if there are
 * Vectors that the device lists but the kernel does not have are left out, and so are those
 * that belong to another interface of the same device. -ENOMEM.
 */
TCPX_MUST_CHECK int tcpx_vectors_read(const char *root, const struct tcpx_host_nic *nic,
				      const struct tcpx_irqtab *tab,
				      const struct tcpx_nic_queue *queues, unsigned queue_count,
				      struct tcpx_nic_vector **out, unsigned *count,
				      const char **why);

#endif
