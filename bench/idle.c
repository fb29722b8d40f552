/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of open sessions at rest. idle SESSIONS SECONDS opens an engine, to
 * which as many engines of a second process connect; waits; and prints what the
 * first one used as JSON.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tcpx/tcpx.h"

static double
cpu_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static int
count_threads(void)
{
	DIR *d = opendir("/proc/self/task");
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n - 2;
}

static int
open_engine(const char *name, tcpx_engine **e)
{
	static const char *const settings[] = { "TCPX_NICS=127.0.1.1", "TCPX_PORT=0",
						"TCPX_CHANNELS=1", NULL };
	struct tcpx_engine_opts o = TCPX_ENGINE_OPTS_INIT;

	o.name = name;
	o.settings = settings;
	return tcpx_open(&o, e);
}

/* The other process: one engine for each session, until the pipe closes. */
static int
be_the_others(int sessions, int from_hub, int to_hub)
{
	tcpx_engine **spoke = calloc((size_t)sessions, sizeof(*spoke));
	char blob[4096], name[32];
	tcpx_peer *p;
	ssize_t len = read(from_hub, blob, sizeof(blob));
	int i, rc = !spoke || len <= 0;

	for (i = 0; i < sessions && !rc; i++) {
		snprintf(name, sizeof(name), "spoke%d", i);
		rc = open_engine(name, &spoke[i]) || tcpx_peer_add(spoke[i], blob, (size_t)len, &p) ||
		     tcpx_peer_wait(p, 10000);
	}
	if (!rc)
		rc = write(to_hub, "1", 1) != 1 || read(from_hub, blob, 1) != 0;
	for (i = 0; spoke && i < sessions; i++)
		tcpx_close(spoke[i]);
	free(spoke);
	return rc;
}

static int
measure(int sessions, int seconds, int from_others, int to_others)
{
	struct tcpx_counters c = { .struct_size = sizeof(c) };
	tcpx_engine *hub;
	char blob[4096], ready;
	size_t len = sizeof(blob);
	double cpu;

	if (open_engine("hub", &hub) || tcpx_metadata(hub, blob, &len) ||
	    write(to_others, blob, len) != (ssize_t)len || read(from_others, &ready, 1) != 1)
		return 1;
	cpu = cpu_seconds();
	sleep((unsigned)seconds);
	cpu = cpu_seconds() - cpu;
	if (tcpx_query(hub, &c) || c.sessions != (uint32_t)sessions)
		return 1;
	printf("{\"sessions\": %u, \"cpu_percent\": %.5f, \"threads\": %d, "
	       "\"memory_bytes\": %llu}\n", c.sessions, 100 * cpu / seconds, count_threads(),
	       (unsigned long long)c.memory_bytes);
	tcpx_close(hub);
	return 0;
}

int
main(int argc, char **argv)
{
	int sessions = argc > 1 ? atoi(argv[1]) : 1, seconds = argc > 2 ? atoi(argv[2]) : 10;
	int down[2], up[2], rc, status = 1;
	pid_t others;

	if (sessions < 1 || pipe(down) || pipe(up))
		return 2;
	others = fork();
	if (others == 0) {
		close(down[1]);
		close(up[0]);
		return be_the_others(sessions, down[0], up[1]);
	}
	close(down[0]);
	close(up[1]);
	rc = measure(sessions, seconds, up[0], down[1]);
	close(down[1]);
	waitpid(others, &status, 0);
	return rc || status;
}
