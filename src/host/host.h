/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine we stand on: its CPUs, NICs and GPUs as plain facts, and what follows from
 * them. The door of host/. Readers take a root directory, so that a directory tree is a
 * machine too; NULL, "" or "/" is this one. Nothing here changes anything.
 *
 * Below another root, addresses come from the file "addresses", one "NIC ADDRESS/PREFIX"
 * a line, and the CPUs this process may use from proc/self/status.
 * Threads: any; no state is kept. Blocks: for local files only.
 */
#ifndef HOST_HOST_H
#define HOST_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/cpuset.h"
#include "base/err.h"

#define TCPX_HOST_NICS 32       /* most NICs that a selection gives       */
#define TCPX_HOST_NODES 64      /* NUMA nodes; more are left out          */
#define TCPX_HOST_ALTS 96       /* room for the other names of a NIC      */
#define TCPX_HOST_ADDRESSES 8   /* addresses kept of one NIC              */
#define TCPX_HOST_ADDR_TEXT 80  /* room that tcpx_host_addr_format() needs */
#define TCPX_HOST_CHANNELS 64   /* most channels that the defaults give   */

enum tcpx_numa_source {
	TCPX_NUMA_UNKNOWN,  /* the node is -1                                    */
	TCPX_NUMA_FILE,     /* the device says so                                */
	TCPX_NUMA_CPULIST,  /* its local CPUs are all of one node                */
	TCPX_NUMA_ONLY,     /* the machine has one node                          */
	TCPX_NUMA_SOURCES
};

/* Where a device of the PCI bus sits; all zero but numa -1 if it is not on one. */
struct tcpx_host_place {
	char pci[16];       /* "0000:06:00.0"; "" none                           */
	char path[256];     /* from the host bridge: "pci0000:00/0000:00:01.0/..." */
	int numa;           /* -1 unknown                                        */
	enum tcpx_numa_source numa_source;
	struct tcpx_cpuset local_cpus; /* empty: unknown                         */
};

struct tcpx_host_nic {
	char name[32];      /* interface, or the address as it was asked for (the
	                     * end of it, if longer)                             */
	char ifname[16];    /* the interface                                     */
	char driver[32];    /* of the interface; "" if it has none               */
	struct tcpx_host_place place;
	unsigned pci_order; /* its place among the machine's NICs by PCI address, from 1: alike on
	                     * machines of one kind, whatever is up there. 0: on no bus */
	bool up;
	bool hardware;      /* a device stands behind it                         */
	bool loopback;
	bool bridge_port;   /* belongs to a bridge, as containers' ends do       */
	uint32_t speed_mbps; /* or less, where its qdisc limits it; 0 unknown    */
	uint32_t mtu;       /* 0 unknown                                         */
	uint32_t queues_rx, queues_tx;
	char kind[16];      /* "vlan", "bridge", as the kernel calls it; "" a device, or unknown */
	char master[16], lower[16]; /* what it belongs to, and stands on; ""     */
	char alts[TCPX_HOST_ALTS]; /* its other names, between blanks            */
	bool wireless;
	bool default_route; /* the machine's leads to it                         */
	uint8_t grade;      /* of the default choice: nic_choice.c                */
	bool slow;          /* by default it carries control only                */
	const char *left_out; /* why the default leaves it out; NULL: it does not; static */
	struct tcpx_addr addr; /* the one to use, the first of addrs; family 0: none */
	struct tcpx_addr addrs[TCPX_HOST_ADDRESSES];
	unsigned addr_count;
	char why[64];       /* of a selected NIC: why                            */
};

struct tcpx_host_node {
	int id;
	struct tcpx_cpuset cpus; /* empty: memory only */
};

struct tcpx_host_cpus {
	unsigned count;             /* online                                    */
	unsigned allowed_count;     /* this process may use                      */
	struct tcpx_cpuset online;
	struct tcpx_cpuset allowed; /* its affinity mask, online CPUs only       */
	unsigned node_count;        /* 0: a kernel without NUMA                  */
	struct tcpx_host_node node[TCPX_HOST_NODES];
};

