/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of the slots: of the GPU that owns the NIC, or of the host. The core provides it. The
 * plugin uses the calling thread's current GPU, so calls that make or free its objects enter
 * that GPU first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/plugnet/mem.h"

int
tcpx_plugnet_mem_get(const struct tcpx_net *net, const struct tcpx_nic *nic, size_t size,
		     uint8_t **out)
{
	void *mem;
	int rc;

	if (net->memory) {
		rc = net->memory->get(net->memory->arg, nic->gpu, size, &mem);
		if (rc)
			return rc;
	} else if (nic->gpu >= 0) {
		return tcpx_fail(TCPX_SUB_NET, -ENODEV, "slots of %s on GPU %d: no memory of "
				 "GPUs was given to the provider", nic->name, nic->gpu);
	} else {
		mem = aligned_alloc(PLUGNET_PAGE, size);
		if (!mem)
			return tcpx_fail(TCPX_SUB_NET, -ENOMEM, "%zu bytes of slots", size);
		memset(mem, 0, size);
	}
	*out = mem;
	return 0;
}

void
tcpx_plugnet_mem_put(const struct tcpx_net *net, const struct tcpx_nic *nic, uint8_t *mem)
{
	if (net->memory)
		net->memory->put(net->memory->arg, nic->gpu, mem);
	else
		free(mem);
}

int
tcpx_plugnet_mem_read(const struct tcpx_net *net, const struct tcpx_nic *nic, void *dst,
		      const void *src, size_t len)
{
	if (net->memory)
		return net->memory->read(net->memory->arg, nic->gpu, dst, src, len);
	memcpy(dst, src, len);
	return 0;
}

int
tcpx_plugnet_enter(const struct tcpx_net *net, const struct tcpx_nic *nic)
{
	if (!net->memory || nic->gpu < 0)
		return 0;
	return net->memory->enter(net->memory->arg, nic->gpu);
}

void
tcpx_plugnet_leave(const struct tcpx_net *net, const struct tcpx_nic *nic)
{
	if (net->memory && nic->gpu >= 0)
		net->memory->leave(net->memory->arg, nic->gpu);
}
