/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event loop. One thread waits for requests, at a pipe, and for the ends of transfers: both
 * with poll(), nowhere else. Each request becomes a write of one block. What has ended is taken
 * in batches, and the user pointer of each event leads back to its job.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "example.h"

#define BLOCK  (16u << 10)
#define BLOCKS 1000u
#define JOBS   64u /* in flight, at most */
#define BATCH  16u

struct job {
	uint32_t block;
	struct job *next; /* idle ones are a list */
};

struct loop {
	tcpx_engine *engine;
	tcpx_peer *peer;
	uint64_t mine, theirs;    /* regions, and where they are */
	unsigned char *near, *far;
	int requests;             /* a pipe; -1: it has ended */
	struct job job[JOBS], *idle;
	unsigned in_flight, most, done, batches, wrong;
};

static void
begin(struct loop *l, uint32_t block)
{
	struct tcpx_desc from = { l->mine, (uint64_t)block * BLOCK, BLOCK };
	struct tcpx_desc to = { l->theirs, (uint64_t)block * BLOCK, BLOCK };
	struct job *job = l->idle;
	tcpx_xfer *xfer;

	l->idle = job->next;
	job->block = block;
	must(tcpx_write(l->peer, &from, 1, &to, 1, NULL, 0, &xfer), "tcpx_write");
	tcpx_xfer_watch(xfer, job); /* its end will be an event with this pointer */
	if (++l->in_flight > l->most)
		l->most = l->in_flight;
}

/* As many as there are idle jobs. */
static void
take_requests(struct loop *l)
{
	uint32_t block[JOBS];
	ssize_t n = read(l->requests, block, (JOBS - l->in_flight) * sizeof(block[0]));

	must(n < 0 ? -errno : 0, "read");
	if (n == 0) {
		close(l->requests);
		l->requests = -1;
	}
	for (size_t i = 0; i < (size_t)n / sizeof(block[0]); i++)
		begin(l, block[i]);
}

/* All that have ended. The peer's memory is in this process, so the bytes can be compared. */
static void
take_ends(struct loop *l)
{
	struct tcpx_event ev[BATCH];
	size_t n = BATCH;

	for (; tcpx_event_get(l->engine, ev, sizeof(ev[0]), &n) == 0; n = BATCH, l->batches++)
		for (size_t i = 0; i < n; i++) {
			struct job *job = ev[i].user;
			size_t at = (size_t)job->block * BLOCK;

			must(ev[i].status, "the write of a block");
			l->wrong += memcmp(l->near + at, l->far + at, BLOCK) != 0;
			tcpx_xfer_free(ev[i].xfer);
			job->next = l->idle;
			l->idle = job;
			l->in_flight--;
			l->done++;
		}
}

static void
run(struct loop *l)
{
	struct pollfd fd[2] = { { .events = POLLIN }, { .events = POLLIN } };

	for (uint32_t i = 0; i < JOBS; i++) {
		l->job[i].next = l->idle;
		l->idle = &l->job[i];
	}
	fd[0].fd = tcpx_event_fd(l->engine);
	while (l->requests >= 0 || l->in_flight) {
		/* without an idle job requests stay in the pipe: poll() skips what is negative */
		fd[1].fd = l->idle ? l->requests : -1;
		must(poll(fd, 2, -1) < 0 ? -errno : 0, "poll");
		if (fd[0].revents)
			take_ends(l);
		if (fd[1].revents)
			take_requests(l);
	}
}

/* Here all requests are in the pipe at once; elsewhere they come from another program. */
static int
requests(void)
{
	int end[2];

	must(pipe(end) ? -errno : 0, "pipe");
	for (uint32_t i = 0; i < BLOCKS; i++) {
		uint32_t block = i * 7 % BLOCKS;

		must(write(end[1], &block, sizeof(block)) < 0 ? -errno : 0, "write");
	}
	close(end[1]);
	return end[0];
}

int
main(void)
{
	tcpx_engine *receiver = open_engine("receiver");
	struct loop l = { .engine = open_engine("sender"), .requests = requests() };
	struct invitation inv;
	uint64_t region;

	l.near = malloc((size_t)BLOCKS * BLOCK);
	l.far = calloc(BLOCKS, BLOCK);
	for (size_t i = 0; l.near && i < (size_t)BLOCKS * BLOCK; i++)
		l.near[i] = (unsigned char)(i * 31 + (i >> 8));
	must(tcpx_mem_register(receiver, l.far, (size_t)BLOCKS * BLOCK, TCPX_MEM_REMOTE_WRITE,
			       &region), "tcpx_mem_register");
	must(tcpx_mem_register(l.engine, l.near, (size_t)BLOCKS * BLOCK, TCPX_MEM_LOCAL, &l.mine),
	     "tcpx_mem_register");
	inv = invite(receiver, region);
	must(tcpx_mem_import(l.engine, inv.region, inv.region_len, &l.theirs), "tcpx_mem_import");
	must(tcpx_peer_add(l.engine, inv.engine, inv.engine_len, &l.peer), "tcpx_peer_add");

	run(&l);
	printf("%u of %u blocks of %u KiB, up to %u in flight, taken in %u batches, %u wrong\n",
	       l.done, BLOCKS, BLOCK >> 10, l.most, l.batches, l.wrong);
	must(l.wrong || l.done != BLOCKS ? TCPX_EDATA : 0, "data");

	tcpx_peer_free(l.peer);
	tcpx_close(l.engine);
	tcpx_close(receiver);
	free(l.near);
	free(l.far);
	return 0;
}
