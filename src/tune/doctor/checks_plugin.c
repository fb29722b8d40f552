/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of GPUDirect-TCPX's requirements: kernel, NIC settings, plugin, receive daemon. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tune/doctor/checks.h"
#include "tune/doctor/klog.h"
#include "tune/info/machine_plugin.h"
#include "tool/tool.h"
#include "tune/facts/text.h"

#define DONTNEED_MAINLINE 80 /* SO_DEVMEM_DONTNEED since Linux 6.12                    */
#define DONTNEED_TCPX 97     /* of the kernel that GPUDirect-TCPX was made for         */
#define NAMES_BYTES (64u << 10)
#define LOG_BYTES (128u << 10)
#define PREFIX "/run/tcpx"

/* Does this kernel know the option? It is tried with a token that nobody has. */
static bool
takes_token(int option)
{
	const struct {
		unsigned start, count;
	} token = { 1, 1 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool taken = fd >= 0 && setsockopt(fd, SOL_SOCKET, option, &token, sizeof(token)) >= 0;

	if (fd >= 0)
		close(fd);
	return taken;
}

/* Judges by the kernel's log and build, for a machine that cannot be asked. */
static void
judge_kernel(const struct machine *m, struct check_result *r)
{
	char built = check_kernel_config(m, "CONFIG_NET_DEVMEM"), line[192];
	unsigned major = 0, minor = 0;
	char release[128], *log;
	const char *why;

	log = klog_read(m, &why);
	if (log && klog_next(log, "devmem", line, sizeof(line))) {
		check_ok(r, "the kernel's log: %s", line);
		free(log);
		return;
	}
	free(log);
	if (tcpx_host_text_read(m->root, "/proc/sys/kernel/osrelease", release, sizeof(release)) <= 0 ||
	    sscanf(release, "%u.%u", &major, &minor) != 2)
		check_unknown(r, "/proc/sys/kernel/osrelease cannot be read");
	else if (built == 'y')
		check_ok(r, "%s, CONFIG_NET_DEVMEM", release);
	else if (built == 'n')
		check_finding(r, "%s is built without CONFIG_NET_DEVMEM", release);
	else if (major * 1000 + minor < 6012)
		check_unknown(r, "%s is older than 6.12; one made for GPUDirect-TCPX says \"devmem-tcp "
			      "enabled\" in its log, which %s", release, log ? "does not say it" :
			      "cannot be read");
	else
		check_unknown(r, "%s may have it; /boot has no config of it", release);
}

static void
probe_devmem(const struct machine *m, struct check_result *r)
{
	bool mainline, tcpx;

	if (!m->here) {
		judge_kernel(m, r);
		return;
	}
	mainline = takes_token(DONTNEED_MAINLINE);
	tcpx = takes_token(DONTNEED_TCPX);
	if (tcpx)
		check_ok(r, "as GPUDirect-TCPX wants it (SO_DEVMEM_DONTNEED %d)", DONTNEED_TCPX);
	else if (mainline)
		check_ok(r, "of mainline (SO_DEVMEM_DONTNEED %d), which GPUDirect-TCPX cannot use",
			 DONTNEED_MAINLINE);
	else
		check_finding(r, "the kernel knows SO_DEVMEM_DONTNEED neither as %d nor as %d",
			      DONTNEED_MAINLINE, DONTNEED_TCPX);
}

/* ---- NICs ---------------------------------------------------------------------------------- */

/* A setting of each GPU's NICs must be @want. */
static void
judge_switch(const struct machine *m, enum tcpx_nicset set, int64_t want, struct check_result *r)
{
	const char *why = "the NICs cannot be read";
	struct tcpx_roles roles;
	unsigned known = 0;

	if (!m->facts->gpu_count) {
		check_skip(r, "no GPU on the PCI bus");
		return;
	}
	machine_roles_by_gpu(m, NULL, &roles);
	for (unsigned i = 0; i < roles.count; i++) {
		const struct tcpx_topo_nic *nic = tcpx_topo_nic_find(m->topo, roles.data[i]->ifname);

		if (!nic || nic->set[set].why) {
			why = nic ? nic->set[set].why : why;
			continue;
		}
		known++;
		if (nic->set[set].value != want)
			check_add(r, "%s", nic->nic->name);
	}
	if (!roles.count)
		check_skip(r, "no NIC is chosen");
	else if (known)
		check_judge(r, "on %u NIC%s next to GPUs", known, known == 1 ? "" : "s");
	else
		check_unknown(r, "%s: %s", tcpx_nicset_name(set), why);
}

static void
probe_split(const struct machine *m, struct check_result *r)
{
	judge_switch(m, TCPX_NICSET_DATA_SPLIT, 2, r);
}

static void
probe_ntuple(const struct machine *m, struct check_result *r)
{
	judge_switch(m, TCPX_NICSET_NTUPLE, 1, r);
}

/* ---- the plugin ---------------------------------------------------------------------------- */

/* The directories of Google's installers, in search order. */
static const char *const places[] = {
	"/usr/local/tcpx/lib64/libnccl-net-tcpx.so", "/usr/local/tcpx/lib64/libnccl-net.so",
	"/usr/local/nvidia/lib64/libnccl-net-tcpx.so", "/var/lib/tcpx/lib64/libnccl-net.so",
	"/var/lib/tcpx/lib64/libnccl-net-tcpx.so",
};

static bool
readable(const struct machine *m, const char *path, int *rc)
{
	char byte[2];

	*rc = tcpx_host_text_read(m->root, path, byte, sizeof(byte));
	return *rc >= 0 || *rc == -EFBIG;
}

static bool
wants_plugin(const struct machine *m)
{
	return m->cfg && !strcmp(machine_provider(m), "tcpx");
}

static void
judge_file(const struct machine *m, const char *path, struct check_result *r)
{
	bool noexec;
	int rc;

	if (!readable(m, path, &rc))
		check_finding(r, "%s: %s", path, strerror(-rc));
	else if (!check_mounted(m, path, "noexec", &noexec))
		check_unknown(r, "%s: /proc/self/mountinfo cannot be read", path);
	else if (noexec)
		check_finding(r, "%s is on a mount with noexec: it cannot be loaded", path);
	else
		check_ok(r, "%s", path);
}

static void
probe_file(const struct machine *m, struct check_result *r)
{
	const char *named = m->cfg ? tcpx_cfg_str(m->cfg, TCPX_SET_PLUGIN_PATH) : "";
	int rc;

	if (*named == '/') {
		judge_file(m, named, r);
		return;
	}
	if (*named) {
		check_skip(r, "%s is looked for by the loader", named);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		if (!readable(m, places[i], &rc) && rc != -EACCES)
			continue;
		judge_file(m, places[i], r);
		return;
	}
	if (wants_plugin(m))
		check_finding(r, "none is named, and none lies where Google's installer puts it");
	else
		check_skip(r, "none is named or installed");
}

static void
probe_plugin(const struct machine *m, struct check_result *r)
{
	const char *named = m->cfg ? tcpx_cfg_str(m->cfg, TCPX_SET_PLUGIN_PATH) : "";
	const char *nccl = m->here ? getenv("NCCL_NET_PLUGIN") : NULL;
	struct machine_plugin *p;

	if (!check_here(m, r))
		return;
	if (!*named && !(nccl && *nccl) && !wants_plugin(m)) {
		check_skip(r, "none is named");
		return;
	}
	p = malloc(sizeof(*p));
	if (!p)
		return check_unknown(r, "no memory");
	machine_plugin_read(m, NULL, p);
	if (p->code == -ENODEV && !*named)
		check_skip(r, "%s", p->why);
	else if (!p->found)
		check_finding(r, "%s", p->why);
	else if (!p->count)
		check_finding(r, "%s, interface v%d, has no device", p->name, p->abi);
	else
		check_ok(r, "%s, interface v%d, %u devices%s", p->name, p->abi, p->count,
			 p->unpacks ? ", unpack" : "");
	free(p);
}

/* ---- the receive daemon -------------------------------------------------------------------- */

static bool
has_name(const char *names, const char *want)
{
	for (; *names; names += strlen(names) + 1)
		if (!strcasecmp(names, want))
			return true;
	return false;
}

/* Our own engines have their sockets, "PID-ID.sock", in a directory of the same name. */
static bool
only_ours(const char *names)
{
	for (; *names; names += strlen(names) + 1)
		if (names[strspn(names, "0123456789")] != '-' || strlen(names) < 6 ||
		    strcmp(names + strlen(names) - 5, ".sock"))
			return false;
	return true;
}

static const char *
daemon_dir(const struct machine *m)
{
	const char *dir = m->here ? getenv("NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX") : NULL;

	return dir && *dir ? dir : PREFIX;
}

/* A socket file stays when its process ends: the kernel's list has the open ones. */
static bool
is_open(const struct machine *m, const char *dir, const char *name, bool *known)
{
	char *list = malloc(1 << 20), path[512];
	bool found = false;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	*known = list && tcpx_host_text_read(m->root, "/proc/net/unix", list, 1 << 20) > 0;
	for (const char *at = *known ? list : NULL; at && (at = strstr(at, path)) != NULL; at++)
		found |= at[strlen(path)] == '\n' || !at[strlen(path)];
	free(list);
	return found;
}

static void
probe_daemon(const struct machine *m, struct check_result *r)
{
	static const char *const wanted[] = { "rx_rule_manager", "rx_rule_uninstall" };
	const char *dir = daemon_dir(m);
	char *names = malloc(NAMES_BYTES);
	bool known;
	int rc;

	if (!names)
		return check_unknown(r, "no memory");
	rc = tcpx_host_names_read(m->root, dir, names, NAMES_BYTES);
	if (rc < 0) {
		if (rc == -ENOENT && !wants_plugin(m) && !strcmp(dir, PREFIX))
			check_skip(r, "no %s, and no plugin is named", dir);
		else if (rc == -EACCES)
			check_unknown(r, "%s: %s", dir, strerror(-rc));
		else
			check_finding(r, "%s: %s", dir, strerror(-rc));
		free(names);
		return;
	}
	if (only_ours(names) && !wants_plugin(m) && !strcmp(dir, PREFIX)) {
		check_skip(r, "%s has nothing of it, and no plugin is named", dir);
		free(names);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		if (!has_name(names, wanted[i]))
			check_add(r, "%s/%s is missing", dir, wanted[i]);
		else if (!is_open(m, dir, wanted[i], &known) && known)
			check_add(r, "%s/%s is left over: nobody listens", dir, wanted[i]);
	}
	for (unsigned i = 0; i < m->facts->gpu_count; i++) {
		char want[64];

		snprintf(want, sizeof(want), "get_gpu_fd_%s", m->facts->gpus[i].place.pci);
		if (!has_name(names, want))
			check_add(r, "%s is missing", want);
	}
	check_judge(r, "%s, sockets for %u GPUs", dir, m->facts->gpu_count);
	free(names);
}

/* "E1012 ...", "F1012 ..." of its log library, or words; containers put more before it. */
static bool
is_error(const char *line)
{
	for (const char *at = line; *at; at++)
		if ((*at == 'E' || *at == 'F') && strspn(at + 1, "0123456789") == 4 && at[5] == ' ' &&
		    (at == line || strchr(" \"\t", at[-1])))
			return true;
	return strstr(line, "ERROR") || strstr(line, "FATAL") || strcasestr(line, "no space in rule");
}

static unsigned
scan_log(const struct machine *m, const char *path, char *last, size_t cap)
{
	char *text = malloc(LOG_BYTES);
	unsigned count = 0;

	if (text && tcpx_host_tail_read(m->root, path, text, LOG_BYTES) > 0) {
		char *rest = text, *line;

		while ((line = strsep(&rest, "\n"))) {
			if (!is_error(line))
				continue;
			count++;
			snprintf(last, cap, "%s", line);
		}
	}
	free(text);
	return count;
}

static void
probe_daemon_log(const struct machine *m, struct check_result *r)
{
	const char *const dirs[] = { daemon_dir(m), "/var/log/tcpx", "/var/log/rxdm",
				     "/var/log/containers" };
	unsigned files = 0;
	char *names = malloc(NAMES_BYTES);

	for (size_t i = 0; names && i < ARRAY_LEN(dirs); i++) {
		if (tcpx_host_names_read(m->root, dirs[i], names, NAMES_BYTES) < 0)
			continue;
		for (const char *name = names; *name; name += strlen(name) + 1) {
			const char *end = strrchr(name, '.');
			char path[600], last[160];
			unsigned n;

			if (!end || strcmp(end, ".log") ||
			    (i == 3 && !strstr(name, "tcpx-daemon") && !strstr(name, "rxdm")))
				continue;
			files++;
			snprintf(path, sizeof(path), "%s/%s", dirs[i], name);
			n = scan_log(m, path, last, sizeof(last));
			if (n)
				check_add(r, "%s: %u, the last: %s", path, n, last);
		}
	}
	free(names);
	if (files)
		check_judge(r, "none in %u file%s", files, files == 1 ? "" : "s");
	else if (wants_plugin(m))
		check_unknown(r, "no log of it is found in %s, /var/log/tcpx, /var/log/rxdm or "
			      "/var/log/containers", dirs[0]);
	else
		check_skip(r, "it has no log here");
}

const struct check checks_plugin[] = {
	{ "devmem", CHECK_NOTE, "Does the kernel receive into memory of devices?", probe_devmem,
	  "GPUDirect-TCPX needs the kernel of Google's A3-high images; without, tcpx moves payload by "
	  "provider sock." },
	{ "hdr-split", CHECK_WARNING, "Do the GPUs' NICs split headers from data?", probe_split,
	  "ethtool -G NIC tcp-data-split on; without it packets land in host memory (tcpx doctor "
	  "--explain rx-no-cmsg)." },
	{ "ntuple", CHECK_WARNING, "Do the GPUs' NICs take flow rules?", probe_ntuple,
	  "ethtool -K NIC ntuple on; the receive daemon puts its rules there." },
	{ "plugin-file", CHECK_ERROR, "Can the plugin's file be loaded?", probe_file,
	  "Name it by TCPX_PLUGIN_PATH; mount its directory without noexec "
	  "(mount -o remount,exec DIR)." },
	{ "plugin", CHECK_ERROR, "Does the plugin load?", probe_plugin,
	  "tcpx info --plugin FILE tells more; TCPX_DEBUG=INFO TCPX_DEBUG_SUBSYS=NET shows what the "
	  "plugin says." },
	{ "rxdm", CHECK_ERROR, "Is the receive daemon (RxDM) there?", probe_daemon,
	  "Start it before the job, with the same directory as "
	  "NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX, and let containers have that directory." },
	{ "rxdm-log", CHECK_WARNING, "Has the receive daemon had no errors?", probe_daemon_log,
	  "Restart it when no job runs; rules that it could not place mean rx no cmsg." },
};

const size_t checks_plugin_count = ARRAY_LEN(checks_plugin);
