/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/json_file.h"

#include <stdio.h>
#include <stdlib.h>

#include "tool/output.h"
#include "tool/tool.h"

int
tool_json_save(const json_t *root, const char *path)
{
	struct output out;
	int rc = output_open(&out, path);

	if (rc < 0)
		return rc;
	rc = json_dumpf(root, out.f, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
	return output_close(&out, rc < 0 || fputc('\n', out.f) == EOF);
}

int
tool_json_write(const char *command, const json_t *root, const char *path)
{
	int rc = tool_json_save(root, path);

	return rc < 0 ? output_refused(command, path, rc) : TOOL_OK;
}

int
tool_json_put(const char *command, json_t *root, const char *path)
{
	int rc = root ? tool_json_write(command, root, path)
		      : tool_fail(TOOL_DENIED, command, "no memory for the JSON text");

	json_decref(root);
	return rc;
}

char *
tool_cpu_list(const struct tcpx_cpuset *set)
{
	size_t len = tcpx_cpuset_format(set, NULL, 0) + 1;
	char *list = tool_need(malloc(len));

	tcpx_cpuset_format(set, list, len);
	return list;
}

json_t *
tool_json_cpus(const struct tcpx_cpuset *set)
{
	char *list = tool_cpu_list(set);
	json_t *json = json_string(list);

	free(list);
	return json;
}
