/* SPDX-License-Identifier: Apache-2.0 */
/* One table of launchers, and one reader for all of them. */
#include "measure/mesh/env.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

/* Names of variables; of several the first that is set counts. */
struct launcher {
	const char *name;
	const char *rank[2], *size[2], *local[2], *job[2];
	const char *nodes; /* a list of hosts */
	bool sure;         /* no other program sets the rank: a missing size is a mistake */
};

static const struct launcher launchers[] = {
	{ "torchrun", { "RANK" }, { "WORLD_SIZE" }, { "LOCAL_RANK" }, { "TORCHELASTIC_RUN_ID" },
	  NULL, false },
	{ "Open MPI", { "OMPI_COMM_WORLD_RANK", "PMIX_RANK" }, { "OMPI_COMM_WORLD_SIZE" },
	  { "OMPI_COMM_WORLD_LOCAL_RANK" }, { "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid" }, NULL,
	  false },
	{ "PMI", { "PMI_RANK", "PMIX_RANK" }, { "PMI_SIZE" }, { "MPI_LOCALRANKID" },
	  { "PMIX_NAMESPACE" }, NULL, false },
	{ "Kubernetes", { "JOB_COMPLETION_INDEX" }, { "TCPX_RANKS", "JOB_COMPLETIONS" }, { NULL },
	  { NULL }, NULL, true },
	{ "Slurm", { "SLURM_PROCID" }, { "SLURM_NTASKS", "SLURM_NPROCS" }, { "SLURM_LOCALID" },
	  { "SLURM_JOB_ID", "SLURM_JOBID" }, "SLURM_STEP_NODELIST", false },
};

static const char *
find(char *const *env, const char *name)
{
	size_t len = name ? strlen(name) : 0;

	for (; name && *env; env++)
		if (!strncmp(*env, name, len) && (*env)[len] == '=')
			return (*env)[len + 1] ? *env + len + 1 : NULL;
	return NULL;
}

/* The first of the two that is set, and its name. */
static const char *
find_one(char *const *env, const char *const names[2], const char **name)
{
	const char *value = NULL;

	for (int i = 0; i < 2 && !value; i++) {
		value = find(env, names[i]);
		*name = names[i];
	}
	return value;
}

static int
refuse(const char *name, const char *value, const char *allowed)
{
	return tcpx_fail(TCPX_SUB_TOOL, TCPX_ECONFIG, "%s=%.80s: allowed is %s", name, value, allowed);
}

static int
count(const char *name, const char *value, uint64_t min, uint64_t max, unsigned *out)
{
	char allowed[64];
	uint64_t v;

	snprintf(allowed, sizeof(allowed), "%llu to %llu", (unsigned long long)min,
		 (unsigned long long)max);
	if (tcpx_parse_count(value, &v) || v < min || v > max)
		return refuse(name, value, allowed);
	*out = (unsigned)v;
	return 0;
}

/* The launcher whose rank and size are set. */
static const struct launcher *
choose(char *const *env)
{
	const char *name;

	for (size_t i = 0; i < COUNT_OF(launchers); i++)
		if (find_one(env, launchers[i].rank, &name) &&
		    (launchers[i].sure || find_one(env, launchers[i].size, &name)))
			return &launchers[i];
	return NULL;
}

static int
read_numbers(char *const *env, const struct launcher *l, struct mesh_env *e)
{
	const char *name, *value = find_one(env, l->size, &name);
	int rc;

	if (!value)
		return tcpx_fail(TCPX_SUB_TOOL, TCPX_ECONFIG, "%s says our rank and not how many there"
				 " are; set %s", l->name, l->size[0]);
	rc = count(name, value, 2, MESH_RANKS_MAX, &e->size);
	if (rc)
		return rc;
	value = find_one(env, l->rank, &name);
	rc = count(name, value, 0, e->size - 1, &e->rank);
	value = find_one(env, l->local, &name);
	if (!rc && value)
		rc = count(name, value, 0, e->size - 1, &e->local_rank);
	return rc;
}

