/* SPDX-License-Identifier: Apache-2.0 */
/* Which libraries may be the plugin, by NCCL's rules and ours. Looks at no file. */
#ifndef NET_PLUG_FIND_H
#define NET_PLUG_FIND_H

#include <stdbool.h>

#define PLUG_NAMES      32  /* NCCL's list has at most 14 plugins, of two names each */
#define PLUG_NAME_BYTES 256

struct plug_names {
	const char *source; /* who said so, for people: "TCPX_PLUGIN_PATH"          */
	int count;
	char name[PLUG_NAMES][PLUG_NAME_BYTES]; /* as dlopen() wants them, in order */
};

/*
 * plug_names_init - the names to try
 * @path: the caller's; @ours: TCPX_PLUGIN_PATH; @nccl: NCCL_NET_PLUGIN, a list between
 *        commas. The first that is neither NULL nor "" counts; without one the usual names.
 * A name without a slash that is no lib*.so is also tried as libnccl-net-NAME.so. What is
 * too long, and what is too many, is left out.
 * Return: 0; -ENODEV: "none" (in any case), so there shall be no plugin.
 */
int plug_names_init(struct plug_names *names, const char *path, const char *ours,
		    const char *nccl);

/* Plugins of the GPUDirect-TCPX family, which need NCCL_DYNAMIC_CHUNK_SIZE: the name they
 * give themselves, or their file's name, has "tcpx" in it, in any case. Either may be NULL. */
bool plug_is_tcpx(const char *name, const char *path);
/* NCCL_DYNAMIC_CHUNK_SIZE's text: a number in C's notation, 1 to 2^31 - 1. */
bool plug_chunk_is_set(const char *text);

#endif
