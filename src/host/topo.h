/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All facts of a machine that placing threads and interrupts needs, and a diagnosis may ask
 * for: CPUs, cores, caches, nodes, NICs with queues, vectors and settings, GPUs, and who else
 * moves interrupts. What is not known says why; nothing is made up, nothing is changed.
 *
 * Threads: a value; the caller's. Blocks: for local files and the kernel's answers.
 */
#ifndef HOST_TOPO_H
#define HOST_TOPO_H

#include "host/host.h"
#include "host/machine.h"
#include "host/maybe.h"
#include "host/nicset.h"
#include "host/queues.h"

#define TCPX_TOPO_SCHEMA 1
#define TCPX_TOPO_GPUS 64

struct tcpx_topo_core {
	struct tcpx_machine_core core; /* node, L3 group, CPUs                         */
	int package;                   /* -1 unknown                                   */
};

struct tcpx_topo_node {
	bool has_cpu;
	struct tcpx_maybe memory_kib;
	uint8_t distance[TCPX_HOST_NODES]; /* to the node in that place; 0 unknown     */
};

struct tcpx_topo_nic {
	struct tcpx_host_nic nic;
	unsigned ifindex;              /* 0 unknown                                    */
	char pci_driver[32];           /* of the PCI device: "virtio-pci"; "" unknown  */
	char physfn[16];               /* of a virtual function: the device it is of   */
	struct tcpx_maybe set[TCPX_NICSETS];
	struct tcpx_nic_queue *queues;
	struct tcpx_nic_vector *vectors;
	unsigned queue_count, vector_count;
	const char *vectors_why;       /* static: why there are none                   */
};

/* A kernel thread that does the work of a NIC's queue: "napi/eth1-8193". */
struct tcpx_topo_thread {
	long pid;
	char name[64];
	struct tcpx_maybe_set cpus;    /* where it may run                             */
};

struct tcpx_topo {
	char root[256];                /* "/": this machine                            */
	bool fixture;                  /* the root is marked as one: it may be written */
	char kernel[128];              /* "" unknown                                   */
	char boot_id[40];              /* "" unknown                                   */
	struct tcpx_host_cpus cpus;    /* count 0: unknown                             */
	struct tcpx_maybe_set possible, present, offline, isolated, nohz_full;
	struct tcpx_maybe_set cgroup;  /* CPUs that the cpuset of this process has     */
	char cgroup_file[256];         /* which file said so                           */
	struct tcpx_maybe_set irq_default; /* mask that future IRQs begin with         */
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
 * A machine without anything is one, too: without CPUs, NICs, GPUs.
 * Return: 0, -ENOMEM, -ENOTDIR if the root is no directory; logged.
 */
TCPX_MUST_CHECK int tcpx_topo_read(const char *root, struct tcpx_topo **out);
void tcpx_topo_free(struct tcpx_topo *topo);

/* NULL if there is none. */
const struct tcpx_topo_nic *tcpx_topo_nic_find(const struct tcpx_topo *topo, const char *ifname);
/* Most queues that a NIC can have either way; 0 unknown. */
unsigned tcpx_topo_queues_max(const struct tcpx_topo_nic *nic);
/* Place in cpus.node of the node with that CPU; -1 none. */
int tcpx_topo_node_of(const struct tcpx_topo *topo, int cpu);

/* What the planner needs of it: NICs are those with a device, and those that the default
 * selection takes. Finished. -ENOMEM, or -EINVAL for facts that contradict each other;
 * logged. */
TCPX_MUST_CHECK int tcpx_topo_machine(const struct tcpx_topo *topo, struct tcpx_machine *out);

#endif
