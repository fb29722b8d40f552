/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcpx info: what an engine would do here, and why. Reads only; with --root it explains
 * another machine from its files.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tcpx/tcpx.h"
#include "tool/machine.h"
#include "tool/opt.h"
#include "tool/out_text.h"
#include "tool/tool.h"

#define CPU_LIST 160 /* bytes of a list of CPUs; a longer one is cut with "..." */

/* ---- shared by text and JSON ------------------------------------------------------ */

static const char *
cpu_list(const struct tcpx_cpuset *set, char *buf)
{
	if (tcpx_cpuset_format(set, buf, CPU_LIST) >= CPU_LIST)
		strcpy(buf + CPU_LIST - 4, "...");
	return *buf ? buf : "none";
}

/* Why a NIC is used or not. */
static const char *
nic_why(const struct machine *m, const struct tcpx_host_nic *nic, bool *used)
{
	const struct tcpx_host_nic *chosen = machine_chosen(m, nic->ifname);
	const char *unfit = tcpx_host_nic_unfit(nic);
	const char *left_out = tcpx_host_nic_left_out(nic);

	*used = chosen != NULL;
	if (chosen)
		return chosen->why;
	if (unfit)
		return unfit;
	if (left_out && (!*m->selection || *m->selection == '^'))
		return left_out;
	return *m->selection ? "not in the selection" : "more than are allowed";
}

static const char *
kernel_release(const struct machine *m, char *buf, size_t cap)
{
	if (tcpx_host_text_read(m->root, "/proc/sys/kernel/osrelease", buf, cap) <= 0)
		snprintf(buf, cap, "unknown");
	return buf;
}

static const char *
provider_in_use(const struct machine *m)
{
	return m->cfg ? tcpx_cfg_str(m->cfg, TCPX_SET_PROVIDER) : "";
}

/* The three defaults, and the setting that would beat each. */
struct planned {
	const char *name, *why;
	unsigned value;
	enum tcpx_setting setting;
};

static void
list_planned(const struct machine *m, struct planned planned[3])
{
	const struct tcpx_host_plan *p = &m->plan;

	planned[0] = (struct planned){ "threads", p->threads_why, p->threads, TCPX_SET_THREADS };
	planned[1] = (struct planned){ "channels", p->channels_why, p->channels,
				       TCPX_SET_CHANNELS };
	planned[2] = (struct planned){ "spin_us", p->spin_why, p->spin_us, TCPX_SET_SPIN_US };
}

static bool
is_overridden(const struct machine *m, const struct planned *p)
{
	return m->cfg && tcpx_cfg_num(m->cfg, p->setting) != 0;
}

/* ---- text ------------------------------------------------------------------------- */

static void
print_title(const char *title)
{
	printf("\n%s%s%s\n", tool_paint(stdout, TOOL_BOLD), title,
	       tool_paint(stdout, TOOL_PLAIN));
}

static void
print_providers(const struct machine *m)
{
	const char *const *words = tcpx_setting_at(TCPX_SET_PROVIDER)->words;

	printf("%-10s", "providers");
	for (; *words; words++)
		printf(" %s%s", *words, strcmp(*words, provider_in_use(m)) ? "" : " (in use)");
	putchar('\n');
}

/* "10 Gb/s", or "-". */
static const char *
speed_text(uint32_t mbps, char *buf, size_t cap)
{
	if (mbps == 0)
		return "-";
	snprintf(buf, cap, mbps % 1000 ? "%.1f Gb/s" : "%.0f Gb/s", mbps / 1e3);
	return buf;
}

static const char *
node_text(const struct tcpx_host_place *place, char *buf, size_t cap)
{
	if (place->numa < 0)
		return "-";
	snprintf(buf, cap, "%d", place->numa);
	return buf;
}

static void
print_nic(const struct machine *m, const struct tcpx_host_nic *nic)
{
	char addr[TCPX_HOST_ADDR_TEXT], speed[32], node[16], queues[32];
	bool used;
	const char *why = nic_why(m, nic, &used);

	tcpx_host_addr_format(&nic->addr, addr, sizeof(addr));
	snprintf(queues, sizeof(queues), "%u/%u", nic->queues_rx, nic->queues_tx);
	printf("  %s%-4s%s ", tool_paint(stdout, used ? TOOL_GREEN : TOOL_DIM), used ? "yes" : "no",
	       tool_paint(stdout, TOOL_PLAIN));
	out_plain(stdout, nic->ifname);
	printf("%*s %-20s %9s %6u %7s %-12s %-13s %4s  ", 15 - (int)strlen(nic->ifname), "",
	       nic->addr.family ? addr : "-", speed_text(nic->speed_mbps, speed, sizeof(speed)),
	       nic->mtu, queues, *nic->driver ? nic->driver : "-",
	       *nic->place.pci ? nic->place.pci : "-", node_text(&nic->place, node, sizeof(node)));
	out_plain(stdout, why);
	putchar('\n');
}

