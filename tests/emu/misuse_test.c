/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that would crash or corrupt the real plugin: strict mode ends the
 * process with a reason. */
#include "cases.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/client.h"

static struct pair p;

/* ---- what the real one would not survive, or not notice ------------------------------------ */

static int
test_after_done(void *arg)
{
	void *send, *recv;
	int done;

	pair_start(&p);
	pair_exchange(&p, 1, 100, &send, &recv);
	CHECK(plugin()->test(send, &done, NULL) == REFUSED);
	return 0;
}

static int
empty_consumed_early(void *arg)
{
	void *recv;

	pair_start(&p);
	CHECK(pair_recv(&p, 0, &recv) == NCCL_OK);
	CHECK(plugin()->consumed(p.recv, 1, recv) == REFUSED);
	return 0;
}

static int
empty_consumed_twice(void *arg)
{
	void *send, *recv;

	pair_start(&p);
	pair_exchange(&p, 1, 0, &send, &recv);
	CHECK(plugin()->consumed(p.recv, 1, recv) == NCCL_OK);
	CHECK(plugin()->consumed(p.recv, 1, recv) == REFUSED);
	return 0;
}

static int
mhandle_unknown(void *arg)
{
	void *request;

	pair_start(&p);
	CHECK(plugin()->dereg(p.send, p.from_mh) == NCCL_OK);
	CHECK(pair_send(&p, 100, &request) == REFUSED);
	return 0;
}

static int
mhandle_of_another_nic(void *arg)
{
	struct pair other;
	void *request;

	pair_start(&p);
	pair_connect(&other, 1);
	pair_memory(&other, 4096);
	CHECK(plugin()->isend(p.send, other.from, 100, 0, other.from_mh, &request) == REFUSED);
	return 0;
}

static int
send_outside(void *arg)
{
	void *request;

	pair_start(&p);
	CHECK(plugin()->isend(p.send, p.from + WINDOW * p.place - 50, 100, 0, p.from_mh, &request) ==
	      REFUSED);
	return 0;
}

static int
dereg_busy(void *arg)
{
	void *request;

	pair_start(&p);
	CHECK(pair_send(&p, 100, &request) == NCCL_OK);
	CHECK(plugin()->dereg(p.send, p.from_mh) == REFUSED);
	return 0;
}

static int
dereg_unknown(void *arg)
{
	pair_start(&p);
	CHECK(plugin()->dereg(p.recv, &p) == REFUSED);
	return 0;
}

static int
iflush(void *arg)
{
	void *at, *request = NULL;
	int size = 100;

	pair_start(&p);
	at = p.to;
	CHECK(plugin()->iflush(p.recv, 1, &at, &size, &p.to_mh, &request) == REFUSED);
	return 0;
}

static int
closed_comm(void *arg)
{
	void *request;

	pair_start(&p);
	CHECK(plugin()->close_send(p.send) == NCCL_OK);
	CHECK(pair_send(&p, 100, &request) == REFUSED);
	return 0;
}

static int
closed_with_request(void *arg)
{
	void *request;
	int done;

	pair_start(&p);
	CHECK(pair_recv(&p, 100, &request) == NCCL_OK);
	CHECK(plugin()->close_recv(p.recv) == NCCL_OK);
	CHECK(plugin()->test(request, &done, NULL) == REFUSED);
	return 0;
}

static int
wrong_comm(void *arg)
{
	void *request;

	pair_start(&p);
	CHECK(plugin()->isend(p.recv, p.to, 100, 0, p.to_mh, &request) == REFUSED);
	return 0;
}

static int
no_comm(void *arg)
{
	void *request;

	pair_start(&p);
	CHECK(plugin()->isend(NULL, p.from, 100, 0, p.from_mh, &request) == REFUSED);
	return 0;
}

static int
no_request(void *arg)
{
	int done;

	pair_start(&p);
	CHECK(plugin()->test(NULL, &done, NULL) == REFUSED);
	return 0;
}

static int
empty_out_of_order(void *arg)
{
	void *send[2], *recv[2];

	pair_start(&p);
	pair_exchange(&p, 2, 0, send, recv);
	CHECK(plugin()->consumed(p.recv, 1, recv[1]) == REFUSED);
	return 0;
}

