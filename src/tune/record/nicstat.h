/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of a NIC: the kernel's for every interface (sys/class/net/IF/statistics), and the
 * driver's own (ethtool statistics: "rx_devmem_pkts" and the like).
 *
 * Below another root the driver's come from the file "counters", one "NIC NAME VALUE" a line.
 */
#ifndef TUNE_RECORD_NICSTAT_H
#define TUNE_RECORD_NICSTAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "tune/facts/asker.h"

#define TCPX_NICSTAT_MAX 16384 /* of one NIC */

struct tcpx_nicstat {
	char name[33];  /* the kernel's names of statistics have 32 bytes */
	bool driver;    /* the driver's own                               */
	uint64_t value;
};

/*
 * tcpx_nicstat_read - all counters of an interface
 * @out: heap, the caller's: the kernel's, then the driver's in its order
 * @why: static: why there are none of the driver; NULL: there are
 * Return: 0, also without any counter; -ENOMEM, logged.
 */
TCPX_MUST_CHECK int tcpx_nicstat_read(const char *root, const struct tcpx_asker *a,
				      const char *ifname, struct tcpx_nicstat **out,
				      unsigned *count, const char **why);

/* NULL: none. The kernel's come first. */
const struct tcpx_nicstat *tcpx_nicstat_find(const struct tcpx_nicstat *stats, unsigned count,
					     const char *name);

#endif
