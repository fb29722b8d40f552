/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a plugin in a child process and reads its report. */
#include "tune/info/machine_plugin.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tool/out_text.h"
#include "tool/tool.h"

static void
look(const char *path, struct machine_plugin *p)
{
	struct plug *plug;
	unsigned i = 0;

	if (plug_open(path, &plug)) {
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

/* The plugin writes to stderr, since stdout has our table; the table reports a failure to load.
 * A plugin needs a chunk size and gets an engine's. It must not report this child to Google's
 * receive daemon, which ends with the last process that has reported to it. */
static void
child(const char *path, int fd)
{
	struct machine_plugin p = { 0 };

	dup2(STDERR_FILENO, STDOUT_FILENO);
	setenv("NCCL_DYNAMIC_CHUNK_SIZE", "524288", 0);
	setenv("NCCL_GPUDIRECTTCPX_REPORT_LIFECYCLE", "0", 1);
	if (!tcpx_log_on(TCPX_LOG_INFO, TCPX_SUB_NET))
		tcpx_log_sink(log_drop, NULL);
	look(path, &p);
	if (write(fd, &p, sizeof(p)) != (ssize_t)sizeof(p))
		_exit(TOOL_DENIED);
	_exit(TOOL_OK);
}

enum heard { HEARD_ALL, HEARD_END, HEARD_NOTHING };

static enum heard
listen_to(int fd, struct machine_plugin *p)
{
	uint64_t end = tcpx_clock_now(&tcpx_clock_system) + MACHINE_PLUGIN_MS * TCPX_MS;
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	char *at = (char *)p;
	size_t left = sizeof(*p);

	while (left) {
		uint64_t now = tcpx_clock_now(&tcpx_clock_system);
		ssize_t got;

		if (now >= end)
			return HEARD_NOTHING;
		if (poll(&pfd, 1, (int)((end - now) / TCPX_MS) + 1) <= 0)
			continue;
		got = read(fd, at, left);
		if (got <= 0)
			return HEARD_END;
		at += got;
		left -= (size_t)got;
	}
	return HEARD_ALL;
}

static void
say_end(int status, enum heard heard, struct machine_plugin *p)
{
	*p = (struct machine_plugin){ 0 };
	if (heard == HEARD_NOTHING)
		snprintf(p->why, sizeof(p->why), "the plugin's init() did not return within %d s",
			 MACHINE_PLUGIN_MS / 1000);
	else if (WIFSIGNALED(status))
		snprintf(p->why, sizeof(p->why), "the plugin ended the process that loaded it, by "
			 "signal %d (%s)",
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(p->why, sizeof(p->why), "the plugin ended the process that loaded it, with "
			 "exit code %d",
			 WEXITSTATUS(status));
}

static void
ask_child(const char *path, struct machine_plugin *p)
{
	int fds[2], status = 0;
	enum heard heard;
	pid_t pid;

	if (pipe(fds)) {
		snprintf(p->why, sizeof(p->why), "no pipe to a child: %s", strerror(errno));
		return;
	}
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		child(path, fds[1]);
	}
	close(fds[1]);
	if (pid > 0) {
		heard = listen_to(fds[0], p);
		if (heard != HEARD_ALL)
			kill(pid, SIGKILL); /* a child that is ending has its own status */
		waitpid(pid, &status, 0);
		if (heard != HEARD_ALL)
			say_end(status, heard, p);
	} else {
		snprintf(p->why, sizeof(p->why), "no child: %s", strerror(errno));
	}
	close(fds[0]);
}

void
machine_plugin_read(const struct machine *m, const char *path, struct machine_plugin *p)
{
	*p = (struct machine_plugin){ 0 };
	if (!m->here) {
		snprintf(p->why, sizeof(p->why), "%s is not this machine", m->root);
		return;
	}
	if (!path && m->cfg)
		path = tcpx_cfg_str(m->cfg, TCPX_SET_PLUGIN_PATH);
	ask_child(path, p);
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
		out_plain(stdout, p->why);
		printf("\n  so payload goes by provider sock, plain TCP\n");
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
			machine_json_text(p->device[i].name), "pci",
			machine_json_text(p->device[i].pci), "speed_mbps",
			(json_int_t)p->device[i].speed_mbps, "host", p->device[i].host, "gpu",
			p->device[i].gpu, "unpack", p->device[i].unpack));
	return json_pack("{s:o, s:o, s:o, s:o, s:i, s:o}", "missing",
			 p->found ? json_null() : machine_json_text(p->why), "name",
			 p->found ? machine_json_text(p->name) : json_null(), "path",
			 p->found ? machine_json_text(p->path) : json_null(), "abi",
			 p->found ? json_integer(p->abi) : json_null(), "device_count",
			 (int)p->count, "devices", devices);
}
