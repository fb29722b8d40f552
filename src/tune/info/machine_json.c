/* SPDX-License-Identifier: Apache-2.0 */
/* The facts and choices as JSON; an unknown fact is null. */
#include <stdlib.h>

#include "tcpx/tcpx.h"
#include "tune/info/machine.h"
#include "tool/out_text.h"
#include "tool/tool.h"

json_t *
machine_json_text(const char *text)
{
	char *clean = out_utf8_clean(text);
	json_t *json = json_string(clean ? clean : "");

	free(clean);
	return json;
}

static json_t *
numa_json(const struct tcpx_host_place *place)
{
	return place->numa < 0 ? json_null() : json_integer(place->numa);
}

static json_t *
known_json(uint32_t value)
{
	return value ? json_integer(value) : json_null();
}

static json_t *
nic_json(const struct machine *m, const struct tcpx_host_nic *nic)
{
	json_t *addrs = json_array();
	bool used;
	const char *why = machine_nic_why(m, nic, &used);

	for (unsigned i = 0; i < nic->addr_count; i++) {
		char addr[TCPX_HOST_ADDR_TEXT];

		tcpx_host_addr_format(&nic->addrs[i], addr, sizeof(addr));
		json_array_append_new(addrs, json_string(addr));
	}
	return json_pack("{s:o, s:b, s:o, s:b, s:b, s:b, s:o, s:o, s:o, s:I, s:I, s:o, s:s, s:s,"
			 " s:o, s:s}",
			 "name", machine_json_text(nic->name), "used", used,
			 "why", machine_json_text(why), "up", nic->up, "hardware", nic->hardware,
			 "loopback", nic->loopback, "addresses", addrs,
			 "speed_mbps", known_json(nic->speed_mbps), "mtu", known_json(nic->mtu),
			 "queues_rx", (json_int_t)nic->queues_rx,
			 "queues_tx", (json_int_t)nic->queues_tx,
			 "driver", machine_json_text(nic->driver), "pci", nic->place.pci,
			 "pci_path", nic->place.path, "node", numa_json(&nic->place),
			 "node_source", tcpx_host_numa_source_name(nic->place.numa_source));
}

static json_t *
nics_json(const struct machine *m)
{
	json_t *all = json_array(), *used = json_array();

	for (unsigned i = 0; i < m->facts->nic_count; i++)
		json_array_append_new(all, nic_json(m, &m->facts->nics[i]));
	for (unsigned i = 0; i < m->nic_count; i++) {
		char addr[TCPX_HOST_ADDR_TEXT];

		tcpx_host_addr_format(&m->nics[i].addr, addr, sizeof(addr));
		json_array_append_new(used, json_pack(
			"{s:o, s:o, s:s, s:o}", "name", machine_json_text(m->nics[i].name),
			"interface", machine_json_text(m->nics[i].ifname), "address", addr,
			"why", machine_json_text(m->nics[i].why)));
	}
	return json_pack("{s:o, s:o, s:o, s:o}", "selection", machine_json_text(m->selection),
			 "used", used, "all", all, "control",
			 *m->control.name ? machine_json_text(m->control.name) : json_null());
}

static json_t *
cpus_json(const struct machine *m)
{
	json_t *nodes = json_array();
	char list[MACHINE_CPU_LIST], allowed[MACHINE_CPU_LIST];

	for (unsigned i = 0; i < m->facts->cpus.node_count; i++)
		json_array_append_new(nodes, json_pack(
			"{s:i, s:s}", "id", m->facts->cpus.node[i].id, "cpus",
			machine_cpu_list(&m->facts->cpus.node[i].cpus, list)));
	return json_pack("{s:I, s:I, s:s, s:s, s:o}", "count", (json_int_t)m->facts->cpus.count,
			 "allowed_count", (json_int_t)m->facts->cpus.allowed_count,
			 "online", machine_cpu_list(&m->facts->cpus.online, list),
			 "allowed", machine_cpu_list(&m->facts->cpus.allowed, allowed), "nodes", nodes);
}

static json_t *
gpus_json(const struct machine *m)
{
	json_t *gpus = json_array();

	for (unsigned g = 0; g < m->facts->gpu_count; g++) {
		const struct tcpx_host_gpu *gpu = &m->facts->gpus[g];
		json_t *distances = json_object();

		for (unsigned i = 0; i < m->nic_count; i++)
			json_object_set_new(distances, m->nics[i].name, json_string(
				tcpx_host_distance_name(tcpx_host_distance(&m->nics[i], gpu))));
		json_array_append_new(gpus, json_pack(
			"{s:s, s:s, s:o, s:o}", "pci", gpu->place.pci, "pci_path",
			gpu->place.path, "node", numa_json(&gpu->place), "distance", distances));
	}
	return gpus;
}

static json_t *
defaults_json(const struct machine *m)
{
	json_t *defaults = json_object();
	struct machine_default planned[MACHINE_DEFAULTS];

	machine_defaults(m, planned);
	for (size_t i = 0; i < ARRAY_LEN(planned); i++)
		json_object_set_new(defaults, planned[i].name, json_pack(
			"{s:I, s:s, s:b}", "value", (json_int_t)planned[i].value, "why",
			planned[i].why, "overridden", planned[i].overridden));
	return defaults;
}

static json_t *
settings_json(const struct machine *m)
{
	const struct tcpx_setting_def *def;
	json_t *settings = json_array();

	for (unsigned i = 0; m->cfg && (def = tcpx_setting_at(i)) != NULL; i++) {
		char allowed[256];

		json_array_append_new(settings, json_pack(
			"{s:s, s:o, s:o, s:s, s:s, s:s, s:s}", "name", def->name,
			"value", machine_json_text(tcpx_cfg_str(m->cfg, i)),
			"source", machine_json_text(tcpx_cfg_source(m->cfg, i)),
			"default", def->value, "unit", def->unit, "help", def->help, "allowed",
			tcpx_setting_allowed(def, allowed, sizeof(allowed))));
	}
	return settings;
}

json_t *
machine_json(const struct machine *m)
{
	const char *const *words = tcpx_setting_at(TCPX_SET_PROVIDER)->words;
	json_t *providers = json_array();
	char kernel[128];

	for (words++; *words; words++) /* the first is auto */
		json_array_append_new(providers, json_string(*words));
	return json_pack("{s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
			 "version", tcpx_version(), "providers", providers,
			 "provider", machine_provider(m),
			 "kernel", machine_json_text(machine_kernel(m, kernel, sizeof(kernel))),
			 "root", machine_json_text(m->root), "nics", nics_json(m),
			 "cpus", cpus_json(m), "gpus", gpus_json(m),
			 "defaults", defaults_json(m), "settings", settings_json(m));
}
