/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the process's rights, and of CPUs: their users and their speed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/io.h"
#include "tune/doctor/checks.h"
#include "tool/tool.h"
#include "tune/facts/text.h"

#define CAP_NET_ADMIN_BIT 12
#define CAP_SYS_ADMIN_BIT 21
#define STEAL_MAX 1.0 /* % of the time, taken by other guests */
#define TABLE_BYTES (1u << 20)

static void
probe_privileges(const struct machine *m, struct check_result *r)
{
	unsigned long long caps;
	char text[64];

	if (tcpx_io_field(m->root, "/proc/self/status", "CapEff:", text, sizeof(text)) < 0) {
		check_unknown(r, "/proc/self/status does not tell");
		return;
	}
	caps = strtoull(text, NULL, 16);
	if (!(caps >> CAP_NET_ADMIN_BIT & 1))
		check_add(r, "no CAP_NET_ADMIN: no tcpx lab, no flow rules, no devmem binding");
	if (!(caps >> CAP_SYS_ADMIN_BIT & 1))
		check_add(r, "no CAP_SYS_ADMIN: no network namespaces");
	check_judge(r, "CAP_NET_ADMIN and CAP_SYS_ADMIN");
}

/* The options of the mount of @path, from proc/self/mountinfo; false: not known. */
static bool
mount_options(const struct machine *m, const char *path, char *out, size_t cap)
{
	char *text = malloc(TABLE_BYTES), *rest = text, *line;
	size_t best = 0;

	if (!text ||
	    tcpx_host_text_read(m->root, "/proc/self/mountinfo", text, TABLE_BYTES) <= 0) {
		free(text);
		return false;
	}
	while ((line = strsep(&rest, "\n"))) {
		char at[1024], options[512];
		size_t len;

		if (sscanf(line, "%*u %*u %*s %*s %1023s %511s", at, options) != 2)
			continue;
		len = strcmp(at, "/") ? strlen(at) : 0;
		/* of two mounts at one place the later one is visible */
		if (strncmp(path, at, len) || (path[len] && path[len] != '/') || len + 1 < best)
			continue;
		best = len + 1;
		snprintf(out, cap, "%s", options);
	}
	free(text);
	return best > 0;
}

bool
check_mounted(const struct machine *m, const char *path, const char *option, bool *has)
{
	char options[512];

	if (!mount_options(m, path, options, sizeof(options)))
		return false;
	*has = false;
	for (char *rest = options, *one; (one = strsep(&rest, ","));)
		*has |= !strcmp(one, option);
	return true;
}

/* The outside uid of this user namespace's root; 0 also if unknown. */
static unsigned
root_outside(const struct machine *m)
{
	char text[4096], *rest = text, *line;

	if (tcpx_host_text_read(m->root, "/proc/self/uid_map", text, sizeof(text)) <= 0)
		return 0;
	while ((line = strsep(&rest, "\n"))) {
		unsigned inside, outside, count;

		if (sscanf(line, "%u %u %u", &inside, &outside, &count) == 3 && inside == 0)
			return outside;
	}
	return 0;
}

static void
probe_irq_files(const struct machine *m, struct check_result *r)
{
	bool read_only;
	char uid[64];

	if (!check_mounted(m, "/proc/irq", "ro", &read_only))
		check_unknown(r, "/proc/self/mountinfo cannot be read");
	else if (read_only)
		check_finding(r, "/proc/irq is mounted read-only, as in a container");
	else if (tcpx_io_field(m->root, "/proc/self/status", "Uid:", uid, sizeof(uid)) < 0)
		check_unknown(r, "/proc/self/status does not tell who we are");
	else if (strtoul(uid + strcspn(uid, "\t "), NULL, 10) != 0)
		check_finding(r, "only root may write there");
	else if (root_outside(m))
		check_finding(r, "root of a user namespace is user %u outside, and only root may "
			      "write there", root_outside(m));
	else
		check_ok(r, "root, and not mounted read-only");
}

static bool
has_nic(const struct machine *m, int node)
{
	for (unsigned i = 0; i < m->nic_count; i++)
		if (m->nics[i].hardware && m->nics[i].place.numa == node)
			return true;
	return false;
}