int
mesh_env_rendezvous(const char *text, struct mesh_env *out)
{
	const char *colon = strrchr(text, ':'), *bracket = strchr(text, ']');
	size_t len = colon ? (size_t)(colon - text) : strlen(text);
	uint64_t port = MESH_PORT;

	if (text[0] == '[') {
		if (!bracket || (bracket[1] && bracket[1] != ':'))
			return -EINVAL;
		colon = bracket[1] ? bracket + 1 : NULL;
		text++;
		len = (size_t)(bracket - text);
	} else if (colon && strchr(text, ':') != colon) { /* IPv6 without a port */
		colon = NULL;
		len = strlen(text);
	}
	if (!len || len >= MESH_HOST)
		return -EINVAL;
	if (colon && (tcpx_parse_count(colon + 1, &port) || !port || port > UINT16_MAX))
		return -EINVAL;
	snprintf(out->host, sizeof(out->host), "%.*s", (int)len, text);
	out->port = (uint16_t)port;
	return 0;
}

/* Open MPI has the number of ranks on this host: if it is all of them, none
 * needs an address. */
static bool
all_here(char *const *env, const struct mesh_env *e)
{
	static const char *const names[] = { "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
					     "LOCAL_WORLD_SIZE" };
	uint64_t here;

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		const char *value = find(env, names[i]);

		if (value && !tcpx_parse_count(value, &here) && here == e->size)
			return true;
	}
	return false;
}

static int
read_place(char *const *env, struct mesh_env *e)
{
	const char *value = find(env, "TCPX_RENDEZVOUS"), *port = find(env, "MASTER_PORT");
	uint64_t number;

	e->port = MESH_PORT;
	if (value)
		return mesh_env_rendezvous(value, e)
			       ? refuse("TCPX_RENDEZVOUS", value, "HOST or HOST:PORT")
			       : 0;
	value = find(env, "MASTER_ADDR");
	if (value && mesh_env_rendezvous(value, e))
		return refuse("MASTER_ADDR", value, "a host");
	/* torchrun's own store listens on MASTER_PORT; the mesh uses the next port */
	if (value && port) {
		if (tcpx_parse_count(port, &number) || !number || number >= UINT16_MAX)
			return refuse("MASTER_PORT", port, "1 to 65534");
		e->port = (uint16_t)(number + 1);
	}
	if (!value && e->hosts.count)
		snprintf(e->host, sizeof(e->host), "%s", e->hosts.name[0]);
	else if (!value && all_here(env, e))
		snprintf(e->host, sizeof(e->host), "127.0.0.1");
	else if (!value)
		return tcpx_fail(TCPX_SUB_TOOL, TCPX_ECONFIG, "%s does not say where rank 0 is; set"
				 " TCPX_RENDEZVOUS=HOST[:PORT] for all ranks", e->launcher);
	return 0;
}

static int
read_hosts(char *const *env, const struct launcher *l, struct mesh_env *e)
{
	const char *name = l->nodes, *value = find(env, name);

	if (name && !value) {
		name = "SLURM_JOB_NODELIST";
		value = find(env, name);
	}
	if (value && mesh_hosts_parse(value, &e->hosts))
		return refuse(name, value, "a list of hosts: a[0-3],b");
	return 0;
}

int
mesh_env_read(char *const *env, struct mesh_env *out)
{
	const struct launcher *l = choose(env);
	struct mesh_env e = { 0 };
	const char *name, *job;
	int rc;

	*out = e;
	if (!l)
		return tcpx_fail(TCPX_SUB_TOOL, TCPX_ECONFIG, "no rank in the environment: neither"
				 " torchrun, Open MPI, PMI, a Kubernetes indexed Job nor Slurm has"
				 " started this");
	e.launcher = l->name;
	rc = read_numbers(env, l, &e);
	if (!rc)
		rc = read_hosts(env, l, &e);
	if (!rc)
		rc = read_place(env, &e);
	if (rc) {
		mesh_env_fini(&e);
		return rc;
	}
	job = find_one(env, l->job, &name);
	snprintf(e.job, sizeof(e.job), "%.*s", MESH_JOB - 1, job ? job : "");
	*out = e;
	return 0;
}

void
mesh_env_fini(struct mesh_env *env)
{
	mesh_hosts_fini(&env->hosts);
	*env = (struct mesh_env){ 0 };
}
