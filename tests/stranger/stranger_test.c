/* SPDX-License-Identifier: Apache-2.0 */
/* stranger_test PLUGIN [BYTES [MESSAGES [SEED [PIECE]]]] - a client of a plugin for
 * GPUDirect-TCPX that knows its description and none of our code. It moves MESSAGES on each of 8
 * ways, of 0 to BYTES each, in requests of PIECE. Prints TAP. */
#include "plugin.h"
#include "side.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GUARD_SECONDS = 1500, NAME = 64 };

/* Starts a process whose stderr is to be read from *ERR. 0 in the child. */
static pid_t
start(int *err)
{
	int ends[2];
	pid_t child;

	fflush(stdout);
	child = pipe(ends) < 0 ? -1 : fork();
	if (child < 0) {
		perror("cannot start a process");
		exit(1);
	}
	if (child == 0) {
		dup2(ends[1], 2);
		close(ends[0]);
		alarm(GUARD_SECONDS);
	}
	close(ends[1]);
	*err = ends[0];
	return child;
}

/* Finds a name in brackets, as [a-name]. */
static bool
has_name(const char *line, char name[NAME])
{
	for (const char *at = strchr(line, '['); at; at = strchr(at + 1, '[')) {
		size_t length = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz-");

		if (length > 3 && at[1 + length] == ']') {
			snprintf(name, NAME, "%.*s", (int)length, at + 1);
			return true;
		}
	}
	return false;
}

/* Prints what a process writes, as TAP's remarks. Returns whether there was a name of a mistake;
 * [stall] is none, for this machine may be slow. */
static bool
remark(int err, char name[NAME])
{
	FILE *in = fdopen(err, "r");
	char line[1024];
	bool found = false;

	while (in && fgets(line, sizeof line, in)) {
		line[strcspn(line, "\n")] = 0;
		if (line[0])
			printf("#   %s\n", line);
		if (has_name(line, name) && strcmp(name, "stall") != 0)
			found = true;
	}
	if (in)
		fclose(in);
	return found;
}

static void
say_end(int status)
{
	if (WIFSIGNALED(status))
		printf("# ended by signal %d\n", WTERMSIG(status));
	else
		printf("# ended with %d\n", WEXITSTATUS(status));
}

/* Starts process I of those that move messages: one, or two that have a socket to each other. */
static pid_t
mover(const char *plugin, const char *mode, int i, const int pair[2],
      const struct stream_plan *plan, struct tally *tally, int *err)
{
	pid_t child = start(err);
	const struct net_table *net;
	int devices;

	if (child > 0)
		return child;
	if (pair[!i] >= 0)
		close(pair[!i]);
	plugin_settings(mode);
	net = plugin_load(plugin, &devices);
	exit(!net || side_run(net, pair[i], i == 1, plan, tally) < 0); /* leaks are looked for */
}

/* Moves messages in one process or two; whether all came, and nothing was called a mistake. */
static bool
moved(const char *plugin, const char *mode, bool two, const struct stream_plan *plan)
{
	struct tally *tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int sides = two ? 2 : 1, pair[2] = { -1, -1 }, err[2], status;
	char name[NAME];
	bool well = true;
	pid_t child[2];

	if (tally == MAP_FAILED || (two && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0))
		exit(1);
	for (int i = 0; i < sides; i++)
		child[i] = mover(plugin, mode, i, pair, plan, tally, &err[i]);
	for (int i = 0; two && i < sides; i++)
		close(pair[i]);
	for (int i = 0; i < sides; i++) {
		if (remark(err[i], name)) {
			printf("# called a mistake: %s\n", name);
			well = false;
		}
		if (waitpid(child[i], &status, 0) < 0 || status) {
			say_end(status);
			well = false;
		}
	}
	printf("# %lu messages in %lu requests and %lu fragments, %lu bytes compared\n",
	       (unsigned long)tally->messages, (unsigned long)tally->requests,
	       (unsigned long)tally->fragments, (unsigned long)tally->bytes);
	return well && tally->messages == plan->messages * WAYS;
}

static bool
all_moved(const char *plugin, const struct stream_plan *plan)
{
	static const char *const modes[] = { "strict", "faithful" };
	bool well = true;

	for (unsigned i = 0; i < 4; i++) {
		bool came = moved(plugin, modes[i / 2], i % 2 == 0, plan);

		printf("%s %u - %lu messages of 0 to %zu bytes on each of %d ways, %s, %s\n",
		       came ? "ok" : "not ok", i + 1, (unsigned long)plan->messages, plan->max,
		       WAYS, modes[i / 2], i % 2 == 0 ? "two processes" : "one process");
		well &= came;
	}
	return well;
}

/* Payload would be in memory that this client cannot read. */
static bool
gpu(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	int (*init)(unsigned) = driver ? (int (*)(unsigned))dlsym(driver, "cuInit") : NULL;

	return init && init(0) == 0;
}

int
main(int argc, char **argv)
{
	struct stream_plan plan = {
		.max = argc > 2 ? strtoul(argv[2], NULL, 0) : 4 << 20,
		.messages = argc > 3 ? strtoul(argv[3], NULL, 0) : 24,
		.seed = argc > 4 ? strtoul(argv[4], NULL, 0) : 1,
		.piece = argc > 5 ? strtoul(argv[5], NULL, 0) : 524288,
	};

	if (argc < 2 || plan.max < 1 || plan.max > 1 << 30 || plan.messages < 3 || plan.piece < 1) {
		fprintf(stderr, "stranger_test PLUGIN [BYTES [MESSAGES [SEED [PIECE]]]]\n");
		return 2;
	}
	if (gpu()) {
		printf("1..0 # SKIP the pool would be a GPU's memory\n");
		return 0;
	}
	printf("1..4\n");
	return !all_moved(argv[1], &plan);
}
