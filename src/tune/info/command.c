/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcpx info: an engine's choices on this machine, and their reasons. Reads only; with
 * --root it explains another machine from its files.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tcpx/tcpx.h"
#include "tune/info/machine_gpu.h"
#include "tune/info/machine_plugin.h"
#include "tool/opt.h"
#include "tool/out_text.h"
#include "tool/json_file.h"
#include "tool/tool.h"
#include "tune/topo/view.h"

static void
print_providers(const struct machine *m)
{
	const char *const *words = tcpx_setting_at(TCPX_SET_PROVIDER)->words;
	const char *in_use = machine_provider(m);

	printf("%-10s", "providers");
	for (words++; *words; words++) /* the first is auto */
		printf(" %s%s", *words, strcmp(*words, in_use) ? "" : " (in use)");
	putchar('\n');
}

/* "10.0.0.2/24, fd00::2/64", the one to use first. */
static void
list_addresses(const struct tcpx_host_nic *nic, char *buf, size_t cap)
{
	size_t len = 0;

	buf[0] = '\0';
	for (unsigned i = 0; i < nic->addr_count; i++) {
		char addr[TCPX_HOST_ADDR_TEXT];

		tcpx_host_addr_format(&nic->addrs[i], addr, sizeof(addr));
		len += (size_t)snprintf(buf + len, cap - len, "%s%s", i ? ", " : "", addr);
	}
}

/* Two lines: the second has the texts of any length. */
static void
print_nic(const struct machine *m, const struct tcpx_host_nic *nic)
{
	char addrs[TCPX_HOST_ADDRESSES * TCPX_HOST_ADDR_TEXT];
	bool used;
	const char *why = machine_nic_why(m, nic, &used);

	list_addresses(nic, addrs, sizeof(addrs));
	topo_print_nic(stdout, nic, used ? "yes" : "no", used);
	printf("%*s", NIC_INDENT, "");
	out_wrapf(stdout, NIC_INDENT, "%s%s%s", addrs, *addrs ? ": " : "", why);
}

static void
print_nics(const struct machine *m)
{
	topo_print_title(stdout, "NICs");
	printf("  selection \"");
	out_plain(stdout, m->selection);
	printf("\"%s\n", *m->selection ? "" : ": the default, all that fit");
	if (*m->control.name)
		printf("  control arrives at %s, too (%s)\n", m->control.name,
		       tcpx_cfg_source(m->cfg, TCPX_SET_CTRL));
	if (m->facts->nic_count)
		topo_print_nic_head(stdout, "used");
	for (unsigned i = 0; i < m->facts->nic_count; i++)
		print_nic(m, &m->facts->nics[i]);
	for (unsigned i = 0; i < m->nic_count; i++)
		if (strcmp(m->nics[i].name, m->nics[i].ifname))
			printf("  %-4s %-15s on %s, %s\n", "yes", m->nics[i].name,
			       m->nics[i].ifname, m->nics[i].why);
	if (!m->nic_count)
		printf("  none to use: see above for why\n");
}

/* The driver's view, in the order of cuda:N. */
static void
print_driver(const struct machine_driver *d)
{
	char amount[OUT_QUANTITY];

	if (!d->gpus) {
		printf("  no GPU driver: ");
		out_wrapped(stdout, d->why, 17);
		return;
	}
	printf("  driver of CUDA %d.%d\n", d->version / 1000, d->version % 1000 / 10);
	for (unsigned i = 0; i < d->count; i++) {
		printf("  cuda:%-2d  ", d->gpu[i].gpu);
		out_plain(stdout, d->gpu[i].name);
		printf(", %s, %s\n", d->gpu[i].pci, out_size(d->gpu[i].memory_bytes, amount));
	}
}