struct tcpx_host_gpu {
	uint32_t device;    /* PCI device id */
	struct tcpx_host_place place;
};

/* Smaller is nearer. */
enum tcpx_distance {
	TCPX_SAME_SWITCH,
	TCPX_SAME_ROOT_PORT,
	TCPX_SAME_NODE,
	TCPX_CROSS_NODE,
	TCPX_DISTANCE_UNKNOWN,
	TCPX_DISTANCES
};

/* An engine's defaults, each with its reason for people. */
struct tcpx_host_plan {
	unsigned threads;
	unsigned channels;         /* a session, each way          */
	unsigned channels_per_nic; /* the most that one NIC gets   */
	uint32_t spin_us;          /* 0: sleep at once             */
	char threads_why[96], channels_why[96], spin_why[96];
};

/* All interfaces, eth2 before eth10. @out is the caller's: free(). */
TCPX_MUST_CHECK int tcpx_host_nics_read(const char *root, struct tcpx_host_nic **out,
					unsigned *count);

/* Fills in grade, slow and left_out, by the rule in nic_choice.c. Pure. Reading and
 * tcpx_host_nics_family() do it. */
void tcpx_host_nics_judge(struct tcpx_host_nic *nics, unsigned count);

/* Leaves the NICs the addresses that TCPX_FAMILY, as a number, asks for. Warns if only the loopback has one. */
void tcpx_host_nics_family(struct tcpx_host_nic *nics, unsigned count, uint64_t setting);

/*
 * tcpx_host_nics_select - the NICs to use, by name as NCCL names them. Pure.
 * @selection: comma list; NULL or "" for the default. An entry is the beginning of
 *             interface names, or the whole name if the list begins with "="; the other
 *             names of interfaces count where none itself is called so. "^" in
 *             front of the list (before any "=") takes the default but for those. A
 *             literal address makes a NIC of its own, named by its text; any address
 *             that the machine has, all of 127.0.0.0/8 included, will do.
 * @out:       room for @cap; at most TCPX_HOST_NICS are given, in the list's order
 *
 * The default: see nic_choice.c; if none is left, the loopback. A NIC that is named but down or without
 * address is left out with a warning. One that is spelled out is used, if another is fit: its link or
 * its address may come. Without one its address is 0.0.0.0 or ::, by the family of the first fit one.
 * Return: 0 and at least one NIC; -ENODEV (the log lists what there is); -EINVAL (an
 * empty entry).
 */
TCPX_MUST_CHECK int tcpx_host_nics_select(const struct tcpx_host_nic *all, unsigned all_count,
					  const char *selection, struct tcpx_host_nic *out,
					  unsigned cap, unsigned *count);
/* tcpx_host_nics_select() for a selection with its source (tcpx_cfg_source()): where a
 * variable of NCCL's leaves none, it costs a warning, and *selection becomes "", the
 * default. */
TCPX_MUST_CHECK int tcpx_host_nics_by(const struct tcpx_host_nic *all, unsigned all_count,
				      const char **selection, const char *source,
				      struct tcpx_host_nic *out, unsigned cap, unsigned *count);
/* The NIC that connections for control arrive at. */
struct tcpx_host_control {
	const char *name;    /* an interface, or an address of one: then that alone; "" none */
	const char *setting; /* for people: what names it                                    */
	bool must;           /* one that cannot be had is an error; else a warning, and none */
};

/* The value of TCPX_CTRL, and where it comes from (tcpx_cfg_source()): a variable of another
 * program's need not be right. Both are borrowed. */
struct tcpx_host_control tcpx_host_control_of(const char *name, const char *source);

/*
 * tcpx_host_nics_control - the control NIC, which then carries no data. Pure.
 * @selection, @data, @count: of tcpx_host_nics_select(); the control NIC is taken out, with a
 *                            warning if @selection spells it out
 * @out: its addresses reach beyond the link, if it has such
 * The only NIC for data cannot be the control NIC: an error with @want->must, else there is none.
 * Return: 1 and *out; 0: there is none; TCPX_ECONFIG (logged).
 */
