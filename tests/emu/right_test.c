/* SPDX-License-Identifier: Apache-2.0 */
/* A correct client moves its bytes: in every mode, over every kind of
 * memory, on many comms. */
#include "cases.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/client.h"

static int
move(void *arg)
{
	const struct work *w = arg;
	struct pair p[8];
	int devices = 0;
	bool right;

	CHECK(plugin()->devices(&devices) == NCCL_OK && devices == 4);
	for (unsigned i = 0; i < w->comms; i++) {
		pair_connect(&p[i], 0);
		pair_memory(&p[i], w->max);
	}
	right = pairs_move(p, w);
	for (unsigned i = 0; i < w->comms; i++)
		pair_close(&p[i]);
	return right ? 0 : 3;
}

TEST(random_sizes)
{
	for (unsigned comms = 1; comms <= 8; comms *= 2) {
		struct work w = { comms, 40, CHUNK, false, 100 + comms, false, 0 };

		must_pass(FAITHFUL, move, &w);
		must_pass(STRICT, move, &w);
	}
}

/* What looks like a mistake, and what the real plugin takes. */
static int
takes(void *arg)
{
	struct pair p, other;
	void *sent, *request;
	int done = 0;

	pair_start(&p);
	pair_connect(&other, 0);
	pair_memory(&other, 4096);
	/* a registration is the NIC's, not the comm's */
	CHECK(plugin()->isend(p.send, other.from, 100, 0, other.from_mh, &sent) == NCCL_OK);
	CHECK(pair_recv(&p, 100, &request) == NCCL_OK);
	finish(sent);
	while (!done)
		CHECK(plugin()->test(request, &done, NULL) == NCCL_OK);
	CHECK(plugin()->consumed(p.recv, 1, request) == NCCL_OK);
	CHECK(pair_send(&p, 100, &request) == NCCL_OK);
	CHECK(plugin()->consumed(p.send, 1, request) == NCCL_OK); /* and a warning */
	CHECK(plugin()->dereg(p.send, NULL) == NCCL_OK);
	CHECK(plugin()->dereg(p.recv, other.to_mh) == NCCL_OK);
	CHECK(plugin()->close_send(other.send) == NCCL_OK);
	CHECK(plugin()->close_send(NULL) == NCCL_OK && plugin()->close_recv(NULL) == NCCL_OK);
	CHECK(plugin()->close_listen(NULL) == NCCL_OK);
	return 0;
}

TEST(what_the_real_one_takes)
{
	must_say("consume-send", STRICT, takes, NULL);
	must_say("consume-send", FAITHFUL, takes, NULL);
}

/* With a copy of the handle from before the attempt. */
static int
connects_after_a_failure(void *arg)
{
	char copy[NCCL_HANDLE_BYTES];
	enum nccl_result result = NCCL_OK;
	struct halves h;

	halves_listen(&h);
	memcpy(copy, h.handle, sizeof(copy));
	while (result == NCCL_OK && !h.send)
		result = plugin()->connect(0, h.handle, &h.send, NULL);
	CHECK(result == NCCL_SYSTEM_ERROR);
	memcpy(h.handle, copy, sizeof(copy));
	halves_meet(&h);
	return 0;
}

TEST(a_failed_connect_may_be_repeated)
{
	must_pass(STRICT "|TCPX_EMU_FAULT=connect-error:comm=0", connects_after_a_failure, NULL);
	must_pass(FAITHFUL "|TCPX_EMU_FAULT=connect-error:comm=0", connects_after_a_failure, NULL);
}

/* Bytes that the heap has given out. */
static size_t
heap(void)
{
	return mallinfo2().uordblks + mallinfo2().hblkhd;
}

static int
pairs_come_and_go(void *arg)
{
	size_t before = 0, each;
	struct pair p;

	for (unsigned i = 0; i < 300; i++) {
		if (i == 100)
			before = heap(); /* as many are kept as are kept at all */
		pair_connect(&p, 0);
		pair_close(&p);
	}
	each = (heap() - before) / 200;
	fprintf(stderr, "%zu bytes a pair\n", each);
	CHECK(each < 256);
	return 0;
}

TEST(nothing_is_left_of_a_pair)
{
	must_pass(FAITHFUL "|NCCL_NSOCKS_PERTHREAD=1", pairs_come_and_go, NULL);
}

TEST(software_gpu)
{
	struct work w = { 2, 30, CHUNK, false, 5, false, 0 };
	char env[1024];

	snprintf(env, sizeof(env), "TCPX_CUDA_LIBRARY=%s|TCPX_EMU_MODE=strict", getenv("FAKECUDA_LIBRARY"));
	must_pass(env, move, &w);
	snprintf(env, sizeof(env), "TCPX_CUDA_LIBRARY=%s|TCPX_EMU_MEMORY=pinned",
		 getenv("FAKECUDA_LIBRARY"));
	must_pass(env, move, &w);
}

/* A function of the driver that mem_start() has loaded. */
static void
driver_find(const char *name, void *slot)
{
	void *library = dlopen(getenv("TCPX_CUDA_LIBRARY"), RTLD_NOW | RTLD_NOLOAD);
	void *address = library ? dlsym(library, name) : NULL;

	CHECK(address != NULL);
	memcpy(slot, &address, sizeof(address));
}

/* As beside NCCL: a kernel that waits for data, with more of its stream's work behind it, and
 * comms in both directions that carry that data. The GPU has 8 queues, as by default. */
