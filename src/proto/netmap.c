/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one side offers: its NICs, each through a GPU that owns it. Every NIC gets a line
 * with its reason.
 */
#include "proto/netmap.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "proto/netmap_share.h"
#include "proto/netmap_text.h"

void
tcpx_netmap_say(struct tcpx_netmap_text *t, const char *fmt, ...)
{
	size_t left = sizeof(t->text) - t->len;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(t->text + t->len, left, fmt, args);
	va_end(args);
	if (n < 0 || (size_t)n + 2 > left) {
		t->text[t->len] = '\0';
		return;
	}
	t->len += (size_t)n;
	t->text[t->len++] = '\n';
	t->text[t->len] = '\0';
}

static int
check_facts(const struct tcpx_netmap_side *s)
{
	if (s->nic_count > TCPX_NETMAP_NICS || s->gpu_count > TCPX_NETMAP_GPUS ||
	    s->process >> s->gpu_count || s->gpu < TCPX_NETMAP_HOST ||
	    (s->gpu >= 0 && ((uint32_t)s->gpu >= s->gpu_count || !(s->process >> s->gpu & 1))))
		return tcpx_fail(TCPX_SUB_INIT, -EINVAL, "%u NICs, at most %d; %u GPUs, at most %d, "
				 "of which the process has the set %#x; memory of GPU %d",
				 s->nic_count, TCPX_NETMAP_NICS, s->gpu_count, TCPX_NETMAP_GPUS,
				 s->process, s->gpu);
	return 0;
}

/* The nearest NICs of the machine; 0: no distance is known. */
static uint32_t
nearest(const struct tcpx_netmap_side *s, uint32_t gpu)
{
	uint8_t best = TCPX_NETMAP_UNKNOWN;
	uint32_t set = 0;

	for (uint32_t i = 0; i < s->nic_count; i++) {
		uint8_t d = s->nic[i].distance[gpu];

		if (d == TCPX_NETMAP_UNKNOWN || d > best)
			continue;
		set = d < best ? 1u << i : set | 1u << i;
		best = d;
	}
	if (!set && s->nic_count == 1)
		set = 1; /* there is only one */
	return set;
}

static void
list_nics(const struct tcpx_netmap_side *s, uint32_t set, char *buf, size_t cap)
{
	size_t at = 0;

	buf[0] = '\0';
	for (uint32_t i = 0; i < s->nic_count && at < cap; i++)
		if (set >> i & 1)
			at += (size_t)snprintf(buf + at, cap - at, "%s%s", at ? ", " : "",
					       s->nic[i].name);
}

static int
find_nic(const struct tcpx_netmap_side *s, const char *name)
{
	for (uint32_t i = 0; i < s->nic_count; i++)
		if (!strcmp(s->nic[i].name, name))
			return (int)i;
	return -1;
}

/* Applies one entry of TCPX_MAP, unless it contradicts the facts. */
static int
apply(const struct tcpx_netmap_side *s, const struct tcpx_netmap_entry *e, struct tcpx_netmap_owned *ruled)
{
	char names[256];
	uint32_t near;
	int nic;

	if (e->gpu >= s->gpu_count)
		return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG, "TCPX_MAP names gpu%u; there are %u",
				 e->gpu, s->gpu_count);
	nic = find_nic(s, e->nic);
	if (nic < 0) {
		list_nics(s, UINT32_MAX, names, sizeof(names));
		return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG, "TCPX_MAP gives gpu%u the NIC %s; "
				 "there are %s", e->gpu, e->nic, names);
	}
	near = nearest(s, e->gpu);
	if (near && s->nic[nic].distance[e->gpu] != TCPX_NETMAP_UNKNOWN && !(near >> nic & 1)) {
		list_nics(s, near, names, sizeof(names));
		return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG, "TCPX_MAP gives gpu%u the NIC %s, but "
				 "a GPU receives through its nearest NIC alone: %s", e->gpu, e->nic,
				 names);
	}
	ruled->nics[e->gpu] |= 1u << nic;
	return 0;
}

static int
find_owned(const struct tcpx_netmap_side *s, struct tcpx_netmap_owned *own, struct tcpx_netmap_owned *ruled)
{
	int rc = 0;

	for (uint32_t k = 0; s->rules && k < s->rules->count && rc == 0; k++)
		rc = apply(s, &s->rules->entry[k], ruled);
	for (uint32_t g = 0; g < s->gpu_count; g++)
		own->nics[g] = ruled->nics[g] ? ruled->nics[g] : nearest(s, g);
	return rc;
}

/* The GPUs that own a NIC. */
static uint32_t
owners(const struct tcpx_netmap_side *s, const struct tcpx_netmap_owned *own, uint32_t nic)
{
	uint32_t set = 0;

	for (uint32_t g = 0; g < s->gpu_count; g++)
		set |= (own->nics[g] >> nic & 1) << g;
	return set;
}

