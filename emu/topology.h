/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NICs, in the order of their names, as the real plugin numbers them. Each is an address
 * of this host. Its network determines which NICs it reaches, its GPUs which can receive
 * through it.
 *
 *	NIC{;NIC}   NIC = NAME[=ADDRESS]{,KEY=VALUE}   (in a file one a line; # comments)
 *
 * Without an address NAME is an interface of this host. Keys: gpus=0+1 (all), network=TEXT
 * (NAME), pci=PATH or none, numa=N, speed=MBPS.
 */
#ifndef EMU_TOPOLOGY_H
#define EMU_TOPOLOGY_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/bounds.h"
#include "net/plugin/nccl_net.h"

#define EMU_NETWORK_BYTES 24
#define EMU_WHY_BYTES	  160

struct emu_nic {
	char name[EMU_NAME_BYTES];
	char network[EMU_NETWORK_BYTES];
	char pci[96];   /* "": none                        */
	bool has_addr;
	struct in_addr addr;
	uint64_t gpus;  /* one bit each                    */
	int numa, speed;
};

struct emu_topology {
	struct emu_nic nic[EMU_NICS_MAX];
	unsigned count;
};

/* Pure: no address is looked up. false: @why has the mistake and its place. */
bool emu_topology_parse(const char *text, struct emu_topology *t, char why[EMU_WHY_BYTES]);
/* Keeps the NICs that a list of the form of SOCKET_IFNAME names: prefixes; behind "=" whole
 * names; behind "^" all others. Pure. */
void emu_topology_select(struct emu_topology *t, const char *list);
/* From TCPX_EMU_TOPOLOGY, TCPX_EMU_NICS, or eth1 to eth4 on 127.0.1.1 to 127.0.4.1 with two
 * GPUs each; with addresses, and selected by @ifname unless NULL. */
enum nccl_result emu_topology_read(struct emu_topology *t, const char *ifname);
/* The address of an interface of this host. */
bool emu_topology_address(const char *interface, struct in_addr *out);

#endif
