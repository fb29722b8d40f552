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

#include "host/facts.h"
#include "tune/facts/nicset.h"
#include "tune/facts/queues.h"

#define TCPX_TOPO_SCHEMA 1

struct tcpx_topo_nic {
	const struct tcpx_host_nic *nic; /* in the facts                               */
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
	struct tcpx_facts facts;
	struct tcpx_maybe_set possible, present, offline, nohz_full;
	struct tcpx_maybe_set cgroup;  /* CPUs in the cpuset of this process           */
	char cgroup_file[256];         /* the file that says so                        */
	struct tcpx_maybe_set irq_default; /* initial mask of future IRQs              */
	struct tcpx_maybe smt;         /* 1: cores have several CPUs in use            */
	struct tcpx_maybe numa_balancing;
	struct tcpx_maybe memory_kib[TCPX_HOST_NODES]; /* of facts.cpus.node           */
	struct tcpx_topo_nic *nics;    /* those of the facts                           */
	unsigned nic_count;
	struct tcpx_maybe irqbalance;  /* its process id; -errno: none is visible      */
	struct tcpx_topo_thread *threads;
	unsigned thread_count;
};

/*
 * tcpx_topo_read - the machine below @root
 * @out: heap, for tcpx_topo_free()
 * An empty machine is valid: without CPUs, NICs, GPUs.
 * Return: 0, -ENOMEM, -ENOTDIR if the root is no directory, facts.nics_rc; logged.
 */
TCPX_MUST_CHECK int tcpx_topo_read(const char *root, struct tcpx_topo **out);
/* The same, but NICs that cannot be read are left out. */
TCPX_MUST_CHECK int tcpx_topo_read_parts(const char *root, struct tcpx_topo **out);
void tcpx_topo_free(struct tcpx_topo *topo);

/* NULL: none. */
const struct tcpx_topo_nic *tcpx_topo_nic_find(const struct tcpx_topo *topo, const char *ifname);
/* Most queues of a NIC in either direction; 0 unknown. */
unsigned tcpx_topo_queues_max(const struct tcpx_topo_nic *nic);
/* tcpx_facts_machine() with limits of queues, and vectors. */
TCPX_MUST_CHECK int tcpx_topo_machine(const struct tcpx_topo *topo, struct tcpx_machine *out);

#endif
