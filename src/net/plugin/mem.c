/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that a comm sends from and receives into, registered for that comm alone. */
#include <errno.h>
#include <stdlib.h>

#include "net/plugin/inside.h"
#include "net/plugin/mem.h"
#include "net/plugin/result.h"

#define PAGE_BYTES 4096 /* of a GPU's memory, exported as a dma-buf */

/* A plugin that unpacks receives into no memory that is registered as the host's: its bounce pages are a
 * GPU's. Host memory stands for a GPU's then, which Google's plugin refuses, and the emulator takes
 * without a driver. */
static bool
as_gpu(const struct plug_comm *c, bool gpu)
{
	return gpu || (c->unpack && !c->sending);
}

static int
check(const struct plug_comm *c, const void *mem, size_t size, bool gpu)
{
	const struct plug_device *d = &c->plug->device[c->dev];

	if (!mem || size == 0 || (as_gpu(c, gpu) && ((uintptr_t)mem | size) % PAGE_BYTES))
		return tcpx_fail(TCPX_SUB_NET, -EINVAL, "%s: registering %zu bytes at %p; of a GPU "
				 "they are whole pages of %d", plug_own_name(c->plug), size, mem,
				 PAGE_BYTES);
	if (size > c->plug->abi->reg_max)
		return tcpx_fail(TCPX_SUB_NET, -EMSGSIZE, "%s: registering %zu bytes, at most %llu",
				 plug_own_name(c->plug), size,
				 (unsigned long long)c->plug->abi->reg_max);
	if (as_gpu(c, gpu) ? !d->props.gpu : !d->props.host)
		return tcpx_fail(TCPX_SUB_NET, -EOPNOTSUPP, "%s: %s takes no memory of %s",
				 plug_own_name(c->plug), d->props.name, gpu ? "GPUs" : "the host");
	/* Google's plugin reads the PCI address of the NIC and crashes without one */
	if (gpu && c->unpack && !*d->props.pci)
		return tcpx_fail(TCPX_SUB_NET, -EOPNOTSUPP, "%s: %s is no PCI device, so it "
				 "cannot reach memory of GPUs", plug_own_name(c->plug), d->props.name);
	return 0;
}

int
plug_reg(struct plug_comm *c, void *mem, size_t size, bool gpu, void **mhandle)
{
	int rc = c->broken ? c->broken : check(c, mem, size, gpu);
	enum nccl_result result;
	struct plug_mr *mr;

	if (rc)
		return rc;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return tcpx_fail(TCPX_SUB_NET, -ENOMEM, "%s: no memory to register",
				 plug_own_name(c->plug));
	result = c->plug->abi->reg(c->plug->table, c->comm, mem, size,
				   as_gpu(c, gpu) ? NCCL_PTR_CUDA : NCCL_PTR_HOST, &mr->mhandle);
	if (result == NCCL_OK && c->unpack && !mr->mhandle)
		result = NCCL_INTERNAL_ERROR; /* every message would be refused */
	if (result != NCCL_OK) {
		rc = plug_fail(c->plug, result, "registering %zu bytes of %s at %p", size,
			       gpu ? "a GPU" : "the host", mem);
		free(mr);
		return rc == -EAGAIN ? -EPROTO : rc;
	}
	mr->at = (uintptr_t)mem;
	mr->size = size;
	mr->gpu = gpu;
	mr->next = c->mrs;
	c->mrs = mr;
	*mhandle = mr;
	return 0;
}

static void
drop(struct plug_comm *c, struct plug_mr **at)
{
	struct plug_mr *mr = *at;

	*at = mr->next;
	c->plug->abi->dereg(c->plug->table, c->comm, mr->mhandle);
	free(mr);
}

void
plug_dereg(struct plug_comm *c, void *mhandle)
{
	struct plug_mr **at = &c->mrs;

	while (*at && *at != mhandle)
		at = &(*at)->next;
	if (!*at)
		return;
	if ((*at)->in_use && !c->broken) {
		tcpx_warn(TCPX_SUB_NET, "%s: memory that %u messages use stays registered until "
			  "its comm closes", plug_own_name(c->plug), (*at)->in_use);
		return;
	}
	if (!(*at)->in_use)
		drop(c, at);
}

void
plug_mrs_drop(struct plug_comm *c)
{
	while (c->mrs)
		drop(c, &c->mrs);
}
