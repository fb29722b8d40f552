/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of a NIC's vector, by the name of its action or by the driver's layout.
 * Pure. The names, by driver:
 *
 *	gve       gve-ntfy-blkI@pci:BDF, older eth1-ntfy-block.I: blocks 0..n-1 are TX queue I,
 *	          n..2n-1 RX queue I-n, n the largest number of queues; gve-mgmnt@pci:BDF is the
 *	          last vector
 *	mlx5      mlx5_compI@pci:BDF, mlx5_combinedI: channel I, on some kernels from 1;
 *	          mlx5_asyncI
 *	ena       eth1-Tx-Rx-I; ena-mgmnt@pci:BDF
 *	virtio    virtio2-input.I, virtio2-output.I; -config, -control
 *	mana      mana_qI@pci:BDF; mana_hwc@pci:BDF
 *	vmxnet3   eth1-rxtx-I; eth1-event-I
 *	bnx2x     eth1-fp-I
 *	tg3       eth1-txrx-I, from 1 where the first vector is the link's
 *	idpf, ice, i40e, bnxt_en and others: BASE-TxRx-I, BASE-rx-I, BASE-tx-I; a vector of
 *	          several queues BASE-TxRx-A-B counts as its first
 */
#ifndef TUNE_FACTS_VECNAME_H
#define TUNE_FACTS_VECNAME_H

#include "tune/facts/queues.h"

struct tcpx_vecname {
	enum tcpx_vector_kind kind;
	bool block; /* of gve: @index counts both directions, and kind is not set */
	int index;  /* -1: none */
};

/* @driver "": any. False: the name is not recognised. Of several owners, "a, b", the first
 * recognised one counts. */
bool tcpx_vecname_parse(const char *driver, const char *name, struct tcpx_vecname *out);

/*
 * tcpx_vectors_map - kind, queue and source of the vectors of one NIC
 * @v: all of them, by IRQ; those with source TCPX_VECTOR_NETDEV stay as they are
 */
void tcpx_vectors_map(const char *driver, struct tcpx_nic_vector *v, unsigned count);

#endif
