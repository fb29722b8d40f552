/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What only GPUs of this driver can do, beside the operations of device.h. Any thread; the
 * caller's current context does not change.
 */
#ifndef DEVICE_CUDA_H
#define DEVICE_CUDA_H

#include "device/device.h"

/* A dma-buf of GPU memory, addr and len multiples of the page size, for a NIC to write to:
 * a file descriptor that the caller closes. -ENOTSUP: not with this driver or kernel. */
int tcpx_cuda_dmabuf(struct tcpx_device *dev, uint64_t addr, uint64_t len, int *fd);
/* Lets kernels of GPU place read and write memory of GPU peer; a second call changes nothing.
 * -ENOTSUP: they cannot reach each other. */
int tcpx_cuda_peer(struct tcpx_device *dev, int place, int peer);

#endif
