/* SPDX-License-Identifier: Apache-2.0 */
/* Names of libraries that may be the NCCL net plugin, by NCCL's rules and ours. No file is read. */
#ifndef NET_PLUGIN_FIND_H
#define NET_PLUGIN_FIND_H

#include <stdbool.h>

#define PLUG_NAMES      32  /* NCCL's list has at most 14 plugins, of two names each */
#define PLUG_NAME_BYTES 256

struct plug_names {
	const char *source; /* where the names are from: "TCPX_PLUGIN_PATH"         */
	int count;
	char name[PLUG_NAMES][PLUG_NAME_BYTES]; /* as dlopen() wants them, in order */
};

/*
 * plug_names_init - the names to try
 * @path: the caller's; @ours: TCPX_PLUGIN_PATH; @nccl: NCCL_NET_PLUGIN, a list between
 *        commas. The first of the three that is neither NULL nor "" counts; else the usual names.
 * A name without a slash that is no lib*.so is also tried as libnccl-net-NAME.so. Names that
 * are too long or too many are left out.
 * Return: 0; -ENODEV: the first is "none" (in any case): no plugin is wanted.
 */
int plug_names_init(struct plug_names *names, const char *path, const char *ours,
		    const char *nccl);

/* Whether it is a plugin of the GPUDirect-TCPX family, which needs NCCL_DYNAMIC_CHUNK_SIZE:
 * its own name or its file's name has "tcpx" in it, in any case. Either may be NULL. */
bool plug_is_tcpx(const char *name, const char *path);
/* NCCL_DYNAMIC_CHUNK_SIZE's text: a number in C's notation, 1 to 2^31 - 1. */
bool plug_chunk_is_set(const char *text);

#endif
