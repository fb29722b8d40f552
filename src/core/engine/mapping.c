/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NICs of a GPU where payload lands in GPU memory: the machine's facts for
 * proto/netmap, which has the rules, and its answer for the engine.
 */
#include "core/engine/mapping.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/channel/kind.h"
#include "core/context/context.h"
#include "core/memory/gpu.h"
#include "host/host.h"

/* GPUs by ordinal where the process has a driver, else by their order on the bus. */
struct facts {
	struct tcpx_netmap_nic nic[TCPX_NETMAP_NICS];
	uint32_t nic_count;
	struct tcpx_host_gpu bus[TCPX_GPUS_MAX];
	unsigned bus_count;
	char pci[TCPX_GPUS_MAX][TCPX_PCI_TEXT];
	uint32_t gpu_count;
	uint32_t process;
};

/* Two NICs of one subnet reach each other. A single address says nothing. */
static uint64_t
network_of(const struct tcpx_addr *a)
{
	uint64_t hash = 14695981039346656037ull; /* FNV-1a */
	unsigned bits = a->family == 4 ? 32 : 128, i;

	if (a->prefix == 0 || a->prefix >= bits)
		return 0;
	hash = (hash ^ a->family) * 1099511628211ull;
	for (i = 0; i < a->prefix; i += 8) {
		unsigned left = a->prefix - i;
		uint8_t mask = left >= 8 ? 0xff : (uint8_t)(0xff00u >> left);

		hash = (hash ^ (a->ip[i / 8] & mask)) * 1099511628211ull;
	}
	return hash ? hash : 1;
}

static const struct tcpx_host_gpu *
on_bus(const struct facts *f, uint32_t gpu)
{
	unsigned i;

	for (i = 0; i < f->bus_count; i++)
		if (strcasecmp(f->bus[i].place.pci, f->pci[gpu]) == 0)
			return &f->bus[i];
	return NULL;
}

static void
add_nic(struct facts *f, const char *name, const struct tcpx_host_nic *nic)
{
	struct tcpx_netmap_nic *n = &f->nic[f->nic_count++];
	const struct tcpx_host_gpu *gpu;
	enum tcpx_distance d;
	uint32_t g;

	*n = (struct tcpx_netmap_nic){ .network = 0 };
	snprintf(n->name, sizeof(n->name), "%s", name);
	memset(n->distance, TCPX_NETMAP_UNKNOWN, sizeof(n->distance));
	for (g = 0; nic && g < f->gpu_count; g++) {
		gpu = on_bus(f, g);
		d = gpu ? tcpx_host_distance(nic, gpu) : TCPX_DISTANCE_UNKNOWN;
		if (d < TCPX_DISTANCE_UNKNOWN)
			n->distance[g] = (uint8_t)d;
	}
}

static int
gather_gpus(struct tcpx_engine *e, struct facts *f)
{
	const char *root = tcpx_cfg_str(e->cfg, TCPX_SET_ROOT);
	unsigned i;
	int rc;

	rc = tcpx_host_gpus(root, f->bus, TCPX_GPUS_MAX, &f->bus_count);
	if (rc == 0)
		rc = tcpx_gpu_list(e, f->pci, TCPX_GPUS_MAX, &f->gpu_count);
	if (rc)
		return rc;
	f->process = f->gpu_count ? (uint32_t)((1ull << f->gpu_count) - 1) : 0;
	for (i = 0; f->gpu_count == 0 && i < f->bus_count; i++)
		memcpy(f->pci[i], f->bus[i].place.pci, sizeof(f->pci[i]));
	if (f->gpu_count == 0)
		f->gpu_count = f->bus_count;
	return 0;
}

