/* SPDX-License-Identifier: Apache-2.0 */
/* JSON files that a command writes, and what several of them hold. */
#ifndef TOOL_JSON_FILE_H
#define TOOL_JSON_FILE_H

#include <jansson.h>

#include "base/cpuset.h"

/* Writes @root, indented, and a line end to @path as tool/output.h says. 0; -errno. */
int tool_json_save(const json_t *root, const char *path);
/* Writes @root as tool_json_save() does. TOOL_OK, or output_refused() of the file. */
int tool_json_write(const char *command, const json_t *root, const char *path);

/* Writes a document that was just made, and frees it; NULL: no memory (TOOL_DENIED). */
int tool_json_put(const char *command, json_t *root, const char *path);
/* A set of CPUs as its list, heap; and as JSON. */
char *tool_cpu_list(const struct tcpx_cpuset *set);
json_t *tool_json_cpus(const struct tcpx_cpuset *set);

#endif