static void
probe_cpuset(const struct machine *m, struct check_result *r)
{
	if (m->topo->cgroup.why) {
		check_unknown(r, "%s", m->topo->cgroup.why);
		return;
	}
	for (unsigned i = 0; i < m->facts->cpus.node_count; i++) {
		const struct tcpx_host_node *node = &m->facts->cpus.node[i];
		struct tcpx_cpuset mine = node->cpus;

		tcpx_cpuset_and(&mine, &m->topo->cgroup.cpus);
		if (tcpx_cpuset_empty(&mine) && has_nic(m, node->id))
			check_add(r, "no CPU of node %d, which has NICs", node->id);
		else if (!tcpx_cpuset_empty(&mine) && !tcpx_cpuset_equal(&mine, &node->cpus))
			check_add(r, "%u of %u CPUs of node %d", tcpx_cpuset_count(&mine),
				  tcpx_cpuset_count(&node->cpus), node->id);
	}
	check_judge(r, "whole nodes, by %s", m->topo->cgroup_file);
}

static void
probe_isolated(const struct machine *m, struct check_result *r)
{
	struct tcpx_cpuset both;
	char list[MACHINE_CPU_LIST];

	if (m->topo->facts.isolated.why) {
		check_unknown(r, "%s", m->topo->facts.isolated.why);
		return;
	}
	both = m->topo->facts.isolated.cpus;
	tcpx_cpuset_and(&both, &m->facts->cpus.allowed);
	if (tcpx_cpuset_empty(&both))
		check_ok(r, "none that this process may use");
	else
		check_finding(r, "%s: the kernel moves no thread there by itself",
			      machine_cpu_list(&both, list));
}

/* The kernel wakes threads and deals out interrupts by load; it does not know that a queue
 * needs a whole core. */
static void
probe_kinds(const struct machine *m, struct check_result *r)
{
	unsigned small = 0, count = m->facts->core_count;
	char list[MACHINE_CPU_LIST];
	struct tcpx_cpuset cpus;

	tcpx_cpuset_init(&cpus);
	for (unsigned i = 0; i < count; i++) {
		const struct tcpx_machine_core *core = &m->facts->cores[i];

		small += core->small;
		for (unsigned k = 0; core->small && k < core->cpu_count; k++)
			tcpx_cpuset_add(&cpus, core->cpu[k]);
	}
	if (!count)
		check_unknown(r, "no CPU is known");
	else if (small)
		check_finding(r, "%u of %u are small: CPUs %s", small, count,
			      machine_cpu_list(&cpus, list));
	else
		check_ok(r, "%u of one kind", count);
}

static void
probe_smt(const struct machine *m, struct check_result *r)
{
	if (m->topo->smt.why)
		check_unknown(r, "%s", m->topo->smt.why);
	else if (m->topo->smt.value)
		check_finding(r, "cores have several CPUs in use: half as many cores as CPUs work");
	else
		check_ok(r, "a CPU is a core");
}

static void
probe_balancing(const struct machine *m, struct check_result *r)
{
	const struct tcpx_maybe *on = &m->topo->numa_balancing;

	if (m->facts->cpus.node_count == 1)
		check_skip(r, "the machine has one NUMA node");
	else if (on->why)
		check_unknown(r, "/proc/sys/kernel/numa_balancing: %s", on->why);
	else if (on->value)
		check_finding(r, "on: pages are unmapped now and then to see who uses them");
	else
		check_ok(r, "off");
}

static void
probe_governor(const struct machine *m, struct check_result *r)
{
	unsigned slow = 0, known = 0;
	char name[64], last[64] = "";

	tcpx_cpuset_for_each(cpu, &m->facts->cpus.allowed) {
		char path[96];

		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor",
			 cpu);
		if (tcpx_host_text_read(m->root, path, name, sizeof(name)) <= 0)
			continue;
		known++;
		if (!strcmp(name, "performance"))
			continue;
		slow++;
		snprintf(last, sizeof(last), "%s", name);
	}
	if (!known)
		check_skip(r, "no governor: the hypervisor or firmware decides");
	else if (slow)
		check_finding(r, "%s on %u of %u CPUs", last, slow, known);
	else
		check_ok(r, "performance on all %u CPUs", known);
}