static int
beside_a_kernel(void *arg)
{
	int (*stream_new)(void **, unsigned, int);
	int (*wait_for)(void *, uint64_t, uint64_t, unsigned);
	int (*host_new)(void **, size_t, unsigned);
	int (*sync)(void *);
	struct work *w = arg;
	struct pair p[8];
	void *stream[3], *flag;
	bool right;

	plugin();
	driver_find("cuStreamCreateWithPriority", &stream_new);
	driver_find("cuStreamWaitValue64_v2", &wait_for);
	driver_find("cuMemHostAlloc", &host_new);
	driver_find("cuStreamSynchronize", &sync);
	for (unsigned i = 0; i < 3; i++)
		CHECK(stream_new(&stream[i], 1, 0) == 0);
	CHECK(host_new(&flag, 4096, 3) == 0);
	memset(flag, 0, 4096);
	for (unsigned i = 0; i < w->comms; i++) {
		pair_connect(&p[i], 0);
		pair_memory(&p[i], w->max);
	}
	alarm(FOREVER_MS / 1000); /* what waits for ever does so in the driver */
	for (uint64_t kernel = 1; kernel <= 5; kernel++)
		CHECK(wait_for(stream[0], (uintptr_t)flag, kernel, 0) == 0);
	right = pairs_move(p, w);
	__atomic_store_n((uint64_t *)flag, 5, __ATOMIC_RELEASE);
	CHECK(sync(stream[0]) == 0);
	for (unsigned i = 0; i < w->comms; i++)
		pair_close(&p[i]);
	return right ? 0 : 3;
}

TEST(copies_do_not_wait_for_kernels)
{
	struct work w = { 8, 6, 64 << 10, false, 11, false, 0 };
	char env[1024];

	snprintf(env, sizeof(env), "TCPX_CUDA_LIBRARY=%s|TCPX_EMU_MEMORY=gpu|FAKECUDA_QUEUES=8",
		 getenv("FAKECUDA_LIBRARY"));
	must_pass(env, beside_a_kernel, &w);
}

TEST(a_chunk_for_each_socket)
{
	struct work w = { 1, 20, 4 * CHUNK, false, 6, false, 0 };

	must_pass(HOST "TCPX_EMU_POOL=40000", move, &w);
}

TEST(few_pages)
{
	struct work w = { 1, 60, 256 << 10, false, 7, false, 0 };

	/* in one row: else later messages may have the pages that the oldest one waits for */
	must_pass(STRICT "|TCPX_EMU_POOL=600|NCCL_NSOCKS_PERTHREAD=1", move, &w);
}

TEST(one_socket_and_announced_receives)
{
	struct work w = { 2, 40, CHUNK, false, 8, false, 0 };

	must_pass(STRICT "|NCCL_NSOCKS_PERTHREAD=1", move, &w);
	must_pass(STRICT "|NCCL_NSOCKS_PERTHREAD=2|NCCL_SOCKET_NTHREADS=4|"
		  "NCCL_GPUDIRECTTCPX_RECV_SYNC=1|NCCL_GPUDIRECTTCPX_SCHED_ALG=KATY", move, &w);
}

/* The table as a loader sees it, and the properties of the default NICs. */
static int
table(void *arg)
{
	const struct nccl_net_v7 *net = plugin();
	void *library = dlopen(getenv("EMU_LIBRARY"), RTLD_NOW | RTLD_NOLOAD), *dptr = arg;
	struct nccl_props_v7 props;

	CHECK(library && !dlsym(library, "ncclNetPlugin_v6") &&
	      !dlsym(library, "ncclNetPlugin_v8"));
	CHECK(!strcmp(net->name, "GPUDirectTCPX_v7") && !net->reg_dmabuf);
	CHECK(net->close_send == net->close_recv);
	CHECK(net->properties(2, &props) == NCCL_OK);
	CHECK(!strcmp(props.name, "eth3") && props.pci_path && props.guid == 2);
	CHECK(props.ptr_support == (NCCL_PTR_HOST | NCCL_PTR_CUDA) && props.max_recvs == 1);
	CHECK(props.device_type == NCCL_DEVICE_UNPACK &&
	      props.device_version == NCCL_UNPACK_VERSION);
	CHECK(net->device_mr(NULL, NULL, &dptr) == NCCL_OK && dptr == arg);
	return 0;
}

TEST(only_version_7_is_exported)
{
	must_pass(STRICT, table, NULL);
}

/* Threads may use it one after the other. */
static void *
tester(void *arg)
{
	finish(arg);
	return NULL;
}

static int
hand_over(void *arg)
{
	struct pair p;
	pthread_t thread;
	void *request;

	pair_start(&p);
	for (unsigned i = 0; i < 4; i++) {
		CHECK(pair_send(&p, 100, &request) == NCCL_OK);
		CHECK(pthread_create(&thread, NULL, tester, request) == 0);
		CHECK(pthread_join(thread, NULL) == 0);
	}
	return 0;
}

TEST(a_comm_may_change_hands)
{
	must_pass(STRICT, hand_over, NULL);
}

/* A comm that broke with requests on their way is closed first; its registrations go later. */
static int
dereg_after_close(void *arg)
{
	struct pair p;
	void *request;

	pair_start(&p);
	CHECK(pair_send(&p, 100, &request) == NCCL_OK);
	pair_close(&p);
	CHECK(plugin()->dereg(NULL, p.from_mh) == NCCL_OK);
	CHECK(plugin()->dereg(NULL, p.to_mh) == NCCL_OK);
	return 0;
}

TEST(registrations_outlive_their_comm)
{
	must_pass(STRICT, dereg_after_close, NULL);
}
