/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL's send, receive and collectives between two processes with a GPU each, for comparison. One
 * pair serves many measurements: a command a line on stdin, a JSON object a line on stdout.
 * Every byte of a message of the size is compared before anything is timed.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nccl_api.h"
#include "nccl_data.h"

enum {
	CHECKED = 64,            /* sizes remembered as compared                       */
	BLOCKING_SYNC = 4,       /* CU_CTX_SCHED_BLOCKING_SYNC: waiting costs no CPU   */
	NON_BLOCKING_STREAM = 1, /* CU_STREAM_NON_BLOCKING                             */
	PORTABLE = 1             /* CU_MEMHOSTALLOC_PORTABLE                           */
};

static struct nccl_api api; /* filled once, before all else */

/* One rank's result of a command. */
struct report {
	double cpu_s;
	uint64_t wrong; /* bytes, when the size was compared */
};

/* One process. */
struct rank {
	int me, other;             /* the other rank's number is 1 - me            */
	int link;                  /* to the other rank: commands, barriers, reports */
	void *comm, *out, *in;     /* NCCL's communicator; two streams             */
	void *event[ROUND_TRIPS + 1];
	uint64_t src, dst, room;   /* GPU memory, both of @room bytes              */
	void *pinned[2];           /* for path, of @pinned_room bytes              */
	uint64_t pinned_room;
	uint64_t checked[CHECKED];
	size_t checks;
	uint8_t *stage;
};

static void __attribute__((format(printf, 1, 2), noreturn))
die(const char *fmt, ...)
{
	va_list ap;

	fputs("nccl_p2p: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

/* A failed call ends the process: the driver of the comparison starts another pair. */
#define NCCL(call) do { int rc_ = (call); if (rc_) \
	die(#call ": %s", api.nccl_strerror(rc_)); } while (0)
#define CUDA(call) do { int rc_ = (call); if (rc_) die(#call ": CUDA error %d", rc_); } while (0)

static double
now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double
cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void
tell(const struct rank *r, const void *what, size_t len)
{
	if (send(r->link, what, len, MSG_NOSIGNAL) != (ssize_t)len)
		die("rank %d: the other process is gone", r->me);
}

static void
hear(const struct rank *r, void *what, size_t len)
{
	if (recv(r->link, what, len, MSG_WAITALL) != (ssize_t)len)
		die("rank %d: the other process is gone", r->me);
}

/* ---- data ------------------------------------------------------------------------ */

static uint64_t
min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Makes both buffers at least this large. */
static void
make_room(struct rank *r, uint64_t size)
{
	if (size <= r->room)
		return;
	if (r->room) {
		CUDA(api.free(r->src));
		CUDA(api.free(r->dst));
	}
	CUDA(api.alloc(&r->src, size));
	CUDA(api.alloc(&r->dst, size));
	r->room = size;
	for (uint64_t at = 0; at < size; at += STAGE_BYTES) {
		data_fill(r->stage, at, r->me);
		CUDA(api.to_gpu(r->src + at, r->stage, min_u64(size - at, STAGE_BYTES)));
	}
}

static void
make_pinned(struct rank *r, uint64_t size)
{
	for (int i = 0; i < 2 && size > r->pinned_room; i++) {
		if (r->pinned_room)
			CUDA(api.free_host(r->pinned[i]));
		CUDA(api.alloc_host(&r->pinned[i], size, PORTABLE));
		memset(r->pinned[i], 0, size);
	}
	r->pinned_room = size > r->pinned_room ? size : r->pinned_room;
}

static uint64_t
count_wrong(const struct rank *r, enum verb verb, uint64_t size)
{
	uint8_t *want = r->stage, *got = r->stage + STAGE_BYTES;
	uint64_t wrong = 0, len;

	for (uint64_t at = 0; at < data_received(verb, size); at += len) {
		len = data_want(want, verb, size, at, r->me);
		CUDA(api.to_host(got, r->dst + at, len));
		if (!memcmp(want, got, len))
			continue;
		for (uint64_t i = 0; i < len; i++)
			wrong += want[i] != got[i];
	}
	return wrong;
}

/* ---- messages -------------------------------------------------------------------- */

static void
send_one(const struct rank *r, uint64_t size)
{
	NCCL(api.nccl_send((void *)(uintptr_t)r->src, size, NCCL_UINT8, r->other, r->comm, r->out));
}

static void
recv_one(const struct rank *r, uint64_t size)
{
	NCCL(api.nccl_recv((void *)(uintptr_t)r->dst, size, NCCL_UINT8, r->other, r->comm, r->out));
}

/* @part bytes to each rank, itself too, as NCCL's own tests do. */
static void
to_all(const struct rank *r, uint64_t part)
{
	NCCL(api.nccl_group_start());
	for (int peer = 0; peer < 2; peer++) {
		uint64_t at = (uint64_t)peer * part;

		NCCL(api.nccl_send((void *)(uintptr_t)(r->src + at), part, NCCL_UINT8, peer, r->comm, r->out));
		NCCL(api.nccl_recv((void *)(uintptr_t)(r->dst + at), part, NCCL_UINT8, peer, r->comm, r->out));
	}
	NCCL(api.nccl_group_end());
}

static void
collect_one(const struct rank *r, enum verb verb, uint64_t size)
{
	void *from = (void *)(uintptr_t)r->src, *to = (void *)(uintptr_t)r->dst;

	if (verb == ALLREDUCE)
		NCCL(api.nccl_all_reduce(from, to, size / 4, NCCL_UINT32, NCCL_SUM, r->comm, r->out));
	else if (verb == ALLGATHER)
		NCCL(api.nccl_all_gather(from, to, size / 8, NCCL_UINT32, r->comm, r->out));
	else if (verb == ALLTOALL)
		to_all(r, size / 2);
	else
		NCCL(api.nccl_reduce_scatter(from, to, size / 8, NCCL_UINT32, NCCL_SUM, r->comm, r->out));
}

static void
queue_collectives(const struct rank *r, const struct command *c, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		collect_one(r, c->verb, c->size);
}

static void
queue_messages(const struct rank *r, const struct command *c, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		if (i % c->group == 0)
			NCCL(api.nccl_group_start());
		if (r->me == 0 || c->verb == BI)
			send_one(r, c->size);
		if (r->me == 1 || c->verb == BI)
			recv_one(r, c->size);
		if (i % c->group == c->group - 1 || i == count - 1)
			NCCL(api.nccl_group_end());
	}
}

/* All queued at once: no host work between the way there and back. */
static void
queue_round_trips(const struct rank *r, const struct command *c, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		CUDA(api.record(r->event[i], r->out));
		if (r->me == 0)
			send_one(r, c->size);
		recv_one(r, c->size);
		if (r->me == 1)
			send_one(r, c->size);
	}
	CUDA(api.record(r->event[count], r->out));
}

static void
queue_copies(const struct rank *r, const struct command *c, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		if (r->me == 0 || c->verb == PATHBI)
			CUDA(api.to_host_async(r->pinned[0], r->src, c->size, r->out));
		if (r->me == 1 || c->verb == PATHBI)
			CUDA(api.to_gpu_async(r->dst, r->pinned[1], c->size, r->in));
	}
}