static int
bad_dev(void *arg)
{
	struct nccl_props_v7 props;

	CHECK(plugin()->properties(4, &props) == REFUSED);
	return 0;
}

static int
no_logger(void *arg)
{
	/* faithful: it must live without one */
	CHECK(plugin_only()->init(NULL) == NCCL_OK);
	return 0;
}

/* ---- two threads ---------------------------------------------------------------------------- */

static struct {
	void *comm, *mh;
	_Atomic int refused;
} shared;

/* Waits inside isend() for a connection that nobody accepts. */
static void *
sender(void *arg)
{
	void *request;

	if (plugin()->isend(shared.comm, p.from, 100, 0, shared.mh, &request) == REFUSED)
		shared.refused = 1;
	return NULL;
}

static int
concurrent(void *arg)
{
	uint64_t end = now_ms() + FOREVER_MS;
	struct halves h;
	pthread_t thread;
	void *mh;

	halves_listen(&h);
	while (!h.send)
		CHECK(plugin()->connect(0, h.handle, &h.send, NULL) == NCCL_OK);
	shared.comm = h.send;
	p.from = mem_new(4096);
	CHECK(plugin()->reg(h.send, p.from, 4096, NCCL_PTR_CUDA, &shared.mh) == NCCL_OK);
	CHECK(pthread_create(&thread, NULL, sender, NULL) == 0);
	while (!shared.refused) {
		if (plugin()->reg(h.send, p.from, 4096, NCCL_PTR_CUDA, &mh) == REFUSED)
			shared.refused = 1;
		CHECK(now_ms() < end);
	}
	return 0;
}

static int
dereg_twice(void *arg)
{
	pair_start(&p);
	CHECK(plugin()->dereg(p.send, p.from_mh) == NCCL_OK);
	CHECK(plugin()->dereg(p.send, p.from_mh) == REFUSED);
	return 0;
}

static int
no_init(void *arg)
{
	char handle[NCCL_HANDLE_BYTES] = { 0 };
	void *comm;
	int count;

	CHECK(plugin_only()->devices(&count) == REFUSED);
	CHECK(plugin_only()->listen(0, handle, &comm) == REFUSED);
	return 0;
}

TEST(what_comes_before_init_is_named)
{
	must_say("no-init", FAITHFUL, no_init, NULL); /* no mode is known yet */
	must_say("no-init", STRICT, no_init, NULL);
}

/* The sender does not wait for the other side's accept(). */
static int
no_barrier(void *arg)
{
	struct halves h = { 0 };
	void *at, *mh, *request;
	int done;

	plugin();
	at = mem_new(4096);
	halves_listen(&h);
	CHECK(plugin()->accept(h.listen, &h.recv, &h.device) == NCCL_OK && !h.recv);
	while (!h.send)
		CHECK(plugin()->connect(0, h.handle, &h.send, NULL) == NCCL_OK);
	CHECK(plugin()->reg(h.send, at, 4096, NCCL_PTR_CUDA, &mh) == NCCL_OK);
	CHECK(plugin()->isend(h.send, at, 100, 0, mh, &request) == NCCL_OK);
	CHECK(plugin()->test(request, &done, NULL) == NCCL_OK);
	while (!h.recv)
		CHECK(plugin()->accept(h.listen, &h.recv, &h.device) == NCCL_OK);
	return 0;
}

static int
host_receive(void *arg)
{
	static char into[4096];
	void *at = into, *mh, *request;
	int size = sizeof(into), tag = 0;

	pair_start(&p);
	CHECK(plugin()->reg(p.recv, into, sizeof(into), NCCL_PTR_HOST, &mh) == NCCL_OK);
	CHECK(plugin()->irecv(p.recv, 1, &at, &size, &tag, &mh, &request) == NCCL_OK);
	return 0;
}

static int
reg_unmapped(void *arg)
{
	void *mh;

	pair_start(&p);
	CHECK(plugin()->reg(p.send, NULL, 4096, NCCL_PTR_CUDA, &mh) == REFUSED);
	CHECK(plugin()->reg(p.send, (void *)0x1000, 4096, NCCL_PTR_CUDA, &mh) == REFUSED);
	return 0;
}

static int
close_busy(void *arg)
{
	void *request;

	pair_start(&p);
	CHECK(pair_send(&p, 100, &request) == NCCL_OK);
	CHECK(plugin()->close_send(p.send) == NCCL_OK);
	return 0;
}

