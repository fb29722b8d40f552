/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks, and the hub beside rank 0. The hub is a process of its own, so it needs no turn of
 * the process that measures.
 */
#include "measure/mesh/mesh.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "measure/mesh/mesh_hub.h"
#include "measure/mesh/mesh_line.h"
#include "measure/mesh/mesh_rank.h"
#include "measure/report/out_verdict.h"
#include "tool/tool.h"

static const char name[] = "tcpx perf --mesh";

/* Children read settings and the rendezvous from the environment. */
static void
export_settings(const struct perf_args *a)
{
	if (a->nics)
		setenv("TCPX_NICS", a->nics, 1);
	if (a->rendezvous)
		setenv("TCPX_RENDEZVOUS", a->rendezvous, 1);
	for (size_t i = 0; i < a->setting_count; i++) {
		char setting[sizeof(a->settings[0])], *equals;

		memcpy(setting, a->settings[i], sizeof(setting));
		equals = strchr(setting, '=');
		*equals = '\0';
		setenv(setting, equals + 1, 1);
	}
}

static pid_t
start_hub(const struct perf_args *a, const struct mesh_env *env, int listener)
{
	struct mesh_plan plan = mesh_plan_of(a, env->size);
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		_exit(mesh_hub_run(listener, env->size, mesh_plan_steps(&plan), env->job, MESH_MEET_MS,
				   mesh_step_ms(a)) ? TOOL_FINDING : TOOL_OK);
	}
	return pid;
}

/* Runs a rank; with a @listener rank 0. */
static int
run_rank(struct perf_args *a, struct mesh_env *env, int listener, struct result *r)
{
	uint64_t begin = tcpx_clock_now(&tcpx_clock_system);
	pid_t hub = 0;
	int code;

	if (a->mem_local)
		a->mem = (struct place){ .gpus = 1, .gpu = { (int)env->local_rank } };
	if (listener >= 0) {
		hub = start_hub(a, env, listener);
		close(listener);
		if (hub < 0)
			return tool_fail(TOOL_FINDING, name, "no process for the rendezvous: %s",
					 strerror(errno));
	}
	code = mesh_rank_run(a, env, r);
	if (hub > 0)
		waitpid(hub, NULL, 0);
	if (code != TOOL_OK || !r->mesh.n)
		return code;
	r->mesh.at[0].seconds = (double)(tcpx_clock_now(&tcpx_clock_system) - begin) / 1e9;
	return mesh_is_good(&r->mesh.at[0]) ? TOOL_OK : TOOL_FINDING;
}

static uint16_t
port_of(int listener)
{
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);

	return getsockname(listener, (struct sockaddr *)&addr, &len) ? 0 : ntohs(addr.sin_port);
}

/* --ranks: starts all of them here. Returns in each of them, too. */
static int
run_here(struct perf_args *a, struct result *r)
{
	struct mesh_env env = { .launcher = "tcpx", .size = (unsigned)a->ranks,
				.host = "127.0.0.1" };
	pid_t *pid = calloc(env.size, sizeof(*pid));
	int listener, status, code = TOOL_OK;

	if (!pid || mesh_listen(env.host, 0, &listener)) {
		free(pid);
		return TOOL_FINDING;
	}
	env.port = port_of(listener);
	for (unsigned i = 0; i < env.size; i++) {
		fflush(NULL);
		pid[i] = fork();
		if (pid[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGTERM);
			free(pid);
			env.rank = env.local_rank = i;
			if (i)
				close(listener);
			return run_rank(a, &env, i ? -1 : listener, r);
		}
	}
	close(listener);
	for (unsigned i = 0; i < env.size; i++) {
		status = 0;
		if (pid[i] < 0 || waitpid(pid[i], &status, 0) < 0 || !WIFEXITED(status))
			code = TOOL_FINDING;
		else if (WEXITSTATUS(status) > code)
			code = WEXITSTATUS(status);
	}
	free(pid);
	return code;
}

int
mesh_run(struct perf_args *a, struct result *r)
{
	struct mesh_env env;
	int listener = -1, rc;

	export_settings(a);
	if (a->ranks)
		return run_here(a, r);
	rc = mesh_env_read(environ, &env);
	if (rc)
		return TOOL_USAGE;
	if (env.rank == 0)
		rc = mesh_listen(env.host, env.port, &listener);
	rc = rc ? TOOL_FINDING : run_rank(a, &env, listener, r);
	mesh_env_fini(&env);
	return rc;
}
