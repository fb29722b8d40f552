/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GPU that hangs says nothing. It is late when it has finished no copy for half of the stall
 * deadline, so that what waits behind its copies can still move in time. Its copies end with -EIO
 * then; but it may carry them out at any time, so the buffers in them are not used again before.
 * Pure but for the counters, and for the look at a small copy.
 */
#ifndef CORE_MEMORY_LATE_H
#define CORE_MEMORY_LATE_H

#include <stdbool.h>
#include <stdint.h>

#include "device/device.h"

struct copy_client;
struct gpus;
struct small_copy;
struct tcpx_engine;

/* The copies in flight of one queue. */
struct late_watch {
	uint64_t looked_ns, quiet_ns;
};

/* A copy has begun on an idle queue, or one has ended. */
void tcpx_late_moved(struct late_watch *w, uint64_t now_ns);
/* Nothing has ended since the last look. True: the device is late. Only time between looks counts, so
 * a process that stood still blames nobody. */
bool tcpx_late_look(struct late_watch *w, uint64_t patience_ns, uint64_t now_ns);
uint64_t tcpx_late_patience(const struct tcpx_engine *e);
/* Does the device of @place still keep batches that it was late with, in that direction? Any thread. */
bool tcpx_late_is(const struct tcpx_engine *e, enum tcpx_flow flow, int place);
/* In either direction, small copies counted: what they may still write is neither written, read nor lent. */
bool tcpx_late_at(const struct tcpx_engine *e, int place);
/* The same as it was last found, without a look at the GPU: with locks held. */
bool tcpx_late_marked(const struct tcpx_engine *e, int place);
/* A GPU is late with that small copy. small_lock held. */
void tcpx_late_small(struct gpus *g, const struct small_copy *c);
/* May it still copy from or to the scratch? small_lock held. */
bool tcpx_late_small_still(struct gpus *g);
/* May another GPU than @but still carry out copies of @c that it was late with? Any thread. */
bool tcpx_late_reaches(const struct copy_client *c, int but);
/* So many batches more, or fewer. Logs when the device becomes late, and when it is no more. */
void tcpx_late_count(struct tcpx_engine *e, enum tcpx_flow flow, int place, int change);
/* Is any? Then what it may still reach is not given back to the system. */
bool tcpx_late_any(const struct tcpx_engine *e);

#endif