/* The engine's NICs first, in their order; the machine's others after them. */
static int
gather_nics(struct tcpx_engine *e, struct facts *f)
{
	struct tcpx_host_nic *all = NULL;
	unsigned count = 0, i;
	uint32_t k;
	int rc;

	rc = tcpx_host_nics_read(tcpx_cfg_str(e->cfg, TCPX_SET_ROOT), &all, &count);
	for (k = 0; rc == 0 && k < e->nics.count; k++) {
		for (i = 0; i < count && strcmp(all[i].ifname, e->nics.at[k].name) != 0; i++)
			;
		add_nic(f, e->nics.at[k].name, i < count ? &all[i] : NULL);
		f->nic[k].network = network_of(&e->nics.at[k].addr);
		f->nic[k].used = true;
	}
	for (i = 0; rc == 0 && i < count && f->nic_count < TCPX_NETMAP_NICS; i++) {
		for (k = 0; k < e->nics.count && strcmp(all[i].ifname, e->nics.at[k].name) != 0; k++)
			;
		if (k == e->nics.count && all[i].hardware)
			add_nic(f, all[i].ifname, &all[i]);
	}
	free(all);
	return rc;
}

/* Logs a line for each NIC; a warning for a wanted one that is not usable. */
static void
tell(const struct tcpx_engine *e, const struct tcpx_netmap_text *why, bool all)
{
	const char *line, *end;

	for (line = why->text; (end = strchr(line, '\n')); line = end + 1)
		tcpx_log(all ? TCPX_LOG_INFO : TCPX_LOG_WARN, TCPX_SUB_INIT, "%s: %.*s",
			 e->ops->name, (int)(end - line), line);
}

static int
offers(struct tcpx_engine *e, const struct facts *f, const struct tcpx_netmap_rules *rules)
{
	struct tcpx_netmap_offer offer[TCPX_NETMAP_NICS];
	struct tcpx_netmap_text why = { .len = 0 };
	const char *gpu = tcpx_cfg_str(e->cfg, TCPX_SET_GPU);
	struct tcpx_netmap_side side = {
		.nic = f->nic, .nic_count = f->nic_count, .gpu_count = f->gpu_count,
		.process = f->process, .rules = rules,
		.gpu = strcasecmp(gpu, "auto") ? (int)tcpx_cfg_num(e->cfg, TCPX_SET_GPU) :
						 TCPX_NETMAP_HOST,
		.relay = strcmp(tcpx_cfg_str(e->cfg, TCPX_SET_RELAY), "off") != 0,
	};
	uint32_t i, usable = 0;
	int rc;

	if (side.gpu >= 0 && ((uint32_t)side.gpu >= f->gpu_count || !(f->process >> side.gpu & 1)))
		return tcpx_fail(TCPX_SUB_INIT, -EINVAL, "TCPX_GPU=%d: this process has %d GPUs, counted "
				 "from 0, or their driver is not loaded", side.gpu,
				 __builtin_popcount(f->process));
	rc = tcpx_netmap_offers(&side, offer, &why);
	atomic_store(&e->nics.host_only, rc > 0 && !f->process);
	for (i = 0; rc > 0 && i < e->nics.count; i++) {
		e->nics.offer[i] = offer[i];
		e->nics.at[i].gpu = offer[i].usable ? offer[i].gpu : TCPX_ON_HOST;
		usable += offer[i].usable;
	}
	tell(e, &why, rc > 0 && usable == e->nics.count);
	return rc < 0 ? rc : 0;
}

int
tcpx_engine_map(struct tcpx_engine *e)
{
	struct tcpx_netmap_rules *rules;
	struct facts *f;
	int rc;

	if (!tcpx_channel_kind(e)->slot)
		return 0;
	rules = calloc(1, sizeof(*rules));
	f = calloc(1, sizeof(*f));
	rc = rules && f ? tcpx_netmap_parse(tcpx_cfg_str(e->cfg, TCPX_SET_MAP), rules) : -ENOMEM;
	if (rc == 0)
		rc = gather_gpus(e, f);
	if (rc == 0)
		rc = gather_nics(e, f);
	if (rc == 0)
		rc = offers(e, f, rules);
	free(rules);
	free(f);
	return rc;
}
