/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record as JSON, both ways. Fields keep the order of row.h; reading checks against the
 * tables that write it.
 */
#ifndef MEASURE_REPORT_RESULT_H
#define MEASURE_REPORT_RESULT_H

#include "measure/report/row.h"

/* Writes the record as JSON ("-": stdout). 0 or -errno; an error is logged once. */
int result_save(const struct result *r, const char *path);
/* Reads a record back. TCPX_EBLOB: not JSON, another schema, or a field that is
 * missing, of the wrong type or out of range; the log line names file and field
 * ("rows[2].time_us.p50"). -errno: cannot be read. */
int result_load(const char *path, struct result *out);
/* The same from text; @name replaces the file's name in messages. */
int result_parse(const char *text, size_t len, const char *name, struct result *out);
/* The JSON text; the caller frees it. NULL: out of memory. */
char *result_text(const struct result *r);

#endif
