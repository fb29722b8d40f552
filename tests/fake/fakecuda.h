/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GPU driver in software: device memory is host memory, and streams run in a thread of
 * their own, in order. Every call is checked. Tests reach these functions by dlsym().
 * Environment: FAKECUDA_DEVICES (2), FAKECUDA_DELAY_US (0) a copy or kernel, FAKECUDA_MEMOPS
 * (1), FAKECUDA_FAIL="cuLaunchKernel:3": its third call fails. FAKECUDA_QUEUES (0: one for each
 * stream): queues of a device, given to streams in turn; work begins after all earlier work of
 * its queue.
 */
#ifndef FAKE_FAKECUDA_H
#define FAKE_FAKECUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(result, name, parameters) */
#define FAKECUDA_HOOKS(X)                                                                  \
	/* counters, failures, hold and errors as at first; what lives stays alive */      \
	X(void, fakecuda_reset, (void))                                                    \
	/* calls of a function of the driver since the reset */                            \
	X(unsigned, fakecuda_calls, (const char *name))                                    \
	/* mistakes of the caller: memory that is not there, no context, ... */            \
	X(unsigned, fakecuda_errors, (void))                                               \
	/* memory, streams, events, modules and contexts not given back */                 \
	X(unsigned, fakecuda_live, (void))                                                 \
	/* the n-th call from now on fails with that result; n 0: none does */             \
	X(void, fakecuda_fail, (const char *name, unsigned n, int result))                 \
	/* calls of any function since the reset */                                        \
	X(unsigned, fakecuda_calls_all, (void))                                            \
	/* the device does nothing while it is held */                                     \
	X(void, fakecuda_hold, (bool on))                                                  \
	/* but so many pieces of work, while it is held */                                 \
	X(void, fakecuda_allow, (unsigned works))                                          \
	/* how often the context of a device is retained */                                \
	X(unsigned, fakecuda_retained, (int device))                                       \
	/* the device has failed: nothing runs and calls give this; 0: it has not */       \
	X(void, fakecuda_break, (int result))                                              \
	/* kernels copy and do not report their end */                                     \
	X(void, fakecuda_mute, (bool on))                                                  \
	X(void, fakecuda_memops, (bool on))                                                \
	X(void, fakecuda_delay_us, (unsigned us))                                          \
	/* device memory from ptr + at on is another allocation, of that device */         \
	X(void, fakecuda_split, (uint64_t ptr, size_t at, int device))                     \
	X(void, fakecuda_managed, (uint64_t ptr, bool on))

#endif