static void
print_nics(const struct machine *m)
{
	print_title("NICs");
	printf("  selection \"");
	out_plain(stdout, m->selection);
	printf("\"%s\n", *m->selection ? "" : ": the default, all that fit");
	if (m->all_count)
		printf("  %-4s %-15s %-20s %9s %6s %7s %-12s %-13s %4s  %s\n", "used", "name",
		       "address", "speed", "MTU", "rx/tx", "driver", "PCI", "node", "why");
	for (unsigned i = 0; i < m->all_count; i++)
		print_nic(m, &m->all[i]);
	for (unsigned i = 0; i < m->nic_count; i++)
		if (strcmp(m->nics[i].name, m->nics[i].ifname))
			printf("  %-4s %-15s on %s, %s\n", "yes", m->nics[i].name,
			       m->nics[i].ifname, m->nics[i].why);
	if (!m->nic_count)
		printf("  none to use: see above for why\n");
}

static void
print_cpus(const struct machine *m)
{
	char list[CPU_LIST];

	print_title("CPUs");
	if (!m->cpus.count) {
		printf("  unknown\n");
		return;
	}
	printf("  %-10s %4u  %s\n", "online", m->cpus.count, cpu_list(&m->cpus.online, list));
	printf("  %-10s %4u  %s\n", "allowed", m->cpus.allowed_count,
	       cpu_list(&m->cpus.allowed, list));
	for (unsigned i = 0; i < m->cpus.node_count; i++)
		printf("  node %-5d %4u  %s\n", m->cpus.node[i].id,
		       tcpx_cpuset_count(&m->cpus.node[i].cpus),
		       cpu_list(&m->cpus.node[i].cpus, list));
}

static void
print_gpus(const struct machine *m)
{
	print_title("GPUs");
	if (!m->gpu_count)
		printf("  none on the PCI bus\n");
	for (unsigned g = 0; g < m->gpu_count; g++) {
		const struct tcpx_host_gpu *gpu = &m->gpus[g];
		char node[16];

		printf("  %u  %s  node %s ", g, gpu->place.pci,
		       node_text(&gpu->place, node, sizeof(node)));
		for (unsigned i = 0; i < m->nic_count; i++) {
			printf("%s ", i ? "," : "");
			out_plain(stdout, m->nics[i].name);
			printf(" %s",
			       tcpx_host_distance_name(tcpx_host_distance(&m->nics[i], gpu)));
		}
		putchar('\n');
	}
}

static void
print_defaults(const struct machine *m)
{
	struct planned planned[3];

	print_title("Defaults");
	if (!m->plan.threads) {
		printf("  unknown without CPUs\n");
		return;
	}
	list_planned(m, planned);
	for (size_t i = 0; i < ARRAY_LEN(planned); i++) {
		printf("  %-9s %4u  %s", planned[i].name, planned[i].value, planned[i].why);
		if (is_overridden(m, &planned[i]))
			printf("; but %s is %s (%s)", tcpx_setting_at(planned[i].setting)->name,
			       tcpx_cfg_str(m->cfg, planned[i].setting),
			       tcpx_cfg_source(m->cfg, planned[i].setting));
		putchar('\n');
	}
}

static void
print_settings(const struct machine *m)
{
	const struct tcpx_setting_def *def;

	for (unsigned i = 0; (def = tcpx_setting_at(i)) != NULL; i++) {
		bool set = !tcpx_cfg_is_default(m->cfg, i);
		char allowed[256];

		printf("%s%s%s=", tool_paint(stdout, set ? TOOL_BOLD : TOOL_PLAIN), def->name,
		       tool_paint(stdout, TOOL_PLAIN));
		out_plain(stdout, tcpx_cfg_str(m->cfg, i));
		printf("%s%s\n    from ", *def->unit ? "  # " : "", def->unit);
		out_plain(stdout, tcpx_cfg_source(m->cfg, i));
		printf("; %s\n    %s: %s\n", def->help, tcpx_setting_type_name(def->type),
		       tcpx_setting_allowed(def, allowed, sizeof(allowed)));
	}
}

static void
print_machine(const struct machine *m)
{
	char kernel[128];

	printf("%-10s %s\n", "tcpx", tcpx_version());
	print_providers(m);
	printf("%-10s %s\n", "kernel", kernel_release(m, kernel, sizeof(kernel)));
	if (!m->here)
		printf("%-10s %s\n", "root", m->root);
	print_nics(m);
	print_cpus(m);
	print_gpus(m);
	print_defaults(m);
}

/* ---- JSON ------------------------------------------------------------------------- */

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
	const char *why = nic_why(m, nic, &used);

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

	for (unsigned i = 0; i < m->all_count; i++)
		json_array_append_new(all, nic_json(m, &m->all[i]));
	for (unsigned i = 0; i < m->nic_count; i++) {
		char addr[TCPX_HOST_ADDR_TEXT];

		tcpx_host_addr_format(&m->nics[i].addr, addr, sizeof(addr));
		json_array_append_new(used, json_pack(
			"{s:o, s:o, s:s, s:o}", "name", machine_json_text(m->nics[i].name),
			"interface", machine_json_text(m->nics[i].ifname), "address", addr,
			"why", machine_json_text(m->nics[i].why)));
	}
	return json_pack("{s:o, s:o, s:o}", "selection", machine_json_text(m->selection),
			 "used", used, "all", all);
}

