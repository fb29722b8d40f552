/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks, and the hub beside rank 0. The hub is a process of its own, so it needs no turn of
 * the process that measures.
 */
#include "measure/mesh/mesh.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "measure/mesh/hub.h"
#include "measure/mesh/line.h"
#include "measure/mesh/rank.h"
#include "measure/mesh/result.h"
#include "measure/job/stop.h"
#include "measure/report/out_verdict.h"
#include "tool/tool.h"

enum { LOOK_MS = 20, SPEAK_MS = 1000 };

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

/* Rank @rank ended by signal @sig. If it has not met the others, they would wait for it until
 * their patience ends: we come in its place. Without rank 0 there is nowhere to meet. */
static void
speak_for(const struct mesh_env *env, const pid_t *pid, unsigned rank, int sig)
{
	char text[64];
	int fd;

	tool_fail(TOOL_FINDING, name, "rank %u ended by signal %d", rank, sig);
	for (unsigned i = 1; rank == 0 && i < env->size; i++)
		if (pid[i] > 0)
			kill(pid[i], SIGTERM);
	if (rank == 0 || mesh_connect(env->host, env->port, SPEAK_MS, &fd))
		return;
	snprintf(text, sizeof(text), "ended by signal %d", sig);
	if (mesh_line_send(fd, "fail", json_pack("{s:i, s:i, s:s, s:s, s:s}", "rank", (int)rank,
						   "size", (int)env->size, "job", env->job, "host",
						   env->host, "text", text)))
		tool_fail(TOOL_FINDING, name, "the other ranks do not know");
	close(fd);
}

/* The highest exit code of the @n processes, the ranks of @env if it is not NULL. The first
 * signal that we get is passed on to them: they are in groups of their own. */
static int
wait_for(pid_t *pid, unsigned n, const struct mesh_env *env)
{
	int status, code = TOOL_OK;
	bool passed = false;
	unsigned left = n;

	while (left) {
		left = 0;
		for (unsigned i = 0; i < n; i++) {
			if (perf_stop_asked() && !passed && pid[i] > 0)
				kill(pid[i], perf_stop_asked());
			if (pid[i] <= 0)
				continue;
			status = 0;
			if (waitpid(pid[i], &status, WNOHANG) == 0) {
				left++;
				continue;
			}
			if (!WIFEXITED(status) || WEXITSTATUS(status) > code)
				code = WIFEXITED(status) ? WEXITSTATUS(status) : TOOL_FINDING;
			pid[i] = 0;
			if (env && WIFSIGNALED(status) && !perf_stop_asked())
				speak_for(env, pid, i, WTERMSIG(status));
		}
		passed = perf_stop_asked() && left ? true : passed;
		if (left)
			poll(NULL, 0, LOOK_MS);
	}
	return code;
}

static pid_t
start_hub(const struct perf_args *a, const struct mesh_env *env, int listener)
{
	struct mesh_plan plan = mesh_plan_of(a, env->size);
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGINT, SIG_IGN); /* of which the ranks report */
		signal(SIGTERM, SIG_IGN);
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
		(void)wait_for(&hub, 1, NULL);
	if (!r->mesh.n)
		return code;
	r->mesh.at[0].seconds = (double)(tcpx_clock_now(&tcpx_clock_system) - begin) / 1e9;
	mesh_result_judge(r);
	if (code != TOOL_OK)
		return code;
	return mesh_is_good(&r->mesh.at[0]) ? TOOL_OK : TOOL_FINDING;
}

static uint16_t
port_of(int listener)
{
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);

	return getsockname(listener, (struct sockaddr *)&addr, &len) ? 0 : ntohs(addr.sin_port);
}

/* The rendezvous of rank 0. TOOL_FINDING, and a record that says why, without one. */
static int
listen_here(const struct perf_args *a, const struct mesh_env *env, struct result *r, int *listener)
{
	char why[256];

	if (mesh_listen(env->host, env->port, listener) == 0)
		return TOOL_OK;
	tcpx_err_last(why, sizeof(why));
	tool_fail(TOOL_FINDING, name, "%s", why);
	if (mesh_result_fill(r, a, env, NULL, NULL) == TOOL_OK)
		mesh_result_stop(r, why, 0);
	return TOOL_FINDING;
}

/* --ranks: starts all of them here. Returns in each of them, too. */
static int
run_here(struct perf_args *a, struct result *r)
{
	struct mesh_env env = { .launcher = "tcpx", .size = (unsigned)a->ranks,
				.host = "127.0.0.1" };
	pid_t *pid = calloc(env.size, sizeof(*pid));
	int listener, last, code = TOOL_OK;

	if (!pid || listen_here(a, &env, r, &listener) != TOOL_OK) {
		free(pid);
		return TOOL_FINDING;
	}
	env.port = port_of(listener);
	for (unsigned i = 0; i < env.size; i++) {
		fflush(NULL);
		pid[i] = fork();
		if (pid[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGTERM);
			setpgid(0, 0); /* Ctrl-C comes by way of our parent */
			free(pid);
			env.rank = env.local_rank = i;
			if (i)
				close(listener);
			return run_rank(a, &env, i ? -1 : listener, r);
		}
	}
	close(listener);
	for (unsigned i = 0; i < env.size; i++)
		code = pid[i] < 0 ? TOOL_FINDING : code;
	last = wait_for(pid, env.size, &env);
	free(pid);
	return last > code ? last : code;
}

int
mesh_run(struct perf_args *a, struct result *r)
{
	struct mesh_env env;
	int listener = -1, rc;

	export_settings(a);
	perf_stop_watch();
	if (a->ranks)
		return run_here(a, r);
	rc = mesh_env_read(environ, &env);
	if (rc)
		return TOOL_USAGE;
	if (env.rank == 0)
		rc = listen_here(a, &env, r, &listener);
	rc = rc ? rc : run_rank(a, &env, listener, r);
	mesh_env_fini(&env);
	return rc;
}
