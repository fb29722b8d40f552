/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((format(printf, 5, 6))) static void
log_line(int level, unsigned long flags, const char *file, int line, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	if (level != LOG_WARN && level != LOG_ABORT)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	fprintf(stderr, "%s\n", text);
}

void
plugin_settings(const char *mode)
{
	signal(SIGPIPE, SIG_IGN); /* a plugin's threads send to peers that may be gone */
	setenv("TCPX_EMU_MODE", mode, 1);
	setenv("NCCL_DYNAMIC_CHUNK_SIZE", "524288", 1);
	setenv("NCCL_NSOCKS_PERTHREAD", "4", 1);
	setenv("NCCL_SOCKET_NTHREADS", "1", 1);
	setenv("NCCL_GPUDIRECTTCPX_PROGRAM_FLOW_STEERING_WAIT_MICROS", "50000", 1);
}

const struct net_table *
plugin_load(const char *path, int *devices)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const struct net_table *net;
	struct net_props props;

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return NULL;
	}
	net = dlsym(library, "ncclNetPlugin_v7");
	if (!net || plugin_said("init", net->init(log_line)) < 0)
		return NULL;
	if (plugin_said("devices", net->devices(devices)) < 0 || *devices < 1)
		return NULL;
	for (int dev = 0; dev < *devices; dev++) {
		if (plugin_said("getProperties", net->get_properties(dev, &props)) < 0)
			return NULL;
		if (props.device_type != DEVICE_UNPACK || props.device_version != UNPACK_VERSION) {
			fprintf(stderr, "%s does not unpack as version 7 does\n", props.name);
			return NULL;
		}
	}
	return net;
}

int
plugin_said(const char *what, int result)
{
	if (result == 0)
		return 0;
	fprintf(stderr, "%s returned %d\n", what, result);
	return -1;
}