static void
probe_steal(const struct machine *m, struct check_result *r)
{
	unsigned long long t[8], all = 0;
	char *text = malloc(TABLE_BYTES);

	if (!text || tcpx_host_text_read(m->root, "/proc/stat", text, TABLE_BYTES) <= 0 ||
	    sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2], &t[3],
		   &t[4], &t[5], &t[6], &t[7]) != 8) {
		check_unknown(r, "/proc/stat does not tell");
	} else {
		double busy;

		for (size_t i = 0; i < ARRAY_LEN(t); i++)
			all += t[i];
		busy = (double)(all - t[3] - t[4]);
		if (busy > 0 && (double)t[7] / busy * 100 > STEAL_MAX)
			check_finding(r, "%.1f %% of the busy time since boot", (double)t[7] / busy * 100);
		else
			check_ok(r, "%.1f %% of the busy time since boot",
				 busy > 0 ? (double)t[7] / busy * 100 : 0);
	}
	free(text);
}

/* A line of the kernel's build: 'y', 'n', or 0 without the file. */
char
check_kernel_config(const struct machine *m, const char *option)
{
	char path[192], *text, want[96], *at, answer = 0;

	if (!*m->topo->kernel)
		return 0;
	text = malloc(TABLE_BYTES);
	snprintf(path, sizeof(path), "/boot/config-%s", m->topo->kernel);
	if (text && tcpx_host_text_read(m->root, path, text, TABLE_BYTES) > 0) {
		snprintf(want, sizeof(want), "%s=", option);
		at = strstr(text, want);
		answer = at && (at == text || at[-1] == '\n') && at[strlen(want)] != 'n' ? 'y' : 'n';
	}
	free(text);
	return answer;
}

static void
probe_irq_time(const struct machine *m, struct check_result *r)
{
	char built = check_kernel_config(m, "CONFIG_IRQ_TIME_ACCOUNTING");

	if (!built)
		check_unknown(r, "/boot has no config of the running kernel");
	else if (built == 'n')
		check_finding(r, "not built in: time in interrupts counts as the interrupted thread's");
	else
		check_ok(r, "CONFIG_IRQ_TIME_ACCOUNTING");
}

const struct check checks_cpu[] = {
	{ "privileges", CHECK_NOTE, "May this process set up networks?", probe_privileges,
	  "Measuring needs none of it; for tcpx lab and flow rules run as root." },
	{ "irq-files", CHECK_NOTE, "May interrupts be placed from here?", probe_irq_files,
	  "tcpx irq apply needs root outside of a container; plan, lint and verify do not." },
	{ "cpuset", CHECK_WARNING, "Has the cgroup whole nodes?", probe_cpuset,
	  "Plans for whole nodes do not fit: tcpx irq plan --allow, or a wider cpuset." },
	{ "isolated", CHECK_NOTE, "Are no CPUs isolated?", probe_isolated,
	  "Threads go there only when pinned: TCPX_CPUS, tcpx pin; tcpx irq plan leaves them out." },
	{ "core-kinds", CHECK_NOTE, "Are all cores alike?", probe_kinds,
	  "Keep I/O threads and interrupts off the small ones: TCPX_BIND=plan or TCPX_CPUS; tcpx irq plan does." },
	{ "smt", CHECK_NOTE, "Is each CPU a core?", probe_smt,
	  "Count cores when CPUs are dealt out; tcpx irq plan does." },
	{ "numa-balance", CHECK_WARNING, "Is automatic NUMA balancing off?", probe_balancing,
	  "sysctl kernel.numa_balancing=0: memory that NICs and GPUs use is pinned or moved for "
	  "nothing." },
	{ "governor", CHECK_WARNING, "Do CPUs run at full speed?", probe_governor,
	  "cpupower frequency-set -g performance." },
	{ "steal", CHECK_WARNING, "Does nobody else use our CPUs?", probe_steal,
	  "Other virtual machines on the host took this time: measurements will scatter." },
	{ "irq-time", CHECK_NOTE, "Does the kernel count time in interrupts?", probe_irq_time,
	  "Do not trust columns irq and softirq here; compare the CPU time of all together." },
};

const size_t checks_cpu_count = ARRAY_LEN(checks_cpu);
