/* SPDX-License-Identifier: Apache-2.0 */
/* The NICs that an engine finds here, as devices with a number, and the GPUs beside them. */
#include <limits.h>
#include <string.h>

#include "pair.h"

enum { MAX = 64 };

static size_t
print_nics(tcpx_engine *engine)
{
	struct tcpx_nic_info nic[MAX];
	char link[96], path[PATH_MAX];
	size_t count = MAX;

	if (tcpx_query_nics(engine, nic, &count))
		return 0;
	printf("[TCPX] Found %zu TCPX devices\n", count);
	for (size_t i = 0; i < count && i < MAX; i++) {
		snprintf(link, sizeof(link), "/sys/class/net/%.32s/device", nic[i].name);
		sysfs_path(link, path, sizeof(path));
		printf("[TCPX] Device %zu: name=%s addr=%s speed=%u pci=%s numa=%d\n", i,
		       nic[i].name, nic[i].addr, nic[i].gbps * 1000, *path ? path : "none",
		       nic[i].numa);
	}
	return count;
}

static void
print_gpus(void)
{
	char why[64] = "", pci[32];
	unsigned gpu = 0;

	for (; gpu < MAX && !driver_open(gpu, why, sizeof(why)); gpu++)
		printf("[TCPX] GPU %u: pci=%s\n", gpu, driver_pci(gpu, pci) ? "unknown" : pci);
	if (!gpu)
		printf("[TCPX] %s\n", why);
}

int
main(int argc, char **argv)
{
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	struct pair p = { .tag = "TCPX" };
	int rc = pair_args(argc, argv, "Shows the NICs and GPUs that are found here.\n");

	if (rc)
		return rc < 0 ? 0 : rc;
	opts.listen = "0";
	rc = tcpx_open(&opts, &p.server);
	if (pair_check(&p, !rc, "an engine starts: %s", tcpx_strerror_name(rc)))
		pair_check(&p, print_nics(p.server) > 0, "there is a device");
	print_gpus();
	return pair_end(&p);
}
