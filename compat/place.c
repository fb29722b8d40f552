/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which channel runs on which NIC, and how near that is to the GPU: by the PCI paths that
 * sysfs shows.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "compat.h"

enum { CHANNELS_MAX = 512, NICS_MAX = 64 };

#define DEVICES "/sys/devices"

void
sysfs_path(const char *link, char *out, size_t cap)
{
	char path[PATH_MAX];
	bool found = realpath(link, path) && !strncmp(path, DEVICES "/", sizeof(DEVICES));

	snprintf(out, cap, "%s", found ? path + sizeof(DEVICES) - 1 : "");
}

/* Of a path that begins with '/'. */
static size_t
segment_len(const char *path)
{
	return *path ? 1 + strcspn(path + 1, "/") : 0;
}

static int
segments(const char *path)
{
	int n = 0;

	for (; *path; path += segment_len(path))
		n++;
	return n;
}

int
path_score(const char *gpu, const char *nic)
{
	int shared = 0;

	if (!*gpu || !*nic)
		return 0;
	while (*gpu && segment_len(gpu) == segment_len(nic) &&
	       !memcmp(gpu, nic, segment_len(gpu))) {
		size_t len = segment_len(gpu);

		gpu += len;
		nic += len;
		shared++;
	}
	return shared * 100 - segments(gpu) - segments(nic);
}

static int
read_number(const char *path, int otherwise)
{
	FILE *f = fopen(path, "re");
	int v = otherwise;

	if (f && fscanf(f, "%d", &v) != 1)
		v = otherwise;
	if (f)
		fclose(f);
	return v;
}

static void
print_channel(struct link *l, const struct tcpx_channel_info *c, const struct tcpx_nic_info *nics,
	      size_t count, const char *gpu_path, int gpu_numa)
{
	char link[96], path[PATH_MAX];
	const char *pci;
	size_t dev = 0;
	int numa;

	while (dev < count && strcmp(nics[dev].name, c->nic))
		dev++;
	numa = dev < count ? nics[dev].numa : -1;
	snprintf(link, sizeof(link), "/sys/class/net/%.32s/device", c->nic);
	sysfs_path(link, path, sizeof(path));
	pci = strrchr(path, '/') ? strrchr(path, '/') + 1 : "none";
	fprintf(l->out, "[ChannelManager] Channel %u -> netDev %zu (%s, PCI=%s, score=%d, numa=%d%s)\n",
		c->index, dev, c->nic, pci, path_score(gpu_path, path), numa,
		numa >= 0 && numa == gpu_numa ? ", numa-match" : "");
}

unsigned
print_channels(struct link *l, int gpu)
{
	struct tcpx_channel_info *c = calloc(CHANNELS_MAX, sizeof(*c));
	struct tcpx_nic_info *nics = calloc(NICS_MAX, sizeof(*nics));
	char gpu_path[PATH_MAX] = "", pci[32], link[128];
	size_t count = CHANNELS_MAX, nic_count = NICS_MAX;
	int gpu_numa = -1;
	unsigned printed = 0;

	if (gpu >= 0 && !driver_pci((unsigned)gpu, pci)) {
		snprintf(link, sizeof(link), "/sys/bus/pci/devices/%s", pci);
		sysfs_path(link, gpu_path, sizeof(gpu_path));
		snprintf(link, sizeof(link), "/sys/bus/pci/devices/%s/numa_node", pci);
		gpu_numa = read_number(link, -1);
	}
	if (!c || !nics || tcpx_query_channels(l->engine, c, &count) ||
	    tcpx_query_nics(l->engine, nics, &nic_count))
		count = 0;
	count = count < CHANNELS_MAX ? count : CHANNELS_MAX;
	nic_count = nic_count < NICS_MAX ? nic_count : NICS_MAX;
	for (size_t i = 0; i < count; i++) {
		if (!c[i].up || !!c[i].sending == l->run->server)
			continue;
		print_channel(l, &c[i], nics, nic_count, gpu_path, gpu_numa);
		printed++;
	}
	free(c);
	free(nics);
	return printed;
}