static void
print_sending(const struct machine *m, const struct machine_driver *d)
{
	struct machine_lend lend = machine_lend_read(m);
	char max[OUT_QUANTITY], soft[OUT_QUANTITY], splice[160] = "";

	topo_print_title(stdout, "GPU memory");
	printf("  %-9s %s (TCPX_UNPACK_IMPL is %s)\n", "unpack",
	       d->gpus ? "kernel, d2d, host" : "none is possible without a driver",
	       m->cfg ? tcpx_cfg_str(m->cfg, TCPX_SET_UNPACK_IMPL) : "refused");
	if (lend.pipe_max > 0)
		snprintf(splice, sizeof(splice), ", splice (pipes up to %s, of a user without "
			 "rights %s in all)", out_size((uint64_t)lend.pipe_max, max),
			 lend.pipe_user_soft > 0
			 ? out_size((uint64_t)lend.pipe_user_soft, soft) : "unlimited");
	printf("  %-9s ", "zero-copy");
	out_wrapf(stdout, 12, "copy%s%s (TCPX_ZEROCOPY is %s)", splice,
		  lend.msg ? ", msg (SO_ZEROCOPY)" : "",
		  m->cfg ? tcpx_cfg_str(m->cfg, TCPX_SET_ZEROCOPY) : "refused");
}

static void
print_defaults(const struct machine *m)
{
	struct machine_default planned[MACHINE_DEFAULTS];

	topo_print_title(stdout, "Defaults");
	if (!m->plan.threads) {
		printf("  unknown without CPUs\n");
		return;
	}
	machine_defaults(m, planned);
	for (size_t i = 0; i < ARRAY_LEN(planned); i++) {
		printf("  %-9s %4u  %s", planned[i].name, planned[i].value, planned[i].why);
		if (planned[i].overridden)
			printf("; but %s is %s (%s)", tcpx_setting_at(planned[i].setting)->name,
			       tcpx_cfg_str(m->cfg, planned[i].setting),
			       tcpx_cfg_source(m->cfg, planned[i].setting));
		putchar('\n');
	}
}

/* Those whose name has @part, and with @changed only what is not as by default. */
static int
print_settings(const struct machine *m, const char *part, bool changed)
{
	const struct tcpx_setting_def *def;
	unsigned shown = 0;

	for (unsigned i = 0; (def = tcpx_setting_at(i)) != NULL; i++) {
		bool set = !tcpx_cfg_is_default(m->cfg, i);
		char allowed[256];

		if ((part && !strcasestr(def->name, part)) || (changed && !set))
			continue;
		shown++;
		printf("%s%s=", tool_paint(stdout, set ? TOOL_BOLD : TOOL_PLAIN), def->name);
		out_plain(stdout, tcpx_cfg_str(m->cfg, i));
		printf("%s  (", tool_paint(stdout, TOOL_PLAIN));
		out_plain(stdout, tcpx_cfg_source(m->cfg, i));
		printf(")\n    ");
		out_wrapped(stdout, def->help, 4);
		printf("    %s: ", tcpx_setting_type_name(def->type));
		out_wrapped(stdout, tcpx_setting_allowed(def, allowed, sizeof(allowed)), 6);
	}
	if (!shown && part)
		return tool_fail(TOOL_USAGE, "tcpx info", "no setting%s has '%s' in its name",
				 changed ? " that is not as by default" : "", part);
	if (!shown)
		puts("all settings are as by default");
	return TOOL_OK;
}

static void
print_machine(const struct machine *m, const struct machine_plugin *plugin)
{
	struct machine_driver driver;

	printf("%-10s %s\n", "tcpx", tcpx_version());
	print_providers(m);
	printf("%-10s ", "kernel");
	out_plain(stdout, *m->topo->kernel ? m->topo->kernel : "not known");
	putchar('\n');
	if (!m->here)
		printf("%-10s %s\n", "root", m->root);
	print_nics(m);
	topo_print_cpus(stdout, m->topo, false);
	topo_print_gpus(stdout, m->topo);
	machine_driver_open(m, &driver);
	print_driver(&driver);
	print_sending(m, &driver);
	machine_driver_close(&driver);
	topo_print_title(stdout, "NCCL net plugin");
	machine_plugin_print(plugin);
	print_defaults(m);
}

