/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines above the rows: the session, its NICs, the settings and their sources, and the
 * places of NICs, GPUs and nodes in this machine.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cfg.h"
#include "base/parse.h"
#include "host/facts.h"
#include "measure/perf/figures.h"
#include "tool/tool.h"

enum { NICS = 64 };

static void
fill_nics(struct perf *p, struct result *r)
{
	struct tcpx_nic_info nic[NICS];
	size_t n = NICS;

	if (tcpx_query_nics(p->engine, nic, sizeof(nic[0]), &n))
		return;
	for (size_t i = 0; i < n && i < NICS; i++)
		*LIST_ADD(&r->nics) = nic[i];
}

static void
fill_settings(const struct perf_args *a, struct result *r)
{
	struct tcpx_cfg *cfg;

	if (perf_load_settings(a, &cfg))
		return;
	for (unsigned i = 0; tcpx_setting_at(i); i++) {
		const char *source = tcpx_cfg_source(cfg, (enum tcpx_setting)i);

		result_add_setting(r, tcpx_setting_at(i)->name,
				   tcpx_cfg_str(cfg, (enum tcpx_setting)i),
				   strcmp(source, "caller") ? source : "flag");
	}
	tcpx_cfg_free(cfg);
}

static void
add_place(struct result *r, const char *kind, const char *name, const char *pci, int numa,
	  const struct tcpx_cpuset *cpus)
{
	struct result_place *to = LIST_ADD(&r->topology);

	snprintf(to->kind, sizeof(to->kind), "%s", kind);
	snprintf(to->name, sizeof(to->name), "%s", name);
	snprintf(to->pci, sizeof(to->pci), "%s", pci);
	to->numa = numa;
	tcpx_cpuset_format(cpus, to->cpus, sizeof(to->cpus));
}

/* A machine that cannot be read leaves the list shorter; nothing depends on it. */
static void
fill_topology(struct result *r)
{
	struct tcpx_facts *f = calloc(1, sizeof(*f));
	char name[64];

	if (!f || tcpx_facts_read(NULL, f) < 0) {
		free(f);
		return;
	}
	for (unsigned i = 0; i < f->cpus.node_count; i++) {
		const struct tcpx_host_node *node = &f->cpus.node[i];

		snprintf(name, sizeof(name), "node%d", node->id);
		add_place(r, "node", name, "", node->id, &node->cpus);
	}
	for (unsigned i = 0; i < f->nic_count; i++)
		if (f->nics[i].hardware)
			add_place(r, "nic", f->nics[i].name, f->nics[i].place.pci,
				  f->nics[i].place.numa, &f->nics[i].place.local_cpus);
	for (unsigned i = 0; i < f->gpu_count; i++) {
		snprintf(name, sizeof(name), "gpu%u", i);
		add_place(r, "gpu", name, f->gpus[i].place.pci, f->gpus[i].place.numa,
			  &f->gpus[i].place.local_cpus);
	}
	tcpx_facts_fini(f);
	free(f);
}

void
perf_fill_result(struct perf *p, struct result *r)
{
	struct tcpx_peer_info info = { .struct_size = sizeof(info) };

	snprintf(r->role, sizeof(r->role), "%s", p->args->self ? "self" : "client");
	snprintf(r->peer, sizeof(r->peer), "%s", p->peer_name);
	if (!tcpx_peer_query(p->peer, &info)) {
		snprintf(r->provider, sizeof(r->provider), "%s", info.provider);
		r->setup_ms = (double)info.setup_ns / 1e6;
	}
	fill_nics(p, r);
	fill_settings(p->args, r);
	fill_topology(r);
}

static void
add_gpus(struct result *r, const char *side, json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *from = json_array_get(list, i);
		struct result_gpu *to = LIST_ADD(&r->gpus);

		snprintf(to->side, sizeof(to->side), "%s", side);
		to->gpu = (unsigned)json_integer_value(json_object_get(from, "gpu"));
		snprintf(to->name, sizeof(to->name), "%s", job_text(from, "name"));
		snprintf(to->pci, sizeof(to->pci), "%s", job_text(from, "pci"));
		to->memory_bytes = (uint64_t)job_real(from, "memory_bytes");
	}
}