/* One GPU of a set, chosen by the GPU's own index: GPUs that relay for each other then
 * choose differently. */
static int
pick(uint32_t set, int gpu)
{
	int n = __builtin_popcount(set), skip = gpu > 0 ? gpu % n : 0;

	while (skip-- > 0)
		set &= set - 1;
	return __builtin_ctz(set);
}

static void
list_gpus(uint32_t set, char *buf, size_t cap)
{
	size_t at = 0;

	snprintf(buf, cap, "no GPU");
	for (uint32_t g = 0; g < TCPX_NETMAP_GPUS && at < cap; g++)
		if (set >> g & 1)
			at += (size_t)snprintf(buf + at, cap - at, "%sgpu%u", at ? ", " : "", g);
}

static void
offer_nic(const struct tcpx_netmap_side *s, uint32_t nic, uint32_t set,
	  struct tcpx_netmap_offer *o, bool by_rule, struct tcpx_netmap_text *why)
{
	uint32_t ours = set & s->process;
	const char *name = s->nic[nic].name;
	char names[128];

	list_gpus(set, names, sizeof(names));
	if (!s->nic[nic].used) {
		tcpx_netmap_say(why, "%s is not used by this engine", name);
	} else if (s->gpu == TCPX_NETMAP_HOST && !s->process) {
		o->usable = true;
		tcpx_netmap_say(why, "%s carries host memory, without a GPU", name);
	} else if (s->gpu >= 0 && set >> s->gpu & 1) {
		o->usable = true;
		o->gpu = (int16_t)s->gpu;
		tcpx_netmap_say(why, "%s is gpu%d's own%s", name, s->gpu,
			   by_rule ? ", as TCPX_MAP says" : "");
	} else if (!ours) {
		tcpx_netmap_say(why, "%s is left out: it belongs to %s, %s", name, names,
			   set ? "none of this process" : "as far as is known; TCPX_MAP can say");
	} else if (s->gpu == TCPX_NETMAP_HOST) {
		o->usable = true;
		o->gpu = (int16_t)pick(ours, 0);
		tcpx_netmap_say(why, "%s carries host memory by way of gpu%d", name, o->gpu);
	} else if (!s->relay) {
		tcpx_netmap_say(why, "%s is left out: it belongs to %s, and TCPX_RELAY is off: only "
			   "gpu%d's own NICs are used", name, names, s->gpu);
	} else {
		o->usable = o->relayed = true;
		o->gpu = (int16_t)pick(ours, s->gpu);
		tcpx_netmap_say(why, "%s is relayed: it belongs to gpu%d, which copies for gpu%d", name,
			   o->gpu, s->gpu);
	}
}

/* No NIC is usable: the reason. */
static int
none(const struct tcpx_netmap_side *s, const struct tcpx_netmap_owned *own)
{
	char names[256];

	if (s->gpu < 0)
		return tcpx_fail(TCPX_SUB_INIT, -ENODEV, "none of %u NICs can be used: none is of a "
				 "GPU of this process", s->nic_count);
	if (!own->nics[s->gpu])
		return tcpx_fail(TCPX_SUB_INIT, -ENODEV, "none of %u NICs can be used: it is not "
				 "known which is gpu%d's own; say it by TCPX_MAP=gpu%d=NIC",
				 s->nic_count, s->gpu, s->gpu);
	list_nics(s, own->nics[s->gpu], names, sizeof(names));
	return tcpx_fail(TCPX_SUB_INIT, -ENODEV, "none of %u NICs can be used: gpu%d's own is %s, "
			 "which this engine does not use", s->nic_count, s->gpu, names);
}

int
tcpx_netmap_offers(const struct tcpx_netmap_side *s, struct tcpx_netmap_offer *offer,
		   struct tcpx_netmap_text *why)
{
	struct tcpx_netmap_owned own = { { 0 } }, ruled = { { 0 } };
	int rc = check_facts(s), usable = 0;
	uint8_t rank[TCPX_NETMAP_NICS];

	why->len = 0;
	why->text[0] = '\0';
	if (rc == 0)
		rc = find_owned(s, &own, &ruled);
	if (rc)
		return rc;
	tcpx_netmap_share(s, &own, rank);
	for (uint32_t i = 0; i < s->nic_count; i++) {
		bool by_rule = s->gpu >= 0 && ruled.nics[s->gpu] >> i & 1;

		offer[i] = (struct tcpx_netmap_offer){ .network = s->nic[i].network,
						       .gpu = TCPX_NETMAP_HOST,
						       .rank = rank[i] };
		memcpy(offer[i].name, s->nic[i].name, sizeof(offer[i].name));
		offer_nic(s, i, owners(s, &own, i), &offer[i], by_rule, why);
		usable += offer[i].usable;
	}
	return usable ? usable : none(s, &own);
}
