/* SPDX-License-Identifier: Apache-2.0 */
/* The place of a measurement's memory: "host", "cuda", "cuda:2", "cuda:0-3,6". */
#ifndef TOOL_PERF_PLACE_H
#define TOOL_PERF_PLACE_H

#include <stddef.h>

enum { PLACE_GPUS = 16, PLACE_TEXT = 64 };

struct place {
	unsigned gpus; /* 0: host memory */
	int gpu[PLACE_GPUS];
};

extern const char place_allowed[]; /* for messages */

/* 0; -EINVAL (not logged): not of that form, or too many GPUs. */
int place_parse(const char *text, struct place *place);
/* The shortest text that is read back to the same; returns buf. */
const char *place_format(const struct place *place, char buf[PLACE_TEXT]);

#endif
