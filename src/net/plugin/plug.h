/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A NCCL net plugin of any version as one set of functions. It is found as NCCL finds it and
 * initialised once a process. Its table, v6 to v12, is adapted to this interface and never cast
 * to another version. Nothing here waits: -EAGAIN means "not yet". One thread at a time drives a
 * comm. The rules and their sources: docs/plugins.md.
 */
#ifndef NET_PLUGIN_PLUG_H
#define NET_PLUGIN_PLUG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define PLUG_HANDLE_BYTES 128
#define PLUG_REQUESTS     16   /* most of a comm, done but unconsumed receives included  */

struct plug;        /* the loaded plugin; one a process and library                      */

struct plug_props {
	char name[32];      /* of the NIC                                                */
	char pci[64];       /* PCI address, the last part of the sysfs path; "" none     */
	uint32_t speed_mbps;
	bool unpack;        /* payload lands in bounce pages: device handle, consumed()  */
	bool gpu, host;     /* kinds of memory it takes                                  */
	uint32_t recvs_max; /* a group of irecv()                                        */
	uint32_t size_max;  /* of a message                                              */
	uint32_t requests_max; /* of a comm, at once: PLUG_REQUESTS; of a plugin v6 8    */
};

/*
 * plug_open - load, look up, initialise
 * @path: a library's path or name; NULL or "": TCPX_PLUGIN_PATH, NCCL_NET_PLUGIN (a list;
 *        "none": -ENODEV), then libnccl-net.so and where Google's is installed
 * Opening the same library again returns the same plugin and counts its users. The library is
 * never unloaded: its threads may live on. A failure of init() is final for the process.
 * Any thread; takes as long as the plugin's init().
 * Return: 0; -ENOENT: no such library; -ELIBBAD: not a plugin of v6 to v12, or its init
 * failed; -ENODEV: none is wanted, or the one that is named is our own, or has no device; -EINVAL: NCCL_DYNAMIC_CHUNK_SIZE unset or 0 for a plugin
 * of the TCPX family, decided before init(). Each failure is logged in one line with the names
 * that were tried.
 */
TCPX_MUST_CHECK int plug_open(const char *path, struct plug **plug);
/* After its comms and listeners are closed. NULL is ignored. */
void plug_close(struct plug *p);

const char *plug_name(const struct plug *p);    /* its own name: "GPUDirectTCPX_v7"       */
const char *plug_path(const struct plug *p);
int plug_abi(const struct plug *p);             /* 6 .. 12                                */
int plug_devices(const struct plug *p);
TCPX_MUST_CHECK int plug_properties(struct plug *p, int dev, struct plug_props *out);

#endif
