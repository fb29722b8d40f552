/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans as JSON, both ways. Reading checks counts, names, CPU lists and references, so a
 * plan that was read can be used like one that was made.
 */
#ifndef TOOL_PLAN_JSON_H
#define TOOL_PLAN_JSON_H

#include <jansson.h>

#include "host/plan.h"

#define PLAN_SCHEMA 1

/* A new reference; NULL: no memory. @why: with a sentence for each line. */
json_t *plan_json(const struct tcpx_plan *p, bool why);
/* @what names the text in messages. @out: for tcpx_plan_fini(), written only on success.
 * -EINVAL (logged), -ENOMEM. */
TCPX_MUST_CHECK int plan_json_read(const json_t *json, const char *what, struct tcpx_plan *out);
/* One of the hashes that name a machine: 16 hex digits. @out is written only on success. */
bool plan_json_hash(const json_t *json, uint64_t *out);

#endif
