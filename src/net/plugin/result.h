/* SPDX-License-Identifier: Apache-2.0 */
/* Results of plugins as our codes, and their log lines in our log. */
#ifndef NET_PLUGIN_RESULT_H
#define NET_PLUGIN_RESULT_H

#include "net/plugin/nccl_net.h"

struct plug;

/* Given to plugins, which require both. Log lines go to our log, subsystem NET. */
void plug_logger(enum nccl_log_level level, unsigned long subsys, const char *file, int line,
		 const char *fmt, ...) __attribute__((format(printf, 5, 6)));
enum nccl_result plug_profiler(void **event, int type, void *parent, int64_t plugin_id,
			       void *data);

/* A plugin's result in our codes: 0; -EAGAIN for "in progress"; never logged. */
int plug_code(enum nccl_result result);
const char *plug_result_text(enum nccl_result result);
/* Logs the failed call of @p with its result; returns the code. -EAGAIN is not logged. */
int plug_fail(const struct plug *p, enum nccl_result result, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