static void
run(const struct rank *r, const struct command *c, uint64_t count)
{
	if (c->verb == PINGPONG)
		queue_round_trips(r, c, count);
	else if (verb_is_collective(c->verb))
		queue_collectives(r, c, count);
	else if (c->verb == PATH || c->verb == PATHBI)
		queue_copies(r, c, count);
	else
		queue_messages(r, c, count);
	CUDA(api.sync(r->out));
	CUDA(api.sync(r->in));
}

/* Once a size and kind: both ways, onto poisoned memory. Returns the bytes that differ here. */
static uint64_t
check(struct rank *r, enum verb verb, uint64_t size)
{
	const struct command both = { verb_is_collective(verb) ? verb : BI, size, 1, 1 };
	uint64_t key = size * VERBS + both.verb;

	for (size_t i = 0; i < r->checks; i++)
		if (r->checked[i] == key)
			return 0;
	CUDA(api.fill(r->dst, 0xa5, size));
	CUDA(api.sync(NULL));
	run(r, &both, 1);
	if (r->checks < CHECKED)
		r->checked[r->checks++] = key;
	return count_wrong(r, both.verb, size);
}

/* The part of a command that both ranks run. The clock starts when both are ready, and
 * stops when both are done and rank 0 knows it. */
static struct report
take_part(struct rank *r, const struct command *c, struct report *others, double *seconds)
{
	struct report mine = { 0 };
	char ready = 'r';
	double start;

	make_room(r, c->size);
	if (c->verb == PATH || c->verb == PATHBI)
		make_pinned(r, c->size);
	else
		mine.wrong = check(r, c->verb, c->size);
	run(r, c, min_u64(c->count, c->size < 16 << 20 ? 20 : 2)); /* warm-up */
	if (r->me == 1)
		tell(r, &ready, 1);
	else
		hear(r, &ready, 1);
	start = now_s();
	mine.cpu_s = -cpu_s();
	if (r->me == 0)
		tell(r, &ready, 1);
	else
		hear(r, &ready, 1);
	run(r, c, c->count);
	if (r->me == 0)
		hear(r, others, sizeof(*others));
	*seconds = now_s() - start;
	mine.cpu_s += cpu_s();
	if (r->me == 1)
		tell(r, &mine, sizeof(mine));
	return mine;
}

/* ---- rank 0: commands and answers ------------------------------------------------ */

static void
print_round_trips(const struct rank *r, uint64_t count)
{
	static float us[ROUND_TRIPS];
	float ms;

	for (uint64_t i = 0; i < count; i++) {
		CUDA(api.elapsed(&ms, r->event[i], r->event[i + 1]));
		us[i] = ms * 1000 / 2;
	}
	round_trips_print(us, count);
}

