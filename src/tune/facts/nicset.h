/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings of a NIC that decide how often it interrupts and how much work that is: channels,
 * rings, coalescing, features, NAPI. One table names the source of each.
 *
 * Below another root they come from the file "settings", one "NIC SETTING VALUE" a line.
 */
#ifndef TUNE_FACTS_NICSET_H
#define TUNE_FACTS_NICSET_H

#include "host/maybe.h"
#include "tune/facts/asker.h"

enum tcpx_nicset {
	TCPX_NICSET_RX, TCPX_NICSET_RX_MAX, TCPX_NICSET_TX, TCPX_NICSET_TX_MAX,
	TCPX_NICSET_COMBINED, TCPX_NICSET_COMBINED_MAX,
	TCPX_NICSET_RING_RX, TCPX_NICSET_RING_RX_MAX, TCPX_NICSET_RING_TX,
	TCPX_NICSET_RING_TX_MAX, TCPX_NICSET_DATA_SPLIT,
	TCPX_NICSET_RX_USECS, TCPX_NICSET_RX_FRAMES, TCPX_NICSET_TX_USECS,
	TCPX_NICSET_TX_FRAMES, TCPX_NICSET_ADAPTIVE_RX, TCPX_NICSET_ADAPTIVE_TX,
	TCPX_NICSET_GRO, TCPX_NICSET_GRO_HW, TCPX_NICSET_GSO, TCPX_NICSET_TSO,
	TCPX_NICSET_LRO, TCPX_NICSET_NTUPLE, TCPX_NICSET_RXHASH,
	TCPX_NICSET_THREADED, TCPX_NICSET_DEFER_IRQS, TCPX_NICSET_GRO_FLUSH,
	TCPX_NICSETS
};

/* "channels.combined_max", "features.gro"; static. Units stand in the names. Switches are 0
 * or 1; rings.tcp_data_split is 0 unknown, 1 off, 2 on, like the kernel's. */
const char *tcpx_nicset_name(enum tcpx_nicset set);

/* Takes the settings out of the kernel's answer to @command of linux/ethtool_netlink.h;
 * those that it lacks stay. @out: TCPX_NICSETS of them. */
void tcpx_nicset_take(uint8_t command, struct tcpx_nlattrs attrs, struct tcpx_maybe *out);
void tcpx_nicset_read(const char *root, struct tcpx_asker *a, const char *ifname,
		      unsigned ifindex, struct tcpx_maybe *out);

#endif
