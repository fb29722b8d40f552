/* SPDX-License-Identifier: Apache-2.0 */
/* Reads sysfs: PCI paths, how near two of them are, and numbers. */
#ifndef COMPAT_PLACE_H
#define COMPAT_PLACE_H

#include <stddef.h>

/* How near a GPU and a NIC are; more is nearer. Each segment that both paths begin with counts
 * 100, each other segment of either -1. 0: a path is "". A path is like
 * "/pci0000:00/0000:00:01.0/0000:01:00.0". */
int path_score(const char *gpu, const char *nic);
/* Where @link points to below /sys/devices, as path_score() takes it; "" if nowhere there. */
void sysfs_path(const char *link, char *out, size_t cap);
/* A whole number in a file; @otherwise if there is none. */
int read_number(const char *path, int otherwise);

#endif
