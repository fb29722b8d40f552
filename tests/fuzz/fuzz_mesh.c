/* SPDX-License-Identifier: Apache-2.0 */
/* Launchers' variables: lists of hosts, addresses of a rendezvous, a whole environment with
 * a line for each variable. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "measure/mesh/env.h"

enum { VARIABLES = 64 };

static void
environment(char *text)
{
	char *env[VARIABLES + 1], *at = text;
	struct mesh_env e;
	int n = 0;

	while (at && n < VARIABLES) {
		char *end = strchr(at, '\n');

		if (end)
			*end++ = '\0';
		env[n++] = at;
		at = end;
	}
	env[n] = NULL;
	if (mesh_env_read(env, &e))
		return;
	promise(e.size >= 2 && e.size <= MESH_RANKS_MAX && e.rank < e.size && e.local_rank < e.size);
	promise(e.host[0] && e.port && e.launcher);
	mesh_env_fini(&e);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1);
	struct mesh_hosts hosts;
	struct mesh_env e = { 0 };

	if (!text)
		return 0;
	memcpy(text, data, len);
	text[len] = '\0';
	if (!mesh_hosts_parse(text, &hosts)) {
		promise(hosts.count >= 1 && hosts.count <= MESH_HOSTS_MAX);
		for (size_t i = 0; i < hosts.count; i++)
			promise(hosts.name[i][0] && strlen(hosts.name[i]) < MESH_HOST);
	}
	mesh_hosts_fini(&hosts);
	if (!mesh_env_rendezvous(text, &e))
		promise(e.host[0] && e.port);
	environment(text);
	free(text);
	return 0;
}
