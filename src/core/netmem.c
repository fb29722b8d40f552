/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that a provider asks for its slots, host's or a GPU's: net/ and device/ do not
 * know each other.
 */
#include <errno.h>

#include "core/core.h"

static int
get(void *arg, int gpu, size_t size, void **mem)
{
	struct tcpx_engine *e = arg;
	int rc;

	if (gpu == TCPX_ON_HOST)
		return e->dev_ops->pinned(e->dev, size, mem);
	rc = tcpx_gpu_ready(e, gpu);
	return rc ? rc : e->gpus.ops->alloc(e->gpus.dev, gpu, size, mem);
}

static void
put(void *arg, int gpu, void *mem)
{
	struct tcpx_engine *e = arg;

	if (gpu == TCPX_ON_HOST)
		e->dev_ops->unpin(e->dev, mem);
	else
		e->gpus.ops->free(e->gpus.dev, gpu, mem);
}

static int
enter(void *arg, int gpu)
{
	struct tcpx_engine *e = arg;
	int rc;

	if (gpu == TCPX_ON_HOST)
		return 0;
	rc = tcpx_gpu_ready(e, gpu);
	return rc ? rc : e->gpus.ops->enter(e->gpus.dev, gpu);
}

static void
leave(void *arg, int gpu)
{
	struct tcpx_engine *e = arg;

	if (gpu != TCPX_ON_HOST)
		e->gpus.ops->leave(e->gpus.dev, gpu);
}

static int
read_it(void *arg, int gpu, void *dst, const void *src, size_t len)
{
	struct tcpx_engine *e = arg;

	if (gpu == TCPX_ON_HOST) {
		memcpy(dst, src, len);
		return 0;
	}
	return e->gpus.ops->read(e->gpus.dev, gpu, dst, (uintptr_t)src, len);
}

void
tcpx_netmem_init(struct tcpx_engine *e)
{
	e->memory = (struct tcpx_net_memory){ .arg = e, .get = get, .put = put, .enter = enter,
					      .leave = leave, .read = read_it };
}