static void
answer(struct rank *r, const struct command *c)
{
	struct report mine, others;
	double seconds;

	tell(r, c, sizeof(*c));
	mine = take_part(r, c, &others, &seconds);
	answer_print(c, seconds, mine.cpu_s + others.cpu_s, mine.wrong + others.wrong);
	if (c->verb == PINGPONG)
		print_round_trips(r, c->count);
	printf("}\n");
	fflush(stdout);
}

static void
serve_stdin(struct rank *r)
{
	struct command c;
	char line[128];

	while (fgets(line, sizeof(line), stdin) && strcmp(line, "quit\n")) {
		if (command_parse(line, &c))
			answer(r, &c);
		else
			command_refuse();
	}
}

/* ---- both ------------------------------------------------------------------------ */

static void
open_rank(struct rank *r, int ordinal, const char *nccl, const char *cuda)
{
	struct nccl_id id;
	const char *why;
	void *context;
	int device;

	why = nccl_api_load(&api, nccl, cuda);
	if (why)
		die("%s", why);
	r->stage = malloc(2 * STAGE_BYTES);
	if (!r->stage)
		die("out of memory");
	CUDA(api.init(0));
	CUDA(api.device(&device, ordinal));
	CUDA(api.set_flags(device, BLOCKING_SYNC));
	CUDA(api.retain(&context, device));
	CUDA(api.set_current(context));
	CUDA(api.stream(&r->out, NON_BLOCKING_STREAM));
	CUDA(api.stream(&r->in, NON_BLOCKING_STREAM));
	for (int i = 0; i <= ROUND_TRIPS; i++)
		CUDA(api.event(&r->event[i], 0));
	if (r->me == 0) {
		NCCL(api.nccl_id(&id));
		tell(r, &id, sizeof(id));
	} else {
		hear(r, &id, sizeof(id));
	}
	NCCL(api.nccl_init(&r->comm, 2, id, r->me));
}

static void
greet(int version, double setup_s)
{
	int thousand = version < 10000 ? 1000 : 10000; /* 2.8.4 is 2804, 2.28.3 is 22803 */

	printf("{\"ready\": true, \"nccl\": \"%d.%d.%d\", \"setup_s\": %.2f}\n",
	       version / thousand, version % thousand / 100, version % 100, setup_s);
	fflush(stdout);
}

/* The first process reads commands until the end of input; the second follows it. */
static void
live(struct rank *r, const int *ordinal, const char *nccl, const char *cuda)
{
	double seconds, start = now_s();
	struct command c;
	int version;

	open_rank(r, ordinal[r->me], nccl, cuda);
	if (r->me == 0) {
		NCCL(api.nccl_version(&version));
		greet(version, now_s() - start);
		serve_stdin(r);
		shutdown(r->link, SHUT_WR);
	} else {
		while (recv(r->link, &c, sizeof(c), MSG_WAITALL) == (ssize_t)sizeof(c))
			take_part(r, &c, NULL, &seconds);
	}
	NCCL(api.nccl_destroy(r->comm));
}

int
main(int argc, char **argv)
{
	/* without these NCCL would use NVLink or shared memory */
	static const char *const forced[][2] = {
		{ "NCCL_P2P_DISABLE", "1" }, { "NCCL_SHM_DISABLE", "1" },
		{ "NCCL_NET_PLUGIN", "none" }, { "NCCL_IB_DISABLE", "1" }, { "NCCL_NVLS_ENABLE", "0" },
		{ "NCCL_SOCKET_IFNAME", "lo" } };
	int ordinal[2] = { argc > 1 ? atoi(argv[1]) : 0, argc > 2 ? atoi(argv[2]) : 1 };
	const char *nccl = argc > 3 ? argv[3] : "libnccl.so.2";
	const char *cuda = argc > 4 ? argv[4] : "libcuda.so.1";
	static struct rank r;
	int link[2], status = 1;
	pid_t child;

	if (argc > 5 || (argc > 1 && argv[1][0] == '-')) {
		fprintf(stderr, "usage: nccl_p2p [GPU GPU [LIBNCCL [LIBCUDA]]]\n");
		return 2;
	}
	for (size_t i = 0; i < sizeof(forced) / sizeof(forced[0]); i++)
		setenv(forced[i][0], forced[i][1], 0);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, link))
		die("socketpair failed");
	child = fork(); /* before the driver is touched */
	if (child < 0)
		die("fork failed");
	r = (struct rank){ .me = child == 0, .other = child != 0, .link = link[child == 0] };
	close(link[child != 0]);
	/* two nodes, for NCCL: it plans as between machines */
	if (getenv("NCCL_P2P_HOSTS"))
		setenv("NCCL_HOSTID", r.me ? "bench-b" : "bench-a", 0);
	if (child == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	live(&r, ordinal, nccl, cuda);
	if (child == 0)
		return 0;
	waitpid(child, &status, 0);
	return status != 0;
}
