/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which NIC carries the channels of a GPU, and through which GPU. Pure: facts in; out come
 * an answer or the reason for none, and a line of text for each decision.
 *
 * With GPUDirect-TCPX payload lands in GPU memory, and a GPU receives through its own NIC
 * alone, the nearest on the PCI bus: flow steering rules are put on that NIC whatever the
 * address, and packets of any other NIC land in host memory. The NIC of another GPU of the
 * same process can relay: that GPU sends and receives, and payload is copied between the
 * two. A NIC reaches only NICs of its own network.
 *
 * Two steps: each side computes its offer from its own facts and sends it in HELLO; from
 * both offers both sides compute the same channels.
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

/* TCPX_MAP, parsed, in the order of its text. */
struct tcpx_netmap_entry {
	uint8_t gpu;
	char nic[TCPX_NETMAP_NAME];
};
struct tcpx_netmap_rules {
	uint32_t count;
	struct tcpx_netmap_entry entry[TCPX_NETMAP_ENTRIES];
};

/* A NIC of this machine, used or not: "nearest" is among all of them. */
struct tcpx_netmap_nic {
	char name[TCPX_NETMAP_NAME];
	uint64_t network; /* equal: they reach each other; 0: unknown */
	bool used;        /* by this engine                          */
	uint8_t distance[TCPX_NETMAP_GPUS]; /* smaller is nearer     */
};

struct tcpx_netmap_side {
	const struct tcpx_netmap_nic *nic;
	uint32_t nic_count;   /* at most TCPX_NETMAP_NICS                              */
	uint32_t gpu_count;   /* of the machine; at most TCPX_NETMAP_GPUS              */
	uint32_t process;     /* bit g: GPU g belongs to this process                  */
	int gpu;              /* owner of the moved memory; TCPX_NETMAP_HOST: none     */
	bool relay;           /* TCPX_RELAY auto; false: off                           */
	const struct tcpx_netmap_rules *rules; /* NULL: none                           */
};

/* A NIC as HELLO offers it. */
struct tcpx_netmap_offer {
	char name[TCPX_NETMAP_NAME];
	uint64_t network;
	bool usable;
	bool relayed;  /* gpu is not the owner of the moved memory */
	int16_t gpu;   /* owner of its channels' buffers, or TCPX_NETMAP_HOST */
	uint8_t rank;  /* the order in which NICs are taken, 0 first */
};

struct tcpx_netmap_channel {
	uint16_t near, far;         /* indices of the opener's and the acceptor's NIC */
	int16_t near_gpu, far_gpu;  /* as offered */
};

/* Lines of text, each with a newline; what does not fit is left out. */
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
/* Formats the rules. Returns the length of the text, also when cap is too small. */
size_t tcpx_netmap_format(const struct tcpx_netmap_rules *rules, char *buf, size_t cap);

/*
 * tcpx_netmap_offers - which of its NICs a side can use, and through which GPU
 * @offer: one for each NIC of the side
 * A GPU owns the NICs of its rule; else the nearest by distance (several, if equally near);
 * else, where no distance is known, the only NIC of the machine. A rule that contradicts the
 * distances is refused: the plugin would end the process at the first byte.
 * A used NIC is usable through the GPU that owns it: side->gpu itself or, with relay, another
 * one of the process, which side->gpu spreads. Host memory may use any NIC, without a GPU,
 * where the process has none of the machine's GPUs.
 * A GPU takes its own NICs first, then near relays, then far ones. Where that leaves a choice, all
 * GPUs of the machine share the NICs evenly. Only the machine and the rules decide, so processes of
 * one GPU each, which do not know of each other, agree.
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
 * whose network is unknown on either side are paired with the remaining ones, by name and then by order. Pairs
 * with fewer relays come first, of these the ones that both sides rank first. Channel k uses
 * pair k mod pairs.
 * @why: a line for each pair and each NIC left out; without any pair, the reason
 * Return: the number of channels; -ENONET: no pair (logged, with why); -EINVAL: no channel
 * wanted, or too many NICs.
 */
int tcpx_netmap_plan(const struct tcpx_netmap_offer *opener, uint32_t opener_count,
		     uint32_t opener_channels, const struct tcpx_netmap_offer *acceptor,
		     uint32_t acceptor_count, uint32_t acceptor_channels,
		     struct tcpx_netmap_channel *out, struct tcpx_netmap_text *why);

#endif
