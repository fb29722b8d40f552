/* SPDX-License-Identifier: Apache-2.0 */
/* list, alloc, free, enter, leave and read of device.h for GPUs. */
#ifndef DEVICE_CUDA_MEMORY_H
#define DEVICE_CUDA_MEMORY_H

#include "device/device.h"

int tcpx_cuda_list(struct tcpx_device *dev, char pci[][TCPX_PCI_TEXT], uint32_t cap,
		   uint32_t *count);
int tcpx_cuda_alloc(struct tcpx_device *dev, int place, size_t size, void **mem);
void tcpx_cuda_free(struct tcpx_device *dev, int place, void *mem);
int tcpx_cuda_lock(struct tcpx_device *dev, void *addr, size_t len);
void tcpx_cuda_unlock(struct tcpx_device *dev, void *addr);
int tcpx_cuda_enter(struct tcpx_device *dev, int place);
void tcpx_cuda_leave(struct tcpx_device *dev, int place);
int tcpx_cuda_read(struct tcpx_device *dev, int place, void *dst, uint64_t src, size_t len);

#endif