TCPX_MUST_CHECK int tcpx_host_nics_control(const struct tcpx_host_nic *all, unsigned all_count,
					   const struct tcpx_host_control *want,
					   const char *selection, struct tcpx_host_nic *data,
					   unsigned *count, struct tcpx_host_nic *out);
/* True: @name is the NIC's own name, or one of the others that it was given. */
bool tcpx_host_nic_is_called(const struct tcpx_host_nic *nic, const char *name);
/* Why a NIC cannot be used; NULL if it can. Static. */
const char *tcpx_host_nic_unfit(const struct tcpx_host_nic *nic);
/* True: sockets of a chosen NIC are bound to its device, beside its address. */
bool tcpx_host_nic_binds(const struct tcpx_host_nic *nic);

/* This boot of this host and the network namespace of the calling thread, as one number: where it
 * differs between two, the loopback of the one is not that of the other. 0: unknown. */
uint64_t tcpx_host_id(void);

/* Bytes of memory: the machine's, or the less that its container allows. 0: unknown. */
uint64_t tcpx_host_ram(const char *root);

/* -ENOENT without a list of online CPUs, -EINVAL if it is malformed. */
TCPX_MUST_CHECK int tcpx_host_cpus(const char *root, struct tcpx_host_cpus *out);
/* The CPUs that the calling thread may run on. -ENOMEM, -errno; not logged. */
TCPX_MUST_CHECK int tcpx_host_own_cpus(struct tcpx_cpuset *set);

/* NVIDIA GPUs by PCI class, driver or not, in the order of their addresses. No PCI bus
 * is no GPU. @count is what is in @out. */
TCPX_MUST_CHECK int tcpx_host_gpus(const char *root, struct tcpx_host_gpu *out, unsigned cap,
				   unsigned *count);

enum tcpx_distance tcpx_host_distance(const struct tcpx_host_nic *nic,
				      const struct tcpx_host_gpu *gpu);

/* Pure; the rule stands in defaults.c. */
void tcpx_host_defaults(const struct tcpx_host_nic *nics, unsigned nic_count,
			const struct tcpx_host_cpus *cpus, unsigned gpu_count,
			struct tcpx_host_plan *out);

/* "same switch", "cross node"; static. */
const char *tcpx_host_distance_name(enum tcpx_distance distance);
/* "device", "local CPUs"; static. */
const char *tcpx_host_numa_source_name(enum tcpx_numa_source source);

/* A literal address, perhaps with "/PREFIX"; no names, no scope. -EINVAL; not logged. */
TCPX_MUST_CHECK int tcpx_host_addr_parse(const char *text, struct tcpx_addr *addr);
/* "10.0.0.2/24", "fe80::1%3/64"; the prefix only if known. */
void tcpx_host_addr_format(const struct tcpx_addr *addr, char *buf, size_t cap);
bool tcpx_host_addr_equal(const struct tcpx_addr *a, const struct tcpx_addr *b);
/* Both of one family, with known prefixes, in one subnet. */
bool tcpx_host_addr_same_subnet(const struct tcpx_addr *a, const struct tcpx_addr *b);

/*
 * tcpx_link_watch_open - a descriptor that is readable when links, addresses or routes change
 * @fd: out: non-blocking, close-on-exec; of the calling thread's network namespace. Closed by the caller
 *
 * Return: 0, or the system's code (not logged).
 */
int tcpx_link_watch_open(int *fd);
/* Takes all that it has to say. Did something change? */
bool tcpx_link_watch_take(int fd);
/* Has a link that is up this address? 0.0.0.0, :: : has @name any of that family? True also where the
 * kernel cannot be asked. */
bool tcpx_link_up_with(const char *name, const struct tcpx_addr *addr);

#endif
