/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All facts of a machine for placing threads and interrupts, and for a diagnosis: CPUs,
 * cores, caches, nodes, NICs with queues, vectors and settings, GPUs, and other programs that
 * move interrupts. An unknown fact has its reason; nothing is invented, nothing is changed.
 *
 * Threads: a value; the caller's. Blocks: for local files and the kernel's answers.
 */
#ifndef TUNE_FACTS_TOPO_H
#define TUNE_FACTS_TOPO_H

#include "host/host.h"
#include "host/machine.h"
#include "host/maybe.h"
#include "tune/facts/nicset.h"
#include "tune/facts/queues.h"

#define TCPX_TOPO_SCHEMA 1
#define TCPX_TOPO_GPUS 64

struct tcpx_topo_core {
	struct tcpx_machine_core core; /* node, L3 group, CPUs                         */
	int package;                   /* -1 unknown                                   */
};

struct tcpx_topo_node {
	bool has_cpu;
	struct tcpx_maybe memory_kib;
	uint8_t distance[TCPX_HOST_NODES]; /* to the node at that index; 0 unknown     */
};

struct tcpx_topo_nic {
	struct tcpx_host_nic nic;
	unsigned ifindex;              /* 0 unknown                                    */
	char pci_driver[32];           /* of the PCI device: "virtio-pci"; "" unknown  */
	char physfn[16];               /* of a virtual function: its physical device   */
	struct tcpx_maybe set[TCPX_NICSETS];
	struct tcpx_nic_queue *queues;
	struct tcpx_nic_vector *vectors;
	unsigned queue_count, vector_count;
	const char *vectors_why;       /* static: the reason for none                  */
};

/* A kernel thread for the work of a NIC's queue: "napi/eth1-8193". */
struct tcpx_topo_thread {
	long pid;
	char name[64];
	struct tcpx_maybe_set cpus;    /* its allowed CPUs                             */
};

struct tcpx_topo {
	char root[256];                /* "/": this machine                            */
	bool fixture;                  /* the root is marked as a fixture: it may be written */
	char kernel[128];              /* "" unknown                                   */
	char boot_id[40];              /* "" unknown                                   */
	struct tcpx_host_cpus cpus;    /* count 0: unknown                             */
	struct tcpx_maybe_set possible, present, offline, isolated, nohz_full;
	struct tcpx_maybe_set cgroup;  /* CPUs in the cpuset of this process           */
	char cgroup_file[256];         /* the file that says so                        */
	struct tcpx_maybe_set irq_default; /* initial mask of future IRQs              */
	struct tcpx_maybe smt;         /* 1: cores have several CPUs in use            */
	struct tcpx_maybe numa_balancing;
	struct tcpx_topo_node nodes[TCPX_HOST_NODES]; /* beside cpus.node               */
	struct tcpx_topo_core *cores;  /* by first CPU                                 */
	unsigned core_count;
	struct tcpx_topo_nic *nics;    /* eth2 before eth10; virtual ones, too         */
	unsigned nic_count;
	struct tcpx_host_gpu gpus[TCPX_TOPO_GPUS];
	unsigned gpu_count;
	struct tcpx_maybe irqbalance;  /* its process id                               */
	struct tcpx_topo_thread *threads;
	unsigned thread_count;
};

/*
 * tcpx_topo_read - the machine below @root
 * @out: heap, for tcpx_topo_free()
 * An empty machine is valid: without CPUs, NICs, GPUs.
 * Return: 0, -ENOMEM, -ENOTDIR if the root is no directory; logged.
 */
TCPX_MUST_CHECK int tcpx_topo_read(const char *root, struct tcpx_topo **out);
void tcpx_topo_free(struct tcpx_topo *topo);

/* NULL: none. */
const struct tcpx_topo_nic *tcpx_topo_nic_find(const struct tcpx_topo *topo, const char *ifname);
/* Most queues of a NIC in either direction; 0 unknown. */
unsigned tcpx_topo_queues_max(const struct tcpx_topo_nic *nic);
/* The planner's machine: NICs are those with a device, and those that the default selection
 * takes. Finished. -ENOMEM, or -EINVAL for facts that contradict each other; logged. */
TCPX_MUST_CHECK int tcpx_topo_machine(const struct tcpx_topo *topo, struct tcpx_machine *out);

#endif
