/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Common parts of the tests of the GPU device: the software driver, an application with GPU
 * memory, random batches, and a check of their results.
 */
#ifndef DEVICE_CUDA_RIG_H
#define DEVICE_CUDA_RIG_H

#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "device/cuda_api.h"
#include "device/device.h"
#include "fake/fakecuda.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define USER_BYTES   (4u << 20) /* on the GPU                      */
#define SLOTS_BYTES  (4u << 20) /* pinned                          */
#define LIST_MAX     4096

#define MEMBER(result, name, params) result(*name) params;
struct hooks {
	FAKECUDA_HOOKS(MEMBER)
};
#undef MEMBER

struct rig {
	struct tcpx_cuda_api cu;   /* the application's own use of the driver */
	CUcontext app;             /* of GPU 0, current in this thread        */
	struct tcpx_device *dev;
	struct tcpx_clock clock;   /* of now_ns                               */
	uint64_t now_ns;
	uint8_t *user, *slots;     /* the driver is in software: both can be read here */
	uint8_t *want;             /* what the destination shall hold         */
	struct tcpx_rng rng;
	struct tcpx_copy list[LIST_MAX];
	size_t count;
};

extern struct hooks fakecuda;
extern const struct tcpx_device_ops *const gpu; /* the operations under test */

/* The path of the software driver. */
const char *rig_library(void);
struct rig *rig_open(enum tcpx_unpack_impl impl);
/* Also: the application's context is current, nothing was left, no mistake was made. */
void rig_close(struct rig *r);
/* Only the application's own things; what else lives is nobody's business. */
void rig_abandon(struct rig *r);
/* With memory, but without a device. */
struct rig *rig_open_bare(void);
int rig_device(struct rig *r, enum tcpx_unpack_impl impl);

/* Returns a queue on GPU 0. */
struct tcpx_queue *rig_queue(struct rig *r, enum tcpx_flow flow);

/* A batch of @flow, pieces of min..max bytes; what it shall do goes to r->want. Pieces lie
 * side by side in the slots if @dense, and anywhere in user memory. */
void rig_batch(struct rig *r, enum tcpx_flow flow, uint64_t min, uint64_t max, size_t count,
	       bool dense);
/* One piece of the first bytes. */
void rig_single(struct rig *r, enum tcpx_flow flow, uint64_t len);
/* The destination is what it shall be. */
void rig_check(struct rig *r, enum tcpx_flow flow);
void rig_context_is_kept(struct rig *r);

#endif
