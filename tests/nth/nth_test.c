/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call into libc fails, or all from one on, wherever an application's use of two engines makes
 * it. Every call of the library then succeeds or says what is wrong, transfers end, nothing is left
 * over, and the engines work again. nth_test TEST: a sample of turns, the same each time.
 * nth_test TEST all [I/N]: every turn with every error that it knows; a sample of those that last.
 * I/N: of every N calls the I-th, from 0; what a plugin leaves over does not add up so far.
 */
#include "unit/core/rig.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rng.h"
#include "device/cuda_api.h"
#include "nth/calls.h"
#include "nth/scene.h"

#define HANG_S 300 /* far above what one play takes */

/* How many turns of each call: of an allocation and of another that fails alone, and of one from
 * which on all fail. */
struct sample {
	unsigned allocations, alone, on;
};

static bool all;
static unsigned part, parts = 1; /* which calls of every so many */
static char playing[128];

/* Which one it was that hung. */
static void
hangs(int sig)
{
	ssize_t n = write(STDERR_FILENO, playing, strlen(playing));

	(void)n;
	signal(sig, SIG_DFL);
	raise(SIGABRT);
}

static void
play(const struct scene *s, enum nth_call call, unsigned n, unsigned way, bool on)
{
	int fds = fd_count(), threads = thread_count();
	long mapped = nth_mapped();

	nth_arm(call, 0, 0, false); /* its name alone */
	nth_disarm();
	snprintf(playing, sizeof(playing), "# %s, turn %u%s, error %u: hangs\n", nth_name(), n,
		 on ? " and later" : "", way);
	alarm(HANG_S);
	(void)scene_play(s, call, n, way, on);
	alarm(0);
	if (s->late)
		return;
	if (fd_count() != fds)
		fail_msg("%s turn %u: %d descriptors, %d before", nth_name(), n, fd_count(), fds);
	assert_threads(threads);
	if (nth_mapped() != mapped)
		fail_msg("%s turn %u: %ld mappings left", nth_name(), n, nth_mapped() - mapped);
}

/* Each turn of one call, or some of them. */
static void
each_turn(const struct scene *s, enum nth_call call, unsigned turns, unsigned most, bool on)
{
	unsigned ways = all ? nth_ways(call) : 1, plays = 0;
	unsigned step = turns <= most ? 1 : turns / most;
	struct tcpx_rng rng = tcpx_rng_seed((uint32_t)call + 1);

	if (all && !on)
		step = s->late && turns > 8 * most ? turns / (8 * most) : 1;
	for (unsigned way = 0; way < ways; way++)
		for (unsigned n = 1 + tcpx_rng_below(&rng, step); n <= turns; n += step)
			play(s, call, n, all ? way : plays++, on);
}

#define CALLS_MIN 1000 /* of a play that went to its end */

static void
each_call_fails(const struct scene *s, struct sample sample)
{
	unsigned turns[NTH_COUNT], calls = 0;

	signal(SIGALRM, hangs);
	play(s, NTH_NONE, 0, 0, false); /* fills what is made once a process */
	/* a busy machine may miss BRIEF's deadlines, and end it early */
	for (unsigned tries = 0; tries < 20 && calls <= CALLS_MIN; tries++) {
		play(s, NTH_NONE, 0, 0, false);
		calls = 0;
		for (unsigned i = 0; i < NTH_COUNT; i++)
			calls += turns[i] = nth_calls(i);
	}
	assert_true(calls > CALLS_MIN);
	print_message("# %u calls\n", calls);
	for (unsigned i = part; i < NTH_COUNT; i += parts) {
		each_turn(s, i, turns[i], i < NTH_mmap64 ? sample.allocations : sample.alone, false);
		each_turn(s, i, turns[i], sample.on, true);
	}
}

/* Short deadlines: most of what fails costs one. */
#define BRIEF                                                                                     \
	"TCPX_CHANNELS=2", "TCPX_CONNECT_MS=100", "TCPX_HANDSHAKE_MS=100", "TCPX_STALL_MS=300",   \
	"TCPX_LINGER_MS=50"

