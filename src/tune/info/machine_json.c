/* SPDX-License-Identifier: Apache-2.0 */
/* The view of the machine with the choices of an engine, as JSON. */
#include "tcpx/tcpx.h"
#include "tune/info/machine.h"
#include "tool/out_text.h"
#include "tool/tool.h"
#include "tune/topo/view.h"

/* The NICs of @all, each with whether it is used and why; then those used. */
static json_t *
nics_json(const struct machine *m, json_t *all)
{
	json_t *used = json_array();

	for (unsigned i = 0; i < m->facts->nic_count; i++) {
		bool taken;
		const char *why = machine_nic_why(m, &m->facts->nics[i], &taken);

		json_object_update_new(json_array_get(all, i), json_pack(
			"{s:b, s:o}", "used", taken, "why", out_json(why)));
	}
	for (unsigned i = 0; i < m->nic_count; i++) {
		char addr[TCPX_HOST_ADDR_TEXT];

		tcpx_host_addr_format(&m->nics[i].addr, addr, sizeof(addr));
		json_array_append_new(used, json_pack(
			"{s:o, s:o, s:s, s:o}", "name", out_json(m->nics[i].name),
			"interface", out_json(m->nics[i].ifname), "address", addr,
			"why", out_json(m->nics[i].why)));
	}
	return json_pack("{s:o, s:o, s:O, s:o}", "selection", out_json(m->selection),
			 "used", used, "all", all, "control",
			 *m->control.name ? out_json(m->control.name) : json_null());
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
			"value", out_json(tcpx_cfg_str(m->cfg, i)),
			"source", out_json(tcpx_cfg_source(m->cfg, i)),
			"default", def->value, "unit", def->unit, "help", def->help, "allowed",
			tcpx_setting_allowed(def, allowed, sizeof(allowed))));
	}
	return settings;
}

json_t *
machine_json(const struct machine *m)
{
	const char *const *words = tcpx_setting_at(TCPX_SET_PROVIDER)->words;
	json_t *providers = json_array(), *json = topo_json(m->topo);

	for (words++; *words; words++) /* the first is auto */
		json_array_append_new(providers, json_string(*words));
	json_object_set_new(json, "nics", nics_json(m, json_object_get(json, "nics")));
	json_object_update_new(json, json_pack(
		"{s:o, s:s, s:o, s:o}", "providers", providers,
		"provider", machine_provider(m), "defaults", defaults_json(m), "settings", settings_json(m)));
	return json;
}