static int
close_unconsumed(void *arg)
{
	void *send, *recv;

	pair_start(&p);
	pair_exchange(&p, 1, 0, &send, &recv);
	CHECK(plugin()->close_recv(p.recv) == NCCL_OK);
	return 0;
}

/* A receive for which nothing is ever sent: its side says so. */
static int
stall(void *arg)
{
	uint64_t end = now_ms() + 200;
	void *request;
	int done = 0;

	pair_start(&p);
	CHECK(pair_recv(&p, 100, &request) == NCCL_OK);
	while (now_ms() < end)
		CHECK(plugin()->test(request, &done, NULL) == NCCL_OK && !done);
	return 0;
}

/* Not this call's mistake alone, or one that the real plugin survives: named in both modes. */
TEST(what_would_hang_in_silence_is_named)
{
	must_abort("no-barrier", STRICT, no_barrier, NULL);
	must_say("close-busy", STRICT, close_busy, NULL);
	must_say("close-busy", FAITHFUL, close_unconsumed, NULL);
	must_say("stall", STRICT "|TCPX_EMU_STALL_MS=20", stall, NULL);
	must_say("reg-kind", STRICT, reg_unmapped, NULL);
}

static int
no_done(void *arg)
{
	void *request;

	pair_start(&p);
	CHECK(pair_send(&p, 100, &request) == NCCL_OK);
	CHECK(plugin()->test(request, NULL, NULL) == REFUSED);
	return 0;
}

/* The memory goes before the first test(), which would send it. */
static int
send_unmapped(void *arg)
{
	uint64_t end = now_ms() + FOREVER_MS;
	char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *request, *mh;
	int done = 0;

	plugin_awaits("[send-unmapped]"); /* a thread of the plugin finds it */
	pair_start(&p);
	CHECK(plugin()->reg(p.send, at, 4096, NCCL_PTR_CUDA, &mh) == NCCL_OK);
	CHECK(plugin()->isend(p.send, at, 100, 0, mh, &request) == NCCL_OK);
	munmap(at, 4096);
	while (!plugin_said() && now_ms() < end)
		CHECK(plugin()->test(request, &done, NULL) == NCCL_OK && !done);
	return 0;
}

/* A comm of the parent's, used in a child. */
static int
forked(void *arg)
{
	void *request;
	int status;
	pid_t pid;

	pair_start(&p);
	pid = fork();
	if (pid == 0)
		_exit(pair_send(&p, 100, &request) == REFUSED ? 0 : 9);
	CHECK(waitpid(pid, &status, 0) == pid);
	if (WIFSIGNALED(status))
		raise(WTERMSIG(status));
	CHECK(WEXITSTATUS(status) == 0);
	return 0;
}

static const struct {
	const char *name;
	int (*body)(void *);
	const char *env;
} misuses[] = {
	{ "no-done", no_done, "" },
	{ "send-unmapped", send_unmapped, "" },
	{ "forked", forked, "" },
	{ "host-receive", host_receive, "" },
	{ "mhandle-unknown", mhandle_unknown, "" },
	{ "mhandle-unknown", mhandle_of_another_nic, "" },
	{ "send-outside", send_outside, "" },
	{ "dereg-busy", dereg_busy, "" },
	{ "dereg-unknown", dereg_unknown, "" },
	{ "dereg-unknown", dereg_twice, "" },
	{ "iflush", iflush, "" },
	{ "closed-comm", closed_comm, "" },
	{ "closed-comm", closed_with_request, "" },
	{ "wrong-comm", wrong_comm, "" },
	{ "no-comm", no_comm, "" },
	{ "no-request", no_request, "" },
	{ "consume-order", empty_out_of_order, "" },
	{ "consume-early", empty_consumed_early, "" },
	{ "consume-twice", empty_consumed_twice, "" },
	{ "test-after-done", test_after_done, "" },
	{ "bad-dev", bad_dev, "" },
	{ "no-logger", no_logger, "" },
	{ "concurrent", concurrent, "|TCPX_EMU_FAULT=early-comm" },
};

TEST(what_strict_mode_ends)
{
	for (unsigned i = 0; i < sizeof(misuses) / sizeof(misuses[0]); i++)
		must_name(misuses[i].name, misuses[i].env, misuses[i].body);
}