static int
write_json(const struct machine *m, const struct machine_plugin *plugin, const char *path)
{
	struct machine_driver driver;
	json_t *root = machine_json(m);

	machine_driver_open(m, &driver);
	if (root) {
		json_object_set_new(root, "driver", machine_driver_json(&driver));
		json_object_set_new(root, "plugin", machine_plugin_json(plugin));
	}
	machine_driver_close(&driver);
	return tool_json_put("tcpx info", root, path);
}

struct args {
	const char *nics, *root, *json, *plugin;
	bool config, set;
	const char *part; /* of settings' names; NULL: all */
};
#define S struct args

static int
run(const struct machine *m, const struct args *a)
{
	const char *library = a->plugin, *json = a->json;
	bool config = a->config;
	struct machine_plugin plugin;
	int rc = TOOL_OK;

	if (!m->cfg)
		return tool_fail_last(TOOL_USAGE, "tcpx info", "a setting is refused");
	if (!config && (m->nics_rc == -EINVAL || m->nics_rc == TCPX_ECONFIG))
		return TOOL_USAGE; /* the bad selection, or control NIC, is in the log */
	if (json || !config)
		machine_plugin_read(m, library, &plugin);
	if (json)
		rc = write_json(m, &plugin, json);
	if (rc == TOOL_OK && !(json && !strcmp(json, "-"))) {
		if (config)
			rc = print_settings(m, a->part, a->set);
		else
			print_machine(m, &plugin);
	}
	if (rc == TOOL_OK && !config &&
	    (m->nics_rc < 0 || machine_plugin_missed(m, library, &plugin)))
		rc = TOOL_FINDING;
	return rc;
}

int
cmd_info(int argc, char **argv)
{
	static const struct opt opts[] = {
		{ 'c', "config", NULL, "every setting with its value, where that comes from, "
		  "and what is allowed; a word chooses those with it in their names",
		  OPT_FLAG(config) },
		{ 's', "set", NULL, "the same, only of settings that are not as by default",
		  OPT_FLAG(set) },
		{ 'n', "nics", "LIST", "choose NICs by this list instead of TCPX_NICS: eth1,eth2 "
		  "(beginnings), =eth1 (whole name), ^eth0 (all but), or addresses",
		  OPT_TEXT(nics) },
		{ 'p', "plugin", "FILE", "look at this NCCL net plugin instead of the one "
		  "TCPX_PLUGIN_PATH, NCCL_NET_PLUGIN or the usual places name",
		  OPT_TEXT(plugin) },
		{ 0, "root", "DIR", "read the machine whose /sys and /proc lie in DIR",
		  OPT_TEXT(root) },
		{ 'j', "json", "FILE", "all of it as JSON; - is stdout", OPT_TEXT(json) },
	};
	static const struct opt_command cmd = {
		"tcpx info", "[OPTIONS] [NAME]",
		"Shows what an engine would use here and why: NICs, CPUs, GPUs, their "
		"distance and their driver, the NCCL net plugin, threads and channels. Changes "
		"nothing; a plugin is loaded in a process of its own. Exit code 1: no NIC to "
		"use, or not the plugin that was named.",
		opts, ARRAY_LEN(opts),
		"  tcpx info\n"
		"  tcpx info --config\n"
		"  tcpx info --config chunk\n"
		"  tcpx info --nics ^eth0 --json -\n"
		"  tcpx info --plugin /usr/local/tcpx/lib64/libnccl-net-tcpx.so\n", false, NULL,
	};
	struct args a = { .nics = NULL };
	struct opt_parser p;
	struct machine *m;
	int rc;

	if (!opt_read(&p, &cmd, argc, argv, &a))
		return p.exit;
	if (opt_words(&p, a.config || a.set ? 1 : 0))
		return TOOL_USAGE;
	a.part = p.first_word < argc ? argv[p.first_word] : NULL;
	a.config |= a.set;

	m = machine_new(cmd.name, a.root, a.nics);
	if (!m)
		return TOOL_USAGE;
	rc = run(m, &a);
	machine_free(m);
	return rc;
}
