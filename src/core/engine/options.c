/* SPDX-License-Identifier: Apache-2.0 */
/* Engine configuration: settings, NICs, and host/'s defaults for unset values. */
#include "core/engine/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/channel/kind.h"
#include "core/context/context.h"
#include "core/engine/engine.h"
#include "core/memory/gpu.h"
#include "core/memory/memory.h"
#include "core/session/breach.h"
#include "core/session/note.h"
#include "core/session/receive.h"
#include "host/host.h"
#include "proto/chunk.h"
#include "proto/load.h"
#include "proto/pair.h"

#define FOR_EVER_NS  (86400 * TCPX_SEC)
#define PEERS_MEMORY (1ull << 30)
#define RAM_PART     16

/* A peer that is stopped moves nothing, either: so that deadline may not come first. */
static int
limit_freeze(struct tcpx_engine *e)
{
	struct limits *l = &e->limit;

	l->process_ns = tcpx_cfg_num(e->cfg, TCPX_SET_FREEZE_MS) * TCPX_MS;
	if (l->process_ns == 0)
		l->process_ns = l->stall_ns;
	if (l->process_ns < l->stall_ns)
		return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG, "TCPX_FREEZE_MS is %llu, at least the "
				 "%llu of TCPX_STALL_MS are allowed",
				 (unsigned long long)(l->process_ns / TCPX_MS),
				 (unsigned long long)(l->stall_ns / TCPX_MS));
	if (l->process_ns >= FOR_EVER_NS)
		l->process_ns = UINT64_MAX;
	return 0;
}

static void
limit_memory(struct tcpx_engine *e)
{
	uint64_t all = tcpx_cfg_num(e->cfg, TCPX_SET_PEERS_MEMORY), ram;

	e->limit.peer_memory = tcpx_cfg_num(e->cfg, TCPX_SET_PEER_MEMORY);
	if (all == 0) {
		ram = tcpx_host_ram(tcpx_cfg_str(e->cfg, TCPX_SET_ROOT));
		all = ram && ram / RAM_PART < PEERS_MEMORY ? ram / RAM_PART : PEERS_MEMORY;
	}
	e->kept.limit = all;
	e->eager.limit = tcpx_cfg_num(e->cfg, TCPX_SET_EAGER);
}

int
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
	l->checksum = tcpx_cfg_num(c, TCPX_SET_CHECKSUM) != 0;
	l->narrow = tcpx_cfg_num(c, TCPX_SET_NARROW) != 0 && !e->ops->comm;
	l->wide_bytes = TCPX_LOAD_BYTES;
	l->narrow_ns = TCPX_LOAD_IDLE_NS;
	l->staging = tcpx_cfg_num(c, TCPX_SET_STAGING);
	l->unpack = (enum tcpx_unpack_impl)tcpx_cfg_num(c, TCPX_SET_UNPACK_IMPL);
	l->lend = (enum tcpx_lend)tcpx_cfg_num(c, TCPX_SET_ZEROCOPY);
	l->round_robin = strcmp(tcpx_cfg_str(c, TCPX_SET_DIST), "rr") == 0;
	l->notes = (uint32_t)tcpx_cfg_num(c, TCPX_SET_NOTE_LIMIT);
	l->sends = (uint32_t)tcpx_cfg_num(c, TCPX_SET_SEND_LIMIT);
	l->turn_cost = TURN_BUDGET;
	l->breach_ns = BREACH_NS;
	l->turn_pieces = CHANNEL_PIECES;
	limit_memory(e);
	return limit_freeze(e);
}

static void
copy_nic(struct tcpx_nic *to, const struct tcpx_host_nic *from)
{
	memset(to, 0, sizeof(*to));
	snprintf(to->name, sizeof(to->name), "%s", from->name);
	to->addr = from->addr;
	to->bind_device = tcpx_host_nic_binds(from);
	to->numa = from->place.numa;
	to->mbps = from->speed_mbps;
	to->gpu = TCPX_ON_HOST;
	to->place = from->pci_order <= TCPX_PAIR_PLACES ? (uint8_t)from->pci_order : 0;
}

static void
copy_ctrl(struct ctrl_nic *to, const struct tcpx_host_nic *from)
{
	snprintf(to->name, sizeof(to->name), "%s", from->name);
	for (; to->count < from->addr_count && to->count < CTRL_ADDRS; to->count++)
		to->addr[to->count] = from->addrs[to->count];
}

