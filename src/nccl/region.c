/* SPDX-License-Identifier: Apache-2.0 */
#include "nccl/region.h"

#include <errno.h>
#include <stdlib.h>

static struct region *
find(struct regions *all, uintptr_t addr, size_t len)
{
	struct region *r = all->first;

	while (r && (r->addr != addr || r->len != len))
		r = r->next;
	return r;
}

static int
make(struct regions *all, struct hub *hub, void *addr, size_t len, struct region **out)
{
	struct region *r = calloc(1, sizeof(*r));
	int rc = r ? tcpx_nccl_hub_register(hub, addr, len, &r->id) : -ENOMEM;

	if (rc) {
		free(r);
		return rc;
	}
	r->addr = (uintptr_t)addr;
	r->len = len;
	r->next = all->first;
	all->first = r;
	*out = r;
	return 0;
}

int
tcpx_nccl_region_get(struct regions *all, struct hub *hub, void *addr, size_t len,
		     struct region **out)
{
	int rc = 0;

	pthread_mutex_lock(&all->lock);
	*out = find(all, (uintptr_t)addr, len);
	if (!*out)
		rc = make(all, hub, addr, len, out);
	if (rc == 0)
		(*out)->users++;
	pthread_mutex_unlock(&all->lock);
	return rc;
}

void
tcpx_nccl_region_put(struct regions *all, struct hub *hub, struct region *r)
{
	struct region **at = &all->first;

	pthread_mutex_lock(&all->lock);
	if (--r->users == 0) {
		while (*at != r)
			at = &(*at)->next;
		*at = r->next;
		tcpx_nccl_hub_deregister(hub, r->id);
		free(r);
	}
	pthread_mutex_unlock(&all->lock);
}
