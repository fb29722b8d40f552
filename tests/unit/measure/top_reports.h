/* SPDX-License-Identifier: Apache-2.0 */
/* Engines' reports, as tcpx top reads them. */
#ifndef UNIT_TOOL_TOP_REPORTS_H
#define UNIT_TOOL_TOP_REPORTS_H

#include <stddef.h>

#include "measure/top/top.h"

/* One engine that has sent @sent bytes by @time_ns, on channels of two NICs. */
json_t *top_engine(const char *name, double time_ns, double sent);
/* Of one or two engines, which it takes over; @two: may be NULL. */
json_t *top_document(json_t *one, json_t *two);
/* The i-th of a list of that name in @o; borrowed. */
const json_t *top_at(const json_t *o, const char *list, size_t i);
/* A label's lanes have had so many messages; one that has none any more is not in the view. */
json_t *top_with_labels(json_t *engine, const char *label, int messages);
/* To be freed. */
char *top_text_of(void (*format)(struct tcpx_text *t, const json_t *doc), const json_t *doc);

#endif
