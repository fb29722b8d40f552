/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine as plain facts for planning: cores in their order, nodes, NICs with their
 * vectors, GPUs, and the CPUs that may be used. It comes from the running machine or from a
 * directory tree; the planner (host/plan.h) sees nothing else.
 *
 * Vectors name a NIC by its index in @nics. A machine owns its arrays: begin with
 * tcpx_machine_init(), end with tcpx_machine_fini(). tcpx_machine_finish() sorts everything,
 * so the order of the input never matters.
 *
 * Threads: a value; the caller's. Errors: -ENOMEM, and -ERANGE or -EEXIST where noted.
 */
#ifndef HOST_MACHINE_H
#define HOST_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "base/err.h"
#include "host/host.h"

#define TCPX_MACHINE_SIBLINGS 8   /* most CPUs of a core                    */
#define TCPX_MACHINE_NICS 64
#define TCPX_MACHINE_VECTORS 8192
#define TCPX_MACHINE_GPUS 64
#define TCPX_MACHINE_PATH 256     /* longest device path, with its NUL       */

struct tcpx_machine_core {
	int package;       /* -1 unknown; only a topology has it            */
	int node;          /* id of its node; -1 on a kernel without NUMA   */
	int l3;            /* of its L3 cache group; -1 unknown             */
	bool small;        /* beside larger ones: less than 4/5 of their capacity, or an Atom core */
	uint16_t cpu_count;
	uint16_t cpu[TCPX_MACHINE_SIBLINGS]; /* rising                      */
};

struct tcpx_machine_node {
	int id;
	/* To the node at the same index in @nodes (10 is itself); 0 unknown. */
	uint8_t distance[TCPX_HOST_NODES];
};

/* The purpose of a vector. */
enum tcpx_vector_kind {
	TCPX_VECTOR_UNKNOWN,
	TCPX_VECTOR_TX,
	TCPX_VECTOR_RX,
	TCPX_VECTOR_TXRX, /* both queues of one number */
	TCPX_VECTOR_MGMT,
	TCPX_VECTOR_KINDS
};

/* The source of a vector's queue; the first is the best. */
enum tcpx_vector_source {
	TCPX_VECTOR_NETDEV, /* the kernel says so      */
	TCPX_VECTOR_NAME,   /* the name of its action  */
	TCPX_VECTOR_ORDER,  /* the driver's layout     */
	TCPX_VECTOR_NOT,    /* unknown: of this NIC, no more */
	TCPX_VECTOR_SOURCES
};

struct tcpx_machine_vector {
	unsigned nic;        /* index in @nics                                  */
	uint32_t irq;
	int64_t hwirq;       /* -1 unknown                                      */
	enum tcpx_vector_kind kind;
	int queue;           /* -1: none, or unknown                            */
	enum tcpx_vector_source source;
	bool movable;        /* false: managed by the kernel                    */
	char chip[40];       /* "PCI-MSIX-0000:00:03.0"; "" unknown             */
	char name[80];       /* "gve-ntfy-blk0@pci:0000:06:00.0"; "" unknown    */
};

struct tcpx_machine_nic {
	char name[16];
	char driver[32];     /* "" unknown                                      */
	/* The path is "" where no bridge is known: the device has a bus of its own. */
	struct tcpx_host_place place;
	uint32_t queues_rx, queues_tx; /* in use                                */
	uint32_t queues_max;           /* either way; 0 unknown                 */
};

struct tcpx_machine_gpu {
	int index;
	struct tcpx_host_place place; /* as of a NIC */
};

struct tcpx_machine {
	char name[64];       /* name of the machine: "a3-high", "live"          */
	char boot_id[40];    /* of the running kernel                        */
	struct tcpx_cpuset online;
	struct tcpx_cpuset allowed;  /* to this process                          */
	struct tcpx_cpuset isolated; /* isolcpus=                               */
	struct tcpx_machine_core *cores;     /* by first CPU                    */
	struct tcpx_machine_nic *nics;       /* eth2 before eth10               */
	struct tcpx_machine_gpu *gpus;       /* by index                        */
	struct tcpx_machine_vector *vectors; /* by NIC, then IRQ                */
	unsigned core_count, nic_count, gpu_count, vector_count;
	unsigned core_room, nic_room, gpu_room, vector_room;
	unsigned node_count;                 /* 0: a kernel without NUMA        */
	struct tcpx_machine_node nodes[TCPX_HOST_NODES]; /* by id               */
};

