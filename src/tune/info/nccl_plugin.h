/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our plugin for NCCL, as NCCL finds it: each part of NCCL_NET_PLUGIN, between commas, is tried as a
 * file, then as libnccl-net-TEXT.so of the loader's path.
 */
#ifndef TUNE_INFO_NCCL_PLUGIN_H
#define TUNE_INFO_NCCL_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>

#define NCCL_PLUGIN      "libnccl-net-tcpx-p2p.so"
#define NCCL_PLUGIN_NAME "tcpx-p2p"

struct nccl_plugin {
	bool loads, ours, starts; /* starts: its init() succeeds with this environment */
	int oldest, newest; /* of its tables ncclNetPlugin_v*; 0: none */
	char name[256];     /* the part of the value that this is about   */
	char before[256];   /* a part in front of ours that has a table; "" none */
	char path[512];     /* of the file                            */
	char why[512];      /* it does not load or start: the loader's words or its own */
};

/* Loads what NCCL would for this value, and starts ours, in a child process. Of several parts it is
 * about ours, else about one that looks like it, else about the first. */
void nccl_plugin_ask(const char *value, struct nccl_plugin *out);

/* Whether somebody who writes this means our plugin: its name misspelt, or its folder. */
bool nccl_plugin_meant(const char *name);

/* The file where a build, `make install` or a package puts it, seen from this program; false: none. */
bool nccl_plugin_file(char *file, size_t cap);

#endif
