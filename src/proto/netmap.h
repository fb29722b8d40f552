/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which NIC carries the channels of a GPU, and by way of which GPU. Pure: facts in, an answer
 * or the reason why there is none out, and a line of text for each decision.
 *
 * Where payload lands in memory of a GPU (GPUDirect-TCPX), a GPU receives through its own
 * NIC alone, the nearest on the PCI bus: the flows' rules are put on that NIC whatever the
 * address, and what comes in on another lands in the host's memory. A NIC of another GPU can
 * still help if that GPU is of the same process: it sends and receives, and payload is copied
 * between the two (a relay). And a NIC reaches only NICs of its own network.
 *
 * In two steps: each side works out what it offers from its own facts, and says so in HELLO;
 * from both offers both sides work out the same channels.
 */
#ifndef PROTO_NETMAP_H
#define PROTO_NETMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TCPX_NETMAP_NICS     32
#define TCPX_NETMAP_GPUS     16
#define TCPX_NETMAP_CHANNELS 64
#define TCPX_NETMAP_ENTRIES  64    /* pairs of a GPU and a NIC in one TCPX_MAP     */
#define TCPX_NETMAP_NAME     32    /* bytes with the NUL                           */
#define TCPX_NETMAP_UNKNOWN  255   /* distance: no PCI bus, or no such device on it */
#define TCPX_NETMAP_HOST     (-1)  /* instead of a GPU: the host's memory          */

/* TCPX_MAP, read: in the order of its text. */
struct tcpx_netmap_entry {
	uint8_t gpu;
	char nic[TCPX_NETMAP_NAME];
};
struct tcpx_netmap_rules {
	uint32_t count;
	struct tcpx_netmap_entry entry[TCPX_NETMAP_ENTRIES];
};

/* A NIC of this machine. Those not used count too: nearest means of all. */
struct tcpx_netmap_nic {
	char name[TCPX_NETMAP_NAME];
	uint64_t network; /* equal: they reach each other; 0 unknown */
	bool used;        /* by this engine                          */
	uint8_t distance[TCPX_NETMAP_GPUS]; /* smaller is nearer     */
};

struct tcpx_netmap_side {
	const struct tcpx_netmap_nic *nic;
	uint32_t nic_count;   /* at most TCPX_NETMAP_NICS                              */
	uint32_t gpu_count;   /* of the machine; at most TCPX_NETMAP_GPUS              */
	uint32_t process;     /* bit g: GPU g is one of this process                   */
	int gpu;              /* whose memory is moved; TCPX_NETMAP_HOST: none's       */
	bool relay;           /* TCPX_RELAY auto; false: off                           */
	const struct tcpx_netmap_rules *rules; /* NULL: none                           */
};

/* What a side says of a NIC in HELLO. */
struct tcpx_netmap_offer {
	char name[TCPX_NETMAP_NAME];
	uint64_t network;
	bool usable;
	bool relayed;  /* gpu is another than whose memory is moved */
	int16_t gpu;   /* that owns the slots of its channels, or TCPX_NETMAP_HOST */
};

struct tcpx_netmap_channel {
	uint16_t near, far;         /* indices of the opener's and the acceptor's NIC */
	int16_t near_gpu, far_gpu;  /* as offered */
};

/* Lines for people, each ended by a newline; what does not fit is left out. */
struct tcpx_netmap_text {
	char text[4096];
	size_t len;
};

/*
 * tcpx_netmap_parse - read TCPX_MAP: "gpu0=eth1;gpu4=eth3,eth4"
 * Entries "gpuN=NIC[,NIC...]", separated by ";" (one at the end is allowed); no blanks; each
 * GPU once, each NIC once for a GPU. "" is no rule.
 * Return: 0 or TCPX_ECONFIG (logged, with the part that is wrong and what is allowed).
 */
int tcpx_netmap_parse(const char *text, struct tcpx_netmap_rules *rules);
/* The text that reads as these; its length, or what it needs where cap is too small. */
size_t tcpx_netmap_format(const struct tcpx_netmap_rules *rules, char *buf, size_t cap);

/*
 * tcpx_netmap_offers - which of its NICs a side can use, and by way of which GPU
 * @offer: one for each NIC of the side
 * A GPU's own NICs are those of its rule, else the nearest by distance (several, if equally
 * near), else, where no distance is known, the only NIC of the machine. A rule that contradicts
 * the distances is refused: the plugin would end the process at the first byte.
 * A used NIC is of use by its own GPU: side->gpu itself, or, with relay, another one of the
 * process (which one is spread by side->gpu). Host memory on a machine of whose GPUs the process
 * has none goes through any NIC, without a GPU.
 * Return: the number of usable NICs; -ENODEV: none; TCPX_ECONFIG: the rules are impossible
 * here; -EINVAL: so are the facts (logged).
 */
int tcpx_netmap_offers(const struct tcpx_netmap_side *side, struct tcpx_netmap_offer *offer,
		       struct tcpx_netmap_text *why);

/*
 * tcpx_netmap_plan - the channels of two sides, the same on both
 * @channels: wanted by each side; the smaller number is made
 * @out: room for TCPX_NETMAP_CHANNELS
 * Usable NICs of one network are paired in order; with more on one side they are shared. NICs
 * whose network is unknown on either side are paired by order with what is left. Pairs with
 * fewer relays come first. Channel k uses pair k mod pairs.
 * @why: a line for each pair and each NIC left out; where there is no pair, the reason
 * Return: the number of channels; -ENONET: no pair (logged, with why); -EINVAL: no channel
 * wanted, or too many NICs.
 */
int tcpx_netmap_plan(const struct tcpx_netmap_offer *opener, uint32_t opener_count,
		     uint32_t opener_channels, const struct tcpx_netmap_offer *acceptor,
		     uint32_t acceptor_count, uint32_t acceptor_channels,
		     struct tcpx_netmap_channel *out, struct tcpx_netmap_text *why);

#endif