void
perf_fill_job(struct perf *p, struct result *r)
{
	json_t *here = gpus_format(p->gpus, &p->args->mem);
	struct tcpx_cfg *cfg;

	sides_format(&p->sides, r->placement);
	add_gpus(r, "client", here);
	add_gpus(r, "server", json_object_get(p->server, "gpus"));
	json_decref(here);
	if (!r->gpus.n || perf_load_settings(p->args, &cfg))
		return;
	snprintf(r->unpack, sizeof(r->unpack), "%s", tcpx_cfg_str(cfg, TCPX_SET_UNPACK_IMPL));
	snprintf(r->peer_unpack, sizeof(r->peer_unpack), "%s", job_text(p->server, "unpack"));
	tcpx_cfg_free(cfg);
}

/* How many sending channels each NIC has; 0 for one that has none. */
static uint32_t
channels_of(const struct usage *u, const char *nic)
{
	uint32_t n = 0;

	for (size_t i = 0; i < u->channels; i++)
		n += u->channel[i].sending && u->channel[i].up && !strcmp(u->channel[i].nic, nic);
	return n;
}

/* The session as it is now. */
struct view {
	struct tcpx_peer_info info;
	struct tcpx_nic_info nic[NICS];
	size_t nics;
	struct usage usage;
};

static struct view *
view_session(struct perf *p)
{
	struct view *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->info.struct_size = sizeof(v->info);
	v->nics = NICS;
	if (tcpx_peer_query(p->peer, &v->info) || tcpx_query_nics(p->engine, v->nic, sizeof(v->nic[0]), &v->nics)) {
		free(v);
		return NULL;
	}
	v->nics = v->nics < NICS ? v->nics : NICS;
	usage_read(p->engine, p->peer_name, &v->usage);
	return v;
}

void
perf_print_session(struct perf *p, FILE *f)
{
	struct view *v = view_session(p);
	uint32_t low = UINT32_MAX, high = 0;
	char chunk[24];

	if (!v)
		return;
	for (size_t i = 0; i < v->nics; i++) {
		uint32_t count = channels_of(&v->usage, v->nic[i].name);

		low = count < low ? count : low;
		high = count > high ? count : high;
	}
	fprintf(f, "# %" PRIu32 " channel%s: ", v->info.channels_tx, v->info.channels_tx == 1 ? "" : "s");
	if (low == high)
		fprintf(f, "%" PRIu32 " per NIC (", high);
	else
		fprintf(f, "%" PRIu32 " to %" PRIu32 " per NIC (", low, high);
	for (size_t i = 0; i < v->nics; i++)
		fprintf(f, "%s%s", i ? " " : "", v->nic[i].name);
	fprintf(f, "), provider %s\n# chunk at most %s, window %" PRIu32 ", %zu I/O thread%s, set up in"
		" %.1f ms\n", v->info.provider, tcpx_format_size(v->info.chunk_bytes, chunk, sizeof(chunk)),
		v->info.window_slots, v->usage.threads, v->usage.threads == 1 ? "" : "s",
		(double)v->info.setup_ns / 1e6);
	free(v);
}

/* " eth0 -> eth2 (3 channels)" for each pair of NICs that has channels that are not open. */
static void
print_missing(FILE *f, const struct usage *u)
{
	for (size_t i = 0; i < u->channels; i++) {
		const struct tcpx_channel_info *c = &u->channel[i];
		size_t first = u->channels, count = 0;

		for (size_t k = 0; k < u->channels; k++) {
			const struct tcpx_channel_info *o = &u->channel[k];

			if (!o->sending || o->up || o->rests || strcmp(o->nic, c->nic) ||
			    strcmp(o->peer_nic, c->peer_nic))
				continue;
			first = k < first ? k : first;
			count++;
		}
		if (first == i)
			fprintf(f, " %s -> %s (%zu channel%s)", c->nic, c->peer_nic, count,
				count == 1 ? "" : "s");
	}
}

bool
perf_warn_degraded(struct perf *p)
{
	struct view *v = view_session(p);
	bool degraded = v && !v->info.status &&
			v->info.channels_tx + v->info.resting_tx < v->info.channels_wanted;

	if (degraded) {
		fprintf(stderr, "%swarning:%s the session is degraded, %" PRIu32 " of %" PRIu32
			" channels are open; missing:", tool_paint(stderr, TOOL_YELLOW),
			tool_paint(stderr, TOOL_PLAIN), v->info.channels_tx,
			v->info.channels_wanted - v->info.resting_tx);
		print_missing(stderr, &v->usage);
		fputc('\n', stderr);
	}
	free(v);
	return degraded;
}