static void
copy_other(struct nics *to, const struct tcpx_host_nic *from, const struct tcpx_addr *addr)
{
	struct other_addr *o = &to->other[to->other_count];

	if (to->other_count == OTHER_ADDRS || tcpx_host_addr_equal(addr, &from->addr) == !from->slow)
		return;
	to->other_count++;
	snprintf(o->name, sizeof(o->name), "%s", from->name);
	o->addr = *addr;
}

/* Adds the addresses that hear control only: further ones of NICs for data, and all of NICs
 * too slow for data. */
static void
copy_others(struct nics *to, const struct tcpx_host_nic *data, const struct tcpx_host_nic *all,
	    unsigned all_count)
{
	for (uint32_t i = 0; i < to->count; i++)
		for (unsigned k = 0; k < data[i].addr_count; k++)
			copy_other(to, &data[i], &data[i].addrs[k]);
	for (unsigned i = 0; i < all_count && !to->named; i++)
		for (unsigned k = 0; all[i].slow && k < all[i].addr_count; k++)
			copy_other(to, &all[i], &all[i].addrs[k]);
}

/* @data: room for TCPX_NET_NICS */
static int
choose_nics(struct tcpx_engine *e, struct tcpx_host_nic *data)
{
	const char *selection = tcpx_cfg_str(e->cfg, TCPX_SET_NICS);
	struct tcpx_host_control want = tcpx_host_control_of(
		tcpx_cfg_str(e->cfg, TCPX_SET_CTRL), tcpx_cfg_source(e->cfg, TCPX_SET_CTRL));
	struct tcpx_host_nic *all = NULL, ctrl;
	unsigned count = 0;
	int rc;

	rc = tcpx_host_nics_read(tcpx_cfg_str(e->cfg, TCPX_SET_ROOT), &all, &count);
	tcpx_host_nics_family(all, count, tcpx_cfg_num(e->cfg, TCPX_SET_FAMILY));
	if (rc == 0)
		rc = tcpx_host_nics_by(all, count, &selection, tcpx_cfg_source(e->cfg, TCPX_SET_NICS),
				       data, TCPX_NET_NICS, &e->nics.count);
	e->nics.named = *selection != '\0';
	if (rc == 0)
		rc = tcpx_host_nics_control(all, count, &want, selection, data, &e->nics.count,
					    &ctrl);
	if (rc > 0)
		copy_ctrl(&e->nics.ctrl, &ctrl);
	if (rc >= 0)
		copy_others(&e->nics, data, all, count);
	free(all);
	return rc < 0 ? rc : 0;
}

/* On the PCI bus; no driver is asked. */
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
		e->nics.named = true;
		e->nics.count = env->nic_count;
		memcpy(e->nics.at, env->nics, env->nic_count * sizeof(e->nics.at[0]));
		for (i = 0; i < e->nics.count; i++)
			e->nics.at[i].gpu = TCPX_ON_HOST;
	} else {
		nics = calloc(TCPX_NET_NICS, sizeof(*nics));
		cpus = calloc(1, sizeof(*cpus));
		rc = nics && cpus ? choose_nics(e, nics) : -ENOMEM;
		if (rc == 0)
			rc = tcpx_host_cpus(tcpx_cfg_str(e->cfg, TCPX_SET_ROOT), cpus);
		if (rc == 0)
			tcpx_host_defaults(nics, e->nics.count, cpus, count_gpus(e), &plan);
		for (i = 0; rc == 0 && i < e->nics.count; i++)
			copy_nic(&e->nics.at[i], &nics[i]);
		free(nics);
		free(cpus);
		if (rc)
			return rc;
	}
	e->loop_count = (uint32_t)tcpx_cfg_num(e->cfg, TCPX_SET_THREADS);
	if (e->loop_count == 0)
		e->loop_count = plan.threads;
	rc = tcpx_cfg_channels(e->cfg, e->nics.count, &total);
	if (rc)
		return rc;
	e->limit.channels = total ? total : plan.channels;
	e->limit.spin_ns = tcpx_cfg_num(e->cfg, TCPX_SET_SPIN_US) * 1000;
	if (e->limit.spin_ns == 0)
		e->limit.spin_ns = (uint64_t)plan.spin_us * 1000;
	e->limit.long_frames = e->limit.spin_ns != 0;
	if (e->limit.channels > TCPX_CHANNELS_MAX)
		return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG,
				 "%u channels on %u NICs, at most %u allowed", e->limit.channels,
				 e->nics.count, TCPX_CHANNELS_MAX);
	return 0;
}
