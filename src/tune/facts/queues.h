/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues and vectors of a NIC, and the queue of each vector: from the kernel (generic netlink
 * "netdev"), from the name of the action, from the driver's layout, or unknown. Each has its
 * source.
 *
 * Below another root the kernel's answers come from the file "queues", one
 * "NIC rx|tx QUEUE NAPI IRQ PID" a line, "-" for a missing value.
 */
#ifndef TUNE_FACTS_QUEUES_H
#define TUNE_FACTS_QUEUES_H

#include "host/machine.h"
#include "host/maybe.h"
#include "tune/facts/asker.h"
#include "tune/facts/irqtab.h"

struct tcpx_nic_queue {
	bool tx;
	unsigned index;
	struct tcpx_maybe napi; /* id                                                */
	struct tcpx_maybe irq;
	struct tcpx_maybe pid;  /* of the kernel thread for its work                 */
	struct tcpx_maybe_set steer; /* of TX: XPS, CPUs that send by this queue; of RX: RPS,
				      * CPUs that get its packets; empty: off */
	struct tcpx_maybe_set rxqs;  /* of TX: XPS by RX queue; a set of queues        */
	struct tcpx_maybe flows;     /* of RX: RFS, size of its flow table             */
};

struct tcpx_nic_vector {
	struct tcpx_machine_vector v; /* nic is not set here                          */
	struct tcpx_maybe_set requested; /* smp_affinity_list                         */
	struct tcpx_maybe_set effective; /* the CPUs it is programmed to              */
	struct tcpx_maybe_set hint;      /* the driver's hint; empty: none            */
	struct tcpx_maybe node;          /* of the descriptor's memory, not the NIC's */
};

/* @out: heap, the caller's: RX by number, then TX. None without files. -ENOMEM. */
TCPX_MUST_CHECK int tcpx_queues_read(const char *root, struct tcpx_asker *a, const char *ifname,
				     unsigned ifindex, struct tcpx_nic_queue **out,
				     unsigned *count);

/*
 * tcpx_vectors_read - all vectors of a NIC's PCI device
 * @tab:    proc/interrupts, for names; NULL: unknown
 * @queues: its queues, with the kernel's answers
 * @out:    heap, the caller's, by IRQ
 * @why:    static: the reason for none; NULL if there are
 * Vectors that the device lists but the kernel lacks are left out, and so are those of
 * another interface of the same device. -ENOMEM.
 */
TCPX_MUST_CHECK int tcpx_vectors_read(const char *root, const struct tcpx_host_nic *nic,
				      const struct tcpx_irqtab *tab,
				      const struct tcpx_nic_queue *queues, unsigned queue_count,
				      struct tcpx_nic_vector **out, unsigned *count,
				      const char **why);

#endif
