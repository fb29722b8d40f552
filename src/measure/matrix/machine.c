/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The view of the machine that tcpx topo shows, and what else a reader of results needs. Of the
 * boot parameters only those that move CPUs, interrupts, memory or power are kept.
 */
#include "measure/matrix/machine.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "measure/matrix/figure.h"
#include "tool/json_file.h"
#include "tool/tool.h"
#include "tune/facts/topo.h"

/* The first line of a file, without blanks at its end; false: no such file. */
static bool
line_of(const char *path, char *buf, size_t cap)
{
	char *text = matrix_file_read(path, NULL);
	size_t len;

	if (!text)
		return false;
	len = strcspn(text, "\n");
	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	snprintf(buf, cap, "%.*s", (int)(len < 4000 ? len : 4000), text);
	free(text);
	return len > 0;
}

static void
put(json_t *to, const char *name, const char *text)
{
	json_object_set_new(to, name, json_string(text));
}

static void
put_file(json_t *to, const char *name, const char *path)
{
	char text[512];

	if (line_of(path, text, sizeof(text)))
		put(to, name, text);
}

static void
put_parameters(json_t *to)
{
	static const char *const known[] = {
		"isolcpus", "nohz_full", "rcu_nocbs", "irqaffinity", "mitigations", "nosmt",
		"maxcpus", "nr_cpus", "idle", "processor.max_cstate", "intel_idle.max_cstate",
		"intel_pstate", "amd_pstate", "numa", "numa_balancing", "transparent_hugepage",
		"hugepages", "default_hugepagesz", "iommu", "intel_iommu", "amd_iommu", "threadirqs",
	};
	char *text = matrix_file_read("/proc/cmdline", NULL), *rest = text, *word;
	char kept[512] = "";
	size_t at = 0;

	while (text && (word = strsep(&rest, " \n")) != NULL)
		for (size_t i = 0; i < ARRAY_LEN(known); i++) {
			size_t len = strlen(known[i]);

			if (!strncmp(word, known[i], len) && (!word[len] || word[len] == '=') &&
			    at + strlen(word) + 2 < sizeof(kept))
				at += (size_t)snprintf(kept + at, sizeof(kept) - at, "%s%s",
						       at ? " " : "", word);
		}
	put(to, "boot parameters", kept[0] ? kept : "none that matter");
	free(text);
}

static void
put_cpus(json_t *to)
{
	char *text = matrix_file_read("/proc/cpuinfo", NULL);
	char *model = text ? strstr(text, "model name") : NULL;
	bool guest = text && strstr(text, " hypervisor") != NULL;

	model = model ? strchr(model, ':') : NULL;
	if (model) {
		model += strspn(model, ": \t");
		model[strcspn(model, "\n")] = '\0';
		put(to, "CPU", model);
	}
	put(to, "machine", guest ? "virtual" : "not virtual, or not told");
	free(text);
}

static void
put_memory(json_t *to)
{
	char line[128], text[64];
	unsigned long long kib;

	if (line_of("/proc/meminfo", line, sizeof(line)) &&
	    sscanf(line, "MemTotal: %llu", &kib) == 1) {
		snprintf(text, sizeof(text), "%.1f GiB", (double)kib / 1048576);
		put(to, "memory", text);
	}
}

uint64_t
matrix_hash(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 1099511628211ull;
	return hash;
}

static void
put_topology(json_t *to)
{
	struct tcpx_topo *topo;
	struct tcpx_machine m;
	char *online, text[32];

	if (tcpx_topo_read_parts("/", &topo) < 0)
		return;
	online = tool_cpu_list(&topo->facts.cpus.online);
	put(to, "CPUs online", online);
	free(online);
	snprintf(text, sizeof(text), "%u", topo->facts.cpus.node_count);
	put(to, "nodes", text);
	if (!topo->numa_balancing.why)
		put(to, "NUMA balancing", topo->numa_balancing.value ? "on" : "off");
	put(to, "irqbalance", topo->irqbalance.why ? topo->irqbalance.why : "running");
	if (tcpx_topo_machine(topo, &m) == 0) {
		snprintf(text, sizeof(text), "%016" PRIx64, tcpx_machine_hash(&m));
		put(to, "topology hash", text);
		tcpx_machine_fini(&m);
	}
	tcpx_topo_free(topo);
}

json_t *
matrix_machine(void)
{
	json_t *to = json_object();
	struct utsname uts;
	char text[160];

	if (!to)
		return NULL;
	if (!uname(&uts)) {
		snprintf(text, sizeof(text), "%.70s %.70s", uts.release, uts.machine);
		put(to, "kernel", text);
	}
	put(to, "tcpx", TCPX_VERSION);
	put_parameters(to);
	put_cpus(to);
	put_memory(to);
	put_file(to, "governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
	put_file(to, "congestion control", "/proc/sys/net/ipv4/tcp_congestion_control");
	put_file(to, "transparent huge pages", "/sys/kernel/mm/transparent_hugepage/enabled");
	put_topology(to);
	return to;
}