void tcpx_machine_init(struct tcpx_machine *m);
/* Frees the arrays; then the machine is as after init. */
void tcpx_machine_fini(struct tcpx_machine *m);

/*
 * Each copies its arguments, in any order. None logs.
 *
 * core: -EINVAL without CPUs, -ERANGE for a CPU that no set holds, -EEXIST for a CPU that
 * another core has; an online CPU is one that a core has, unless @online is set after
 */
TCPX_MUST_CHECK int tcpx_machine_add_core(struct tcpx_machine *m,
					  const struct tcpx_machine_core *core);
/* -EEXIST: known already; -ERANGE: more than TCPX_HOST_NODES, or a negative id. */
TCPX_MUST_CHECK int tcpx_machine_add_node(struct tcpx_machine *m, int id);
/* -EEXIST for a known name; -EINVAL for a name, driver, address or path that could not be a
 * file's, or a path that leads to another device. */
TCPX_MUST_CHECK int tcpx_machine_add_nic(struct tcpx_machine *m,
					 const struct tcpx_machine_nic *nic);
/* -EEXIST for a known index; -EINVAL as of a NIC. */
TCPX_MUST_CHECK int tcpx_machine_add_gpu(struct tcpx_machine *m,
					 const struct tcpx_machine_gpu *gpu);
/* -EEXIST for a known IRQ, -ENOENT for an unknown NIC. */
TCPX_MUST_CHECK int tcpx_machine_add_vector(struct tcpx_machine *m,
					    const struct tcpx_machine_vector *vector);

/* Sorts everything as the struct says; vectors and distances follow their NICs and nodes. */
TCPX_MUST_CHECK int tcpx_machine_finish(struct tcpx_machine *m);

/* Index of a NIC or node; -1: none. */
int tcpx_machine_nic_find(const struct tcpx_machine *m, const char *name);
int tcpx_machine_node_find(const struct tcpx_machine *m, int id);
/* The online CPUs of a node; for -1 those without a node. */
void tcpx_machine_node_cpus(const struct tcpx_machine *m, int node, struct tcpx_cpuset *out);

/* The facts behind a plan, in parts that change for different reasons. */
enum tcpx_machine_part {
	TCPX_MACHINE_PART_CPUS,   /* cores, siblings, nodes, distances, L3, isolated CPUs */
	TCPX_MACHINE_PART_NICS,   /* names, drivers, addresses, nodes                     */
	TCPX_MACHINE_PART_GPUS,   /* addresses, nodes                                     */
	TCPX_MACHINE_PART_QUEUES, /* their number, and which have vectors                 */
	TCPX_MACHINE_PARTS
};

/* Of facts that survive a reboot: no IRQ numbers. Without the CPUs that this process may
 * use, and without NICs that have no device. The machine must be finished. A machine read
 * without vectors has another last part. */
uint64_t tcpx_machine_hash_part(const struct tcpx_machine *m, enum tcpx_machine_part part);
/* Hash of all parts. */
uint64_t tcpx_machine_hash(const struct tcpx_machine *m);
/* "cpus", "queues"; static. */
const char *tcpx_machine_part_name(enum tcpx_machine_part part);

/* Reads the machine below @root as far as its files go: without vectors and the queue
 * limits of NICs. NICs are those with a device and those that the default selection
 * takes. Finished. -ENOENT without CPUs, -EINVAL for facts that contradict each other,
 * -ENOMEM; logged. */
TCPX_MUST_CHECK int tcpx_machine_read(const char *root, struct tcpx_machine *out);

/* "tx", "mgmt"; "netdev", "order"; static. */
const char *tcpx_vector_kind_name(enum tcpx_vector_kind kind);
const char *tcpx_vector_source_name(enum tcpx_vector_source source);

/* Numbers within names count as numbers: eth2 before eth10. As strcmp(). */
int tcpx_machine_name_compare(const char *a, const char *b);

#endif
