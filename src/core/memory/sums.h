/* SPDX-License-Identifier: Apache-2.0 */
/* What the GPU sums behind the copies of a batch. */
#ifndef CORE_MEMORY_SUMS_H
#define CORE_MEMORY_SUMS_H

#include <stdint.h>

#include "device/device.h"
#include "proto/frag.h"

#define BATCH_ITEMS 64

/* All zeros: empty; the owner frees at. */
struct sum_list {
	struct tcpx_summed *at;
	uint32_t count, cap;
	uint32_t sum[BATCH_ITEMS]; /* of each item; right when the device is done */
};

/* The @len bytes behind @off are item @of. 0, -ENOMEM, or TCPX_EFRAME where there are fewer; some
 * may have been added then. */
int tcpx_sums_add(struct sum_list *s, uint32_t of, const struct tcpx_fraglist *list, uint64_t off,
		  uint64_t len);

#endif
