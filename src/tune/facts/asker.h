/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to the running kernel about NICs that no file answers: generic netlink where
 * the kernel has the family, else ioctl. Below another root nothing can be asked.
 */
#ifndef TUNE_FACTS_ASKER_H
#define TUNE_FACTS_ASKER_H

#include "tune/facts/genl.h"

struct tcpx_asker {
	struct tcpx_genl genl; /* fd -1: none                               */
	int ioctl_fd;          /* -1: none                                  */
	int ethtool, netdev;   /* family numbers, or -errno with the reason */
};

/* Cannot fail: a missing part has its reason. */
void tcpx_asker_open(const char *root, struct tcpx_asker *a);
void tcpx_asker_close(struct tcpx_asker *a);

/* One "get" of the ethtool family about an interface. 0 or -errno. */
TCPX_MUST_CHECK int tcpx_asker_ethtool(struct tcpx_asker *a, uint8_t command, unsigned ifindex,
				       tcpx_genl_fn fn, void *arg);
/* A request of linux/ethtool.h, which the answer overwrites. 0 or -errno. */
TCPX_MUST_CHECK int tcpx_asker_ioctl(const struct tcpx_asker *a, const char *ifname,
				     void *request);
/* All queues (TCPX_NETDEV_QUEUE_GET) or NAPIs (TCPX_NETDEV_NAPI_GET) of an interface. */
TCPX_MUST_CHECK int tcpx_asker_netdev(struct tcpx_asker *a, uint8_t command, unsigned ifindex,
				      tcpx_genl_fn fn, void *arg);

/* linux/netdev.h, which headers of older kernels lack (the family came with 6.7). */
enum {
	TCPX_NETDEV_QUEUE_GET = 10, TCPX_NETDEV_NAPI_GET = 11,
	TCPX_NETDEV_QUEUE_ID = 1, TCPX_NETDEV_QUEUE_IFINDEX = 2, TCPX_NETDEV_QUEUE_TYPE = 3,
	TCPX_NETDEV_QUEUE_NAPI = 4,
	TCPX_NETDEV_NAPI_IFINDEX = 1, TCPX_NETDEV_NAPI_ID = 2, TCPX_NETDEV_NAPI_IRQ = 3,
	TCPX_NETDEV_NAPI_PID = 4,
};

#endif