static json_t *
cpus_json(const struct machine *m)
{
	json_t *nodes = json_array();
	char list[CPU_LIST], allowed[CPU_LIST];

	for (unsigned i = 0; i < m->cpus.node_count; i++)
		json_array_append_new(nodes, json_pack(
			"{s:i, s:s}", "id", m->cpus.node[i].id, "cpus",
			cpu_list(&m->cpus.node[i].cpus, list)));
	return json_pack("{s:I, s:I, s:s, s:s, s:o}", "count", (json_int_t)m->cpus.count,
			 "allowed_count", (json_int_t)m->cpus.allowed_count,
			 "online", cpu_list(&m->cpus.online, list),
			 "allowed", cpu_list(&m->cpus.allowed, allowed), "nodes", nodes);
}

static json_t *
gpus_json(const struct machine *m)
{
	json_t *gpus = json_array();

	for (unsigned g = 0; g < m->gpu_count; g++) {
		const struct tcpx_host_gpu *gpu = &m->gpus[g];
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
	struct planned planned[3];

	list_planned(m, planned);
	for (size_t i = 0; i < ARRAY_LEN(planned); i++)
		json_object_set_new(defaults, planned[i].name, json_pack(
			"{s:I, s:s, s:b}", "value", (json_int_t)planned[i].value, "why",
			planned[i].why, "overridden", is_overridden(m, &planned[i])));
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

static json_t *
machine_json(const struct machine *m)
{
	const char *const *words = tcpx_setting_at(TCPX_SET_PROVIDER)->words;
	json_t *providers = json_array();
	char kernel[128];

	for (; *words; words++)
		json_array_append_new(providers, json_string(*words));
	return json_pack("{s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
			 "version", tcpx_version(), "providers", providers,
			 "provider", provider_in_use(m),
			 "kernel", machine_json_text(kernel_release(m, kernel, sizeof(kernel))),
			 "root", machine_json_text(m->root), "nics", nics_json(m),
			 "cpus", cpus_json(m), "gpus", gpus_json(m),
			 "defaults", defaults_json(m), "settings", settings_json(m));
}

/* ---- the command ------------------------------------------------------------------ */

static int
write_json(const struct machine *m, const char *path)
{
	json_t *root = machine_json(m);
	int rc = root ? tool_json_write(root, path) :
			tool_fail(TOOL_DENIED, "tcpx info", "no memory for the JSON text");

	json_decref(root);
	return rc;
}

static int
run(const struct machine *m, bool config, const char *json)
{
	int rc = TOOL_OK;

	if (!m->cfg)
		return tool_fail(TOOL_USAGE, "tcpx info", "a setting is refused: see above");
	if (json)
		rc = write_json(m, json);
	if (rc == TOOL_OK && !(json && !strcmp(json, "-"))) {
		if (config)
			print_settings(m);
		else
			print_machine(m);
	}
	if (rc == TOOL_OK && !config && m->nics_rc < 0)
		rc = m->nics_rc == -EINVAL ? TOOL_USAGE : TOOL_FINDING;
	return rc;
}

int
cmd_info(int argc, char **argv)
{
	enum { CONFIG, NICS, ROOT, JSON };
	static const struct opt opts[] = {
		[CONFIG] = { 'c', "config", NULL, "every setting with its value, where that comes "
			     "from, and what is allowed" },
		[NICS] = { 'n', "nics", "LIST", "choose NICs by this list instead of TCPX_NICS: "
			   "eth1,eth2 (beginnings), =eth1 (whole name), ^eth0 (all but), or "
			   "addresses" },
		[ROOT] = { 0, "root", "DIR", "read the machine whose /sys and /proc lie in DIR" },
		[JSON] = { 'j', "json", "FILE", "all of it as JSON; - is stdout" },
	};
	static const struct opt_command cmd = {
		"tcpx info", "[OPTIONS]",
		"Shows what an engine would use here and why: NICs, CPUs, GPUs and their "
		"distance, threads and channels. Changes nothing. Exit code 1: no NIC to use.",
		opts, ARRAY_LEN(opts),
		"  tcpx info\n"
		"  tcpx info --config\n"
		"  tcpx info --nics ^eth0 --json -\n", false,
	};
	const char *nics = NULL, *root = NULL, *json = NULL;
	struct opt_parser p;
	struct machine *m;
	bool config = false;
	int id, rc;

	opt_init(&p, &cmd, argc, argv);
	while ((id = opt_next(&p)) != OPT_END) {
		switch (id) {
		case CONFIG:
			config = true;
			break;
		case NICS:
			nics = p.value;
			break;
		case ROOT:
			root = p.value;
			break;
		case JSON:
			json = p.value;
			break;
		case OPT_HELP:
			return TOOL_OK;
		default:
			return TOOL_USAGE;
		}
	}
	if (p.first_word < argc)
		return tool_usage(cmd.name, "'%s' is one word too many", argv[p.first_word]);

	m = machine_new(cmd.name, root, nics);
	if (!m)
		return TOOL_USAGE;
	rc = run(m, config, json);
	machine_free(m);
	return rc;
}
