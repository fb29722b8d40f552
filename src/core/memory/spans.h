/* SPDX-License-Identifier: Apache-2.0 */
/* A list of copies that grows. All zeros: empty; the owner frees at. */
#ifndef CORE_MEMORY_SPANS_H
#define CORE_MEMORY_SPANS_H

#include <stdint.h>

#include "device/device.h"
#include "proto/frag.h"

struct span_list {
	struct tcpx_copy *at;
	uint32_t count, cap;
};

/* Adds the copies of len bytes between two walks of the same stream. 0, -ENOMEM, or TCPX_EFRAME when
 * one of the walks is too short; some may have been added then. */
int tcpx_spans_add(struct span_list *s, const struct tcpx_fraglist *src, uint64_t src_off,
		   const struct tcpx_fraglist *dst, uint64_t dst_off, uint64_t len);

#endif
