/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The classes of docs/errors.md that need a plugin. A faulty client shows each; then tcpx
 * moves checked data over the same plugin with the same environment. The fifth,
 * slow-launch, is shown on the GPU driver in software (unit/device/slow_launch_test.c).
 */
#include "cases.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/client.h"

#define NICS "TCPX_EMU_NICS=127.0.1.1=127.0.1.1,gpus=0;127.0.2.1=127.0.2.1,gpus=1"
#define TWO_NICS "TCPX_EMU_MEMORY=host|TCPX_EMU_MODE=faithful|" NICS
#define ROUNDS 100 /* of asking in vain */

/* ---- ours ---------------------------------------------------------------------------------- */

/* tcpx perf over the plugin, GPU 0 to GPU 0, both NICs there; it checks every byte. */
static int
ours(void *arg)
{
	const char *tool = getenv("TOOL");

	setenv("TCPX_PLUGIN_PATH", getenv("EMU_LIBRARY"), 1);
	setenv("TCPX_CUDA_LIBRARY", getenv("FAKECUDA_LIBRARY"), 1);
	setenv("TCPX_EMU_MEMORY", "auto", 1);
	setenv("TCPX_EMU_MODE", "strict", 1);
	setenv("TCPX_MAP", "gpu0=127.0.1.1;gpu1=127.0.2.1", 1);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	execl(tool, "tcpx", "perf", "--self", "--nics", "127.0.1.1,127.0.2.1", "--mem", "cuda:0",
	      "--peer-mem", "cuda:0", "-b", "4M", "-e", "4M", "-w", "1", "-n", "1", (char *)NULL);
	fprintf(stderr, "%s: %s\n", tool, strerror(errno));
	return 98;
}

static void
ours_passes(const char *env)
{
	struct outcome o = run_child(env, ours, NULL);

	if (!WIFEXITED(o.status) || WEXITSTATUS(o.status) != 0)
		fail_msg("tcpx: status 0x%x\n%s", (unsigned)o.status, o.text);
	if (!said(&o, "provider tcpx"))
		fail_msg("not over the plugin:\n%s", o.text);
}

/* ---- clients that do wrong ----------------------------------------------------------------- */

static int
send_one(struct pair *p, unsigned place, void **request)
{
	char *at = p->from + place * p->place;

	return plugin()->isend(p->send, at, (int)p->place, 0, p->from_mh, request);
}

static int
recv_one(struct pair *p, unsigned place, void **request)
{
	void *at = p->to + place * p->place;
	int size = (int)p->place, tag = 0;

	return plugin()->irecv(p->recv, 1, &at, &size, &tag, &p->to_mh, request);
}

static void
start(struct pair *p, int dev)
{
	pair_connect(p, dev);
	pair_memory(p, 64 << 10);
}

/* Every receive is done, none is consumed: the 17th has no place. */
static int
receives_never_consumed(void *arg)
{
	struct pair p;
	void *request;

	start(&p, 0);
	for (unsigned i = 0; i < WINDOW; i++) {
		void *send, *recv;
		int sent = 0, received = 0;
		uint64_t end = now_ms() + FOREVER_MS;

		CHECK(send_one(&p, i, &send) == NCCL_OK && recv_one(&p, i, &recv) == NCCL_OK);
		while (!sent || !received) {
			if (!sent)
				CHECK(plugin()->test(send, &sent, NULL) == NCCL_OK);
			if (!received)
				CHECK(plugin()->test(recv, &received, NULL) == NCCL_OK);
			CHECK(now_ms() < end);
		}
	}
	return recv_one(&p, 0, &request) == NCCL_INTERNAL_ERROR ? 0 : 2;
}

/* Consumed first, unpacked then. */
static int
consumed_too_early(void *arg)
{
	struct work w = { 2, 60, CHUNK, false, 17, true, 0 };
	struct pair p[2];

	for (unsigned i = 0; i < w.comms; i++) {
		pair_connect(&p[i], 0);
		pair_memory(&p[i], w.max);
	}
	return pairs_move(p, &w) ? 2 : 0;
}

/* Posts a window and asks for the newest, taking 3 for "busy". */
static int
newest_is_asked_for(void *arg)
{
	uint64_t end = now_ms() + FOREVER_MS;
	void *send[WINDOW], *recv[WINDOW];
	unsigned refused = 0;
	struct pair p;
	int received = 0, done = 0;

	start(&p, 0);
	for (unsigned i = 0; i < WINDOW; i++)
		CHECK(send_one(&p, i, &send[i]) == NCCL_OK && recv_one(&p, i, &recv[i]) == NCCL_OK);
	while (refused < ROUNDS && !done && now_ms() < end) {
		if (!received)
			CHECK(plugin()->test(recv[0], &received, NULL) == NCCL_OK);
		refused += plugin()->test(send[WINDOW - 1], &done, NULL) == NCCL_INTERNAL_ERROR;
	}
	return !done && refused == ROUNDS ? 0 : 2;
}

/* Receives are posted and waited for, but their connection is never asked. */
static int
nobody_asks(void *arg)
{
	void *send, *recv;
	struct pair p;
	int done = 0;

	start(&p, 0);
	CHECK(recv_one(&p, 0, &recv) == NCCL_OK && send_one(&p, 0, &send) == NCCL_OK);
	for (unsigned i = 0; i < ROUNDS; i++)
		if (p.meta->cnt[0])
			done = 1;
	return done ? 2 : 0;
}

/* GPU 0, on the NIC of GPU 1: connecting goes well. */
static int
gpu_on_a_foreign_nic(void *arg)
{
	uint64_t end = now_ms() + FOREVER_MS;
	void *send, *recv;
	struct pair p;
	int sent = 0, received = 0;

	start(&p, 1);
	CHECK(recv_one(&p, 0, &recv) == NCCL_OK && send_one(&p, 0, &send) == NCCL_OK);
	while (!received && now_ms() < end) {
		if (!sent)
			CHECK(plugin()->test(send, &sent, NULL) == NCCL_OK);
		CHECK(plugin()->test(recv, &received, NULL) == NCCL_OK);
	}
	return 2;
}

/* ---- each class ---------------------------------------------------------------------------- */

static void
shows(const char *env, int (*wrong)(void *), int status, const char *text)
{
	struct outcome o = run_child(env, wrong, NULL);

	if (!WIFEXITED(o.status) || WEXITSTATUS(o.status) != status || (text && !said(&o, text)))
		fail_msg("status 0x%x, want exit %d and \"%s\":\n%s", (unsigned)o.status, status,
			 text ? text : "", o.text);
}

TEST(no_requests)
{
	shows(TWO_NICS, receives_never_consumed, 0, "unable to allocate requests");
	ours_passes(NICS);
}

TEST(corrupt_data)
{
	shows(TWO_NICS, consumed_too_early, 0, NULL);
	ours_passes(NICS);
}

TEST(stuck)
{
	shows(TWO_NICS, newest_is_asked_for, 0, "test called with invalid request");
	shows(TWO_NICS, nobody_asks, 0, NULL);
	ours_passes(NICS);
}

TEST(rx_no_cmsg)
{
	shows(TWO_NICS, gpu_on_a_foreign_nic, 1, "rx no cmsg");
	ours_passes(NICS);
}
