/* SPDX-License-Identifier: Apache-2.0 */
/* Plans as JSON, for programs. reader.h reads what it needs of one. */
#ifndef TUNE_PLAN_JSON_H
#define TUNE_PLAN_JSON_H

#include <jansson.h>

#include "host/plan.h"

#define PLAN_SCHEMA 1

/* A new reference; NULL: no memory. @why: with a sentence for each line. */
json_t *plan_json(const struct tcpx_plan *p, bool why);

#endif
