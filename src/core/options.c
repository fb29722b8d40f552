/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an engine goes by: the values of its settings, its NICs, and for what is not set the
 * plan that host/ makes of the machine.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "host/host.h"

void
tcpx_engine_limits(struct tcpx_engine *e)
{
	const struct tcpx_cfg *c = e->cfg;
	struct limits *l = &e->limit;

	l->chunk = (uint32_t)tcpx_cfg_num(c, TCPX_SET_CHUNK);
	if (l->chunk > e->ops->chunk_max) {
		tcpx_warn(TCPX_SUB_INIT, "chunk %u is above the %u of provider %s; using that",
			  l->chunk, e->ops->chunk_max, e->ops->name);
		l->chunk = e->ops->chunk_max;
	}
	l->chunk_max = l->chunk ? l->chunk : TCPX_CHUNK_STAGED_MAX;
	if (l->chunk_max > e->ops->chunk_max)
		l->chunk_max = e->ops->chunk_max;
	l->window = (uint32_t)tcpx_cfg_num(c, TCPX_SET_WINDOW);
	l->inline_bytes = (uint32_t)tcpx_cfg_num(c, TCPX_SET_INLINE);
	l->credit_xfers = (uint32_t)tcpx_cfg_num(c, TCPX_SET_CREDIT_XFERS);
	l->credit_list = tcpx_cfg_num(c, TCPX_SET_CREDIT_LIST_BYTES);
	l->connect_ns = tcpx_cfg_num(c, TCPX_SET_CONNECT_MS) * TCPX_MS;
	l->handshake_ns = tcpx_cfg_num(c, TCPX_SET_HANDSHAKE_MS) * TCPX_MS;
	l->stall_ns = tcpx_cfg_num(c, TCPX_SET_STALL_MS) * TCPX_MS;
	l->keepalive_ns = tcpx_cfg_num(c, TCPX_SET_KEEPALIVE_MS) * TCPX_MS;
	l->linger_ns = tcpx_cfg_num(c, TCPX_SET_LINGER_MS) * TCPX_MS;
	l->strict_nics = tcpx_cfg_num(c, TCPX_SET_STRICT_NICS) != 0;
	l->staging = tcpx_cfg_num(c, TCPX_SET_STAGING);
	l->unpack = (enum tcpx_unpack_impl)tcpx_cfg_num(c, TCPX_SET_UNPACK_IMPL);
	l->lend = (enum tcpx_lend)tcpx_cfg_num(c, TCPX_SET_ZEROCOPY);
	l->round_robin = strcmp(tcpx_cfg_str(c, TCPX_SET_DIST), "rr") == 0;
	e->notes.limit = (uint32_t)tcpx_cfg_num(c, TCPX_SET_NOTE_LIMIT);
}

static void
copy_nic(struct tcpx_nic *to, const struct tcpx_host_nic *from)
{
	memset(to, 0, sizeof(*to));
	snprintf(to->name, sizeof(to->name), "%s", from->name);
	to->addr.family = from->addr.family;
	to->addr.prefix = from->addr.prefix;
	to->addr.scope = from->addr.scope;
	memcpy(to->addr.ip, from->addr.ip, sizeof(to->addr.ip));
	to->bind_device = !from->loopback && strcmp(from->name, from->ifname) == 0;
	to->numa = from->place.numa;
	to->gbps = from->speed_mbps / 1000;
	to->gpu = TCPX_ON_HOST;
}

/* That the PCI bus shows; no driver is asked. */
static unsigned
count_gpus(const struct tcpx_engine *e)
{
	struct tcpx_host_gpu *gpus = calloc(TCPX_GPUS_MAX, sizeof(*gpus));
	unsigned count = 0;

	if (gpus && tcpx_host_gpus(tcpx_cfg_str(e->cfg, TCPX_SET_ROOT), gpus, TCPX_GPUS_MAX,
				   &count) < 0)
		count = 0;
	free(gpus);
	return count;
}

int
tcpx_engine_nics(struct tcpx_engine *e, const struct engine_env *env)
{
	struct tcpx_host_nic *nics;
	struct tcpx_host_plan plan = { .threads = 1, .channels = env ? env->nic_count : 1 };
	struct tcpx_host_cpus *cpus;
	unsigned i, total;
	int rc = 0;

	if (env && env->nics) {
		e->nic_count = env->nic_count;
		memcpy(e->nic, env->nics, env->nic_count * sizeof(e->nic[0]));
		for (i = 0; i < e->nic_count; i++)
			e->nic[i].gpu = TCPX_ON_HOST;
	} else {
		nics = calloc(TCPX_NET_NICS, sizeof(*nics));
		cpus = calloc(1, sizeof(*cpus));
		rc = nics && cpus ? tcpx_host_nics(tcpx_cfg_str(e->cfg, TCPX_SET_ROOT),
						   tcpx_cfg_str(e->cfg, TCPX_SET_NICS), nics,
						   TCPX_NET_NICS, &e->nic_count) : -ENOMEM;
		if (rc == 0)
			rc = tcpx_host_cpus(tcpx_cfg_str(e->cfg, TCPX_SET_ROOT), cpus);
		if (rc == 0)
			tcpx_host_defaults(nics, e->nic_count, cpus, count_gpus(e), &plan);
		for (i = 0; rc == 0 && i < e->nic_count; i++)
			copy_nic(&e->nic[i], &nics[i]);
		free(nics);
		free(cpus);
		if (rc)
			return rc;
	}
	e->loop_count = (uint32_t)tcpx_cfg_num(e->cfg, TCPX_SET_THREADS);
	if (e->loop_count == 0)
		e->loop_count = plan.threads;
	rc = tcpx_cfg_channels(e->cfg, e->nic_count, &total);
	if (rc)
		return rc;
	e->limit.channels = total ? total : plan.channels;
	e->limit.spin_ns = tcpx_cfg_num(e->cfg, TCPX_SET_SPIN_US) * 1000;
	if (e->limit.spin_ns == 0)
		e->limit.spin_ns = (uint64_t)plan.spin_us * 1000;
	if (e->limit.channels > TCPX_CHANNELS_MAX)
		return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG,
				 "%u channels on %u NICs, at most %u allowed", e->limit.channels,
				 e->nic_count, TCPX_CHANNELS_MAX);
	return 0;
}
