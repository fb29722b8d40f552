/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What only GPUs of this driver can do, beside the operations of device.h. Calls: any
 * thread; the caller's current context stays as it is.
 */
#ifndef DEVICE_CUDA_H
#define DEVICE_CUDA_H

#include "device/device.h"

/* A dma-buf of GPU memory, addr and len multiples of the page size, for a NIC to write to:
 * a file descriptor that the caller closes. -ENOTSUP: driver or kernel cannot. */
int tcpx_cuda_dmabuf(struct tcpx_device *dev, uint64_t addr, uint64_t len, int *fd);
/* Lets kernels of GPU place read and write memory of GPU peer; twice does no harm.
 * -ENOTSUP: no way between them. */
int tcpx_cuda_peer(struct tcpx_device *dev, int place, int peer);

#endif
