/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our plugin for NCCL, as NCCL finds it: NCCL_NET_PLUGIN is tried as a file, then as
 * libnccl-net-TEXT.so of the loader's path.
 */
#ifndef TOOL_NCCL_PLUGIN_H
#define TOOL_NCCL_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>

#define NCCL_PLUGIN      "libnccl-net-tcpx-p2p.so"
#define NCCL_PLUGIN_NAME "tcpx-p2p"

struct nccl_plugin {
	bool loads, ours;
	int oldest, newest; /* of its tables ncclNetPlugin_v*; 0: none */
	char path[512];     /* of the file                            */
	char why[512];      /* it does not load: the loader's words   */
};

/* Loads what NCCL would for this value, in a child process. */
void nccl_plugin_ask(const char *value, struct nccl_plugin *out);

/* The file where a build, `make install` or a package puts it, seen from this program; false: none. */
bool nccl_plugin_file(char *file, size_t cap);

#endif
