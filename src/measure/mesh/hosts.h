/* SPDX-License-Identifier: Apache-2.0 */
/* Slurm's lists of hosts, "a3-[0-3,07],login,rack[1-2]n[0-1]", as single names. */
#ifndef MEASURE_MESH_HOSTS_H
#define MEASURE_MESH_HOSTS_H

#include <stddef.h>

enum { MESH_HOST = 256, MESH_HOSTS_MAX = 4096 };

struct mesh_hosts {
	char (*name)[MESH_HOST]; /* owned */
	size_t count;
};

/* 0; -EINVAL: not such a list; -E2BIG: more than MESH_HOSTS_MAX, or a name that does not fit;
 * -ENOMEM. Not logged; *hosts is empty then. Numbers keep their leading zeros. */
int mesh_hosts_parse(const char *text, struct mesh_hosts *hosts);
void mesh_hosts_fini(struct mesh_hosts *hosts);

#endif
