/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a plugin in a child process and reads its report. */
#include "tune/info/machine_plugin.h"

#include <stdlib.h>
#include <string.h>

#include "tool/out_text.h"
#include "tune/info/child.h"

static void
look(const char *path, struct machine_plugin *p)
{
	struct plug *plug;
	unsigned i = 0;

	p->code = plug_open(path, &plug);
	if (p->code) {
		tcpx_err_last(p->why, sizeof(p->why));
		return;
	}
	p->found = true;
	snprintf(p->name, sizeof(p->name), "%s", plug_name(plug));
	snprintf(p->path, sizeof(p->path), "%s", plug_path(plug));
	p->abi = plug_abi(plug);
	p->count = (unsigned)plug_devices(plug);
	for (; i < p->count && i < MACHINE_PLUGIN_DEVICES; i++)
		if (plug_properties(plug, (int)i, &p->device[i]) == 0)
			p->unpacks |= p->device[i].unpack;
	plug_close(plug);
}

static void
log_drop(void *arg, int level, const char *line)
{
}

/* A plugin needs a chunk size and gets an engine's. It must not report this child to Google's
 * receive daemon, which ends with the last process that has reported to it. */
static void
child(const char *path, void *out)
{
	setenv("NCCL_DYNAMIC_CHUNK_SIZE", "524288", 0);
	setenv("NCCL_GPUDIRECTTCPX_REPORT_LIFECYCLE", "0", 1);
	if (!tcpx_log_on(TCPX_LOG_INFO, TCPX_SUB_NET))
		tcpx_log_sink(log_drop, NULL);
	look(path, out);
}

void
machine_plugin_read(const struct machine *m, const char *path, struct machine_plugin *p)
{
	char why[sizeof(p->why)];

	*p = (struct machine_plugin){ 0 };
	if (!m->here) {
		snprintf(p->why, sizeof(p->why), "%s is not this machine", m->root);
		return;
	}
	if (!path && m->cfg)
		path = tcpx_cfg_str(m->cfg, TCPX_SET_PLUGIN_PATH);
	if (!machine_child(child, path, p, sizeof(*p), why, sizeof(why))) {
		*p = (struct machine_plugin){ 0 };
		snprintf(p->why, sizeof(p->why), "%s", why);
	}
}

bool
machine_plugin_missed(const struct machine *m, const char *path, const struct machine_plugin *p)
{
	return m->here && !p->found &&
	       (path || (m->cfg && *tcpx_cfg_str(m->cfg, TCPX_SET_PLUGIN_PATH)));
}

static void
print_device(const struct plug_props *d, unsigned i)
{
	printf("  %-3u ", i);
	out_plain(stdout, *d->name ? d->name : "-");
	printf("%*s ", 14 - (int)strlen(d->name), "");
	if (d->speed_mbps)
		printf("%5.4g Gb/s  ", d->speed_mbps / 1e3);
	else
		printf("%10s  ", "-");
	out_plain(stdout, *d->pci ? d->pci : "-");
	printf("%*s %-9s %s\n", 13 - (int)(*d->pci ? strlen(d->pci) : 1), "",
	       d->gpu && d->host ? "host, GPU" : d->gpu ? "GPU" : d->host ? "host" : "none",
	       d->unpack ? "yes" : "no");
}

void
machine_plugin_print(const struct machine_plugin *p)
{
	if (!p->found) {
		printf("  ");
		out_wrapped(stdout, p->why, 2);
		printf("  so payload goes by provider sock, plain TCP\n");
		return;
	}
	printf("  ");
	out_plain(stdout, p->name);
	printf(" in ");
	out_plain(stdout, p->path);
	printf("\n  interface v%d, %u device%s, %s\n", p->abi, p->count, p->count == 1 ? "" : "s",
	       p->unpacks ? "payload lands in a pool and is unpacked"
			  : "payload lands in place");
	printf("  %-3s %-14s %10s  %-13s %-9s %s\n", "dev", "name", "speed", "PCI", "memory",
	       "unpack");
	for (unsigned i = 0; i < p->count && i < MACHINE_PLUGIN_DEVICES; i++)
		print_device(&p->device[i], i);
	if (p->count > MACHINE_PLUGIN_DEVICES)
		printf("  and %u more\n", p->count - MACHINE_PLUGIN_DEVICES);
}

json_t *
machine_plugin_json(const struct machine_plugin *p)
{
	json_t *devices = json_array();

	for (unsigned i = 0; i < p->count && i < MACHINE_PLUGIN_DEVICES; i++)
		json_array_append_new(devices, json_pack(
			"{s:i, s:o, s:o, s:I, s:b, s:b, s:b}", "dev", (int)i, "name",
			out_json(p->device[i].name), "pci",
			out_json(p->device[i].pci), "speed_mbps",
			(json_int_t)p->device[i].speed_mbps, "host", p->device[i].host, "gpu",
			p->device[i].gpu, "unpack", p->device[i].unpack));
	return json_pack("{s:o, s:o, s:o, s:o, s:i, s:o}", "missing",
			 p->found ? json_null() : out_json(p->why), "name",
			 p->found ? out_json(p->name) : json_null(), "path",
			 p->found ? out_json(p->path) : json_null(), "abi",
			 p->found ? json_integer(p->abi) : json_null(), "device_count",
			 (int)p->count, "devices", devices);
}
