/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the process, its limits and settings, and of the kernel it runs on. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tune/doctor/checks.h"
#include "tool/tool.h"
#include "tune/facts/text.h"

#define FILES_MIN 1024
#define PORTS_MIN 4096

static void
probe_settings(const struct machine *m, struct check_result *r)
{
	if (m->cfg)
		check_ok(r, "all are accepted");
	else
		check_finding(r, "one is refused: see the message above");
}

static void
probe_variables(const struct machine *m, struct check_result *r)
{
	if (!check_here(m, r))
		return;
	for (char **var = environ; *var; var++) {
		const struct tcpx_setting_def *near;
		char name[64];

		if (strncmp(*var, "TCPX_", 5) && strncmp(*var, "UCCL_TCPX_", 10))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(*var, "="), *var);
		if (tcpx_setting_find(name) >= 0 || tcpx_setting_known_elsewhere(name))
			continue;
		near = tcpx_setting_nearest(name);
		check_add(r, near ? "%s (is %s meant?)" : "%s", name, near ? near->name : "");
	}
	check_judge(r, "no others");
}

static void
probe_threads(const struct machine *m, struct check_result *r)
{
	unsigned threads = machine_threads(m), cpus = m->facts->cpus.allowed_count;

	if (!threads || !cpus)
		check_unknown(r, "the number of CPUs is not known");
	else if (threads >= cpus && cpus > 1)
		check_finding(r, "%u I/O threads on %u CPUs leave none to the application",
			      threads, cpus);
	else
		check_ok(r, "%u I/O thread%s on %u CPUs", threads, threads == 1 ? "" : "s", cpus);
}

static void
probe_affinity(const struct machine *m, struct check_result *r)
{
	char list[128];

	if (!m->facts->cpus.count) {
		check_unknown(r, "the number of CPUs is not known");
		return;
	}
	tcpx_cpuset_format(&m->facts->cpus.allowed, list, sizeof(list));
	if (m->facts->cpus.allowed_count < m->facts->cpus.count)
		check_finding(r, "%u of %u: %s", m->facts->cpus.allowed_count, m->facts->cpus.count, list);
	else
		check_ok(r, "all %u", m->facts->cpus.count);
}

static void
probe_quota(const struct machine *m, struct check_result *r)
{
	long long quota, period;
	char text[64];

	if (tcpx_host_text_read(m->root, "/sys/fs/cgroup/cpu.max", text, sizeof(text)) <= 0)
		check_skip(r, "no cgroup here tells a quota");
	else if (sscanf(text, "%lld %lld", &quota, &period) != 2 || period <= 0)
		check_ok(r, "no quota");
	else if (quota < period * m->facts->cpus.allowed_count)
		check_finding(r, "time of %.1f CPUs on %u", (double)quota / (double)period,
			      m->facts->cpus.allowed_count);
	else
		check_ok(r, "time of %.1f CPUs", (double)quota / (double)period);
}

static void
probe_files(const struct machine *m, struct check_result *r)
{
	struct rlimit limit;

	if (!check_here(m, r))
		return;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		check_unknown(r, "getrlimit: %s", strerror(errno));
	else if (limit.rlim_cur < FILES_MIN)
		check_finding(r, "%llu, of at most %llu", (unsigned long long)limit.rlim_cur,
			      (unsigned long long)limit.rlim_max);
	else
		check_ok(r, "%llu", (unsigned long long)limit.rlim_cur);
}

static void
probe_kernel(const struct machine *m, struct check_result *r)
{
	unsigned major, minor, version;
	const char *release = m->topo->kernel;

	if (sscanf(release, "%u.%u", &major, &minor) != 2) {
		check_unknown(r, "/proc/sys/kernel/osrelease cannot be read");
		return;
	}
	version = major * 1000 + minor;
	if (version < 5004)
		check_finding(r, "%s is older than 5.4", release);
	else
		check_ok(r, "%s; by its version devmem TCP can %s", release,
			 version < 6012 ? "neither receive (6.12) nor send (6.16)" :
			 version < 6016 ? "receive, not send (6.16)" : "receive and send");
}

