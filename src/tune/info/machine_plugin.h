/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NCCL net plugin that an engine would load here. A plugin's init() may do anything:
 * start threads, make GPU contexts, end the process. So a child process loads it and
 * reports what it saw; if the child ends otherwise, that end is the report.
 */
#ifndef TUNE_INFO_MACHINE_PLUGIN_H
#define TUNE_INFO_MACHINE_PLUGIN_H

#include "net/plugin/plug.h"
#include "tune/info/machine.h"

#define MACHINE_PLUGIN_DEVICES 16

struct machine_plugin {
	bool found;
	int code;           /* of plug_open()                                      */
	char why[512];      /* why it is not loaded                                */
	char name[64];      /* the plugin's own name                               */
	char path[512];
	int abi;            /* 7: ncclNetPlugin_v7                                 */
	unsigned count;     /* of devices; at most those below are described       */
	bool unpacks;       /* at least one device does                            */
	struct plug_props device[MACHINE_PLUGIN_DEVICES];
};

/* @path: NULL: TCPX_PLUGIN_PATH, else where plug_open() looks. The process must not
 * have opened GPUs before: a child cannot use them after that. */
void machine_plugin_read(const struct machine *m, const char *path, struct machine_plugin *p);
/* True if @path or TCPX_PLUGIN_PATH names a plugin of this machine and @p was not found. */
bool machine_plugin_missed(const struct machine *m, const char *path,
			   const struct machine_plugin *p);
void machine_plugin_print(const struct machine_plugin *p);
json_t *machine_plugin_json(const struct machine_plugin *p);

#endif
