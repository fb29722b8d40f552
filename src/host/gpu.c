/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs on the PCI bus. No driver is needed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "host/cpu.h"
#include "host/io.h"
#include "host/place.h"

#define VENDOR_NVIDIA 0x10de
#define CLASS_VGA 0x0300 /* the upper 16 bits of class */
#define CLASS_3D 0x0302

static long long
read_id(const char *root, const char *dir, const char *file)
{
	char path[512];
	long long v;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return tcpx_io_read_number(root, path, &v) < 0 ? -1 : v;
}

static bool
is_gpu(const char *root, const char *dir)
{
	long long class = read_id(root, dir, "class");

	return (class >> 8 == CLASS_VGA || class >> 8 == CLASS_3D) &&
	       read_id(root, dir, "vendor") == VENDOR_NVIDIA;
}

int
tcpx_host_gpus(const char *root, struct tcpx_host_gpu *out, unsigned cap, unsigned *count)
{
	struct tcpx_host_cpus *cpus;
	struct tcpx_io_names names;
	unsigned found = 0;

	if (tcpx_io_list(root, "/sys/bus/pci/devices", &names) < 0) {
		*count = 0;
		return 0;
	}
	cpus = calloc(1, sizeof(*cpus));
	if (!cpus) {
		tcpx_io_names_free(&names);
		return tcpx_fail(TCPX_SUB_HOST, -ENOMEM, "list GPUs");
	}
	tcpx_cpu_nodes_read(root, cpus);
	for (unsigned i = 0; i < names.count && found < cap; i++) {
		char dir[320];

		snprintf(dir, sizeof(dir), "/sys/bus/pci/devices/%s", names.entry[i]->d_name);
		if (!is_gpu(root, dir))
			continue;
		out[found].device = (uint32_t)read_id(root, dir, "device");
		tcpx_place_read(root, dir, cpus, &out[found].place);
		found++;
	}
	free(cpus);
	tcpx_io_names_free(&names);
	*count = found;
	return 0;
}