static int
try_bind(uint16_t port)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1, error = 0;

	if (fd < 0)
		return errno;
	/* Like the engine, so that lingering connections of an earlier one are no obstacle;
	 * listen() then finds a listener that did the same. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
	    bind(fd, (const struct sockaddr *)&any, sizeof(any)) < 0 || listen(fd, 1) < 0)
		error = errno;
	close(fd);
	return error;
}

static void
probe_port(const struct machine *m, struct check_result *r)
{
	uint16_t port;
	int error;

	if (!check_here(m, r))
		return;
	if (!m->cfg) {
		check_skip(r, "the settings are refused");
		return;
	}
	port = machine_port(m);
	error = port ? try_bind(port) : 0;
	if (error)
		check_finding(r, "TCPX_PORT %u: %s", port, strerror(error));
	else
		check_ok(r, port ? "TCPX_PORT %u" : "TCPX_PORT %u takes any", port);
}

static void
probe_port_range(const struct machine *m, struct check_result *r)
{
	uint16_t port = machine_port(m);
	unsigned first, last;
	char text[64];

	if (tcpx_host_text_read(m->root, "/proc/sys/net/ipv4/ip_local_port_range", text,
				sizeof(text)) <= 0 ||
	    sscanf(text, "%u %u", &first, &last) != 2 || last < first)
		check_unknown(r, "/proc/sys/net/ipv4/ip_local_port_range cannot be read");
	else if (last - first + 1 < PORTS_MIN)
		check_finding(r, "%u to %u are fewer than %d ports", first, last, PORTS_MIN);
	else if (port >= first && port <= last)
		check_finding(r, "TCPX_PORT %u is within %u to %u: any outgoing connection may "
			      "take it", port, first, last);
	else
		check_ok(r, "%u to %u", first, last);
}

static void
probe_irqbalance(const struct machine *m, struct check_result *r)
{
	const struct tcpx_maybe *balancer = &m->topo->irqbalance;

	if (!balancer->why)
		check_finding(r, "irqbalance is running and moves them every 10 s");
	else if (balancer->value < 0)
		check_unknown(r, "/proc: %s", balancer->why);
	else
		check_ok(r, "irqbalance is not running");
}

/* The visible signs of a container; NULL: none. */
static const char *
find_container(const struct machine *m)
{
	char text[64];

	if (tcpx_host_text_read(m->root, "/.dockerenv", text, sizeof(text)) >= 0)
		return "/.dockerenv";
	if (tcpx_host_text_read(m->root, "/run/.containerenv", text, sizeof(text)) != -ENOENT)
		return "/run/.containerenv";
	if (m->here && getenv("KUBERNETES_SERVICE_HOST"))
		return "KUBERNETES_SERVICE_HOST";
	return NULL;
}

static void
probe_container(const struct machine *m, struct check_result *r)
{
	const char *mark = find_container(m);
	unsigned hardware = 0;

	for (unsigned i = 0; i < m->nic_count; i++)
		hardware += m->nics[i].hardware;
	if (!mark)
		check_ok(r, "no sign of a container");
	else if (hardware)
		check_ok(r, "a container (%s) that sees hardware NICs: %u", mark, hardware);
	else
		check_finding(r, "a container (%s) that sees no hardware NIC", mark);
}

const struct check checks_system[] = {
	{ "settings", CHECK_ERROR, "Are the settings accepted?", probe_settings,
	  "tcpx info --config tells what is allowed." },
	{ "variables", CHECK_WARNING, "Is every TCPX_* variable one of ours?", probe_variables,
	  "A name that nobody reads has no effect: correct it or unset it." },
	{ "threads", CHECK_WARNING, "Is a CPU left beside the I/O threads?", probe_threads,
	  "Set TCPX_THREADS lower, or allow the process more CPUs." },
	{ "affinity", CHECK_NOTE, "May this process use all CPUs?", probe_affinity,
	  "If that is not meant, look at taskset, the cpuset cgroup and the job manager." },
	{ "quota", CHECK_WARNING, "Is CPU time unlimited?", probe_quota,
	  "A throttled process stalls for tens of milliseconds: raise the container's CPU "
	  "limit." },
	{ "files", CHECK_WARNING, "May 1024 files be open?", probe_files,
	  "ulimit -n 65536, or LimitNOFILE= of the service: every channel is a socket." },
	{ "kernel", CHECK_WARNING, "Is the kernel new enough?", probe_kernel,
	  "5.4 or newer is tested for." },
	{ "port", CHECK_ERROR, "Is the control port free?", probe_port,
	  "Another engine or program listens there (ss -ltnp): set TCPX_PORT, 0 for any." },
	{ "port-range", CHECK_WARNING, "Do local ports leave room and spare the control port?", probe_port_range,
	  "sysctl net.ipv4.ip_local_port_range='32768 60999', or reserve the port: "
	  "net.ipv4.ip_local_reserved_ports." },
	{ "irqbalance", CHECK_WARNING, "Do interrupts stay where they are put?", probe_irqbalance,
	  "Only matters if they are placed by hand: systemctl stop irqbalance, or ban the "
	  "NICs' interrupts from it." },
	{ "container", CHECK_WARNING, "Are the machine's NICs seen?", probe_container,
	  "Give the container the host's network (docker run --network host, hostNetwork: "
	  "true), or the NICs themselves." },
};

const size_t checks_system_count = ARRAY_LEN(checks_system);