TEST(over_tcp)
{
	static const char *const settings[] = { BRIEF, NULL };

	each_call_fails(&(struct scene){ settings, false, &scene_host, false },
			(struct sample){ 1000, 8, 2 });
}

/* What an engine may have beside: a secret, a log, a socket for those who ask, a second thread. */
TEST(with_a_secret)
{
	static const char text[] = "a secret that is long enough, surely\n";
	char dir[] = "/tmp/nth.XXXXXX", secret[64], stats[64], debug[64];
	const char *const settings[] = { BRIEF, secret, stats, debug, "TCPX_THREADS=2", NULL };
	int fd = memfd_create("secret", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_ok(fchmod(fd, 0600));
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	assert_non_null(mkdtemp(dir));
	snprintf(secret, sizeof(secret), "TCPX_SECRET_FILE=/proc/self/fd/%d", fd);
	snprintf(stats, sizeof(stats), "TCPX_STATS=%s", dir);
	snprintf(debug, sizeof(debug), "TCPX_DEBUG_FILE=%s/log", dir);
	each_call_fails(&(struct scene){ settings, true, &scene_host, false }, (struct sample){ 4, 4, 1 });
	snprintf(debug, sizeof(debug), "%s/log", dir);
	(void)unlink(debug);
	assert_ok(rmdir(dir));
	close(fd);
}

/* ---- GPU memory over a plugin ---- */

static struct tcpx_cuda_api cu;

static void *
gpu_get(int side, size_t len)
{
	CUdeviceptr at;
	CUcontext old;

	(void)side;
	assert_ok(cu.cuDevicePrimaryCtxRetain(&old, 0));
	assert_ok(cu.cuCtxPushCurrent(old));
	assert_ok(cu.cuMemAlloc(&at, len));
	assert_ok(cu.cuCtxPopCurrent(&old));
	return (void *)(uintptr_t)at;
}

static void
gpu_put(int side, void *at)
{
	CUcontext old;

	(void)side;
	assert_ok(cu.cuDevicePrimaryCtxRetain(&old, 0));
	assert_ok(cu.cuCtxPushCurrent(old));
	assert_ok(cu.cuMemFree((CUdeviceptr)(uintptr_t)at));
	assert_ok(cu.cuCtxPopCurrent(&old));
	assert_ok(cu.cuDevicePrimaryCtxRelease(0));
	assert_ok(cu.cuDevicePrimaryCtxRelease(0));
}

/* No call of a plugin gives up an accept() for which nobody connects: its descriptors and its
 * thread stay. So nothing of that is counted here, and `all` is a larger sample. */
TEST(over_a_plugin)
{
	static const struct scene_memory gpu = { gpu_get, gpu_put };
	const char *plugin = getenv("EMU_LIBRARY"), *driver = getenv("FAKECUDA_LIBRARY");
	char path[512];
	const char *const settings[] = { BRIEF, "TCPX_CONNECT_MS=500", "TCPX_HANDSHAKE_MS=500",
					 "TCPX_PROVIDER=tcpx", path, "TCPX_MAP=gpu0=127.0.1.1", "TCPX_GPU=0", NULL };

	const struct scene s = { settings, false, &gpu, true };

	if (!plugin || !driver)
		fail_msg("EMU_LIBRARY or FAKECUDA_LIBRARY is not set");
	setenv("TCPX_EMU_NICS", "127.0.1.1=127.0.1.1,gpus=0", 1);
	setenv("NCCL_DYNAMIC_CHUNK_SIZE", "524288", 1);
	snprintf(path, sizeof(path), "TCPX_PLUGIN_PATH=%s", plugin);
	setenv("TCPX_CUDA_LIBRARY", driver, 1); /* the plugin looks there, too */
	assert_ok(tcpx_cuda_api_load(driver, &cu));
	each_call_fails(&s, (struct sample){ 2, 2, 1 });
	tcpx_cuda_api_unload(&cu);
}

int
main(int argc, char **argv)
{
	all = argc > 2 && !strcmp(argv[2], "all");
	if (argc > 3 && (sscanf(argv[3], "%u/%u", &part, &parts) != 2 || part >= parts)) {
		fprintf(stderr, "nth_test TEST all I/N: I is less than N\n");
		return 2;
	}
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return run_cases(NULL, NULL);
}
