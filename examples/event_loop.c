/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event loop. One thread waits for requests, at a pipe, and for the ends of transfers: both
 * with poll(), nowhere else. Each request becomes a write of one block. The ends are taken in
 * batches, and the user pointer of each event leads back to its job.
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
	struct side *sender, *receiver;
	int requests;             /* a pipe; -1: it has ended */
	struct job job[JOBS], *idle;
	unsigned in_flight, most, done, batches, wrong;
};

static int
begin(struct loop *l, uint32_t block)
{
	struct tcpx_desc from = { l->sender->mine, (uint64_t)block * BLOCK, BLOCK };
	struct tcpx_desc to = { l->sender->theirs, (uint64_t)block * BLOCK, BLOCK };
	struct job *job = l->idle;
	tcpx_xfer *xfer;

	DO(tcpx_write(l->sender->peer, &from, 1, &to, 1, NULL, 0, &xfer));
	l->idle = job->next;
	job->block = block;
	tcpx_xfer_watch(xfer, job); /* its end will be an event with this pointer */
	if (++l->in_flight > l->most)
		l->most = l->in_flight;
	return 0;
}

/* Takes as many as there are idle jobs. */
static int
take_requests(struct loop *l)
{
	uint32_t block[JOBS];
	ssize_t n = read(l->requests, block, (JOBS - l->in_flight) * sizeof(block[0]));

	if (n < 0)
		return failed(-errno, "read");
	if (n == 0) {
		close(l->requests);
		l->requests = -1;
	}
	for (size_t i = 0; i < (size_t)n / sizeof(block[0]); i++)
		if (begin(l, block[i]))
			return 1;
	return 0;
}

/* The peer's memory is in this process, so the bytes can be compared. */
static int
take_end(struct loop *l, const struct tcpx_event *ev)
{
	struct job *job = ev->user;
	size_t at = (size_t)job->block * BLOCK;

	DO(tcpx_test(ev->xfer)); /* the status of the event, and the cause if it failed */
	l->wrong += memcmp(l->sender->memory + at, l->receiver->memory + at, BLOCK) != 0;
	tcpx_xfer_free(ev->xfer);
	job->next = l->idle;
	l->idle = job;
	l->in_flight--;
	l->done++;
	return 0;
}

static int
take_ends(struct loop *l)
{
	struct tcpx_event ev[BATCH];
	size_t n = BATCH;

	for (; tcpx_event_get(l->sender->engine, ev, sizeof(ev[0]), &n) == 0; n = BATCH) {
		for (size_t i = 0; i < n; i++)
			if (take_end(l, &ev[i]))
				return 1;
		l->batches++;
	}
	return 0;
}

static int
run(struct loop *l)
{
	struct pollfd fd[2] = { { .events = POLLIN }, { .events = POLLIN } };

	for (uint32_t i = 0; i < JOBS; i++) {
		l->job[i].next = l->idle;
		l->idle = &l->job[i];
	}
	fd[0].fd = tcpx_event_fd(l->sender->engine);
	while (l->requests >= 0 || l->in_flight) {
		/* poll() skips -1: without an idle job requests stay in the pipe */
		fd[1].fd = l->idle ? l->requests : -1;
		if (poll(fd, 2, -1) < 0)
			return failed(-errno, "poll");
		if ((fd[0].revents && take_ends(l)) || (fd[1].revents && take_requests(l)))
			return 1;
	}
	printf("%u of %u blocks of %u KiB, up to %u in flight, taken in %u batches, "
	       "%u wrong\n", l->done, BLOCKS, BLOCK >> 10, l->most, l->batches, l->wrong);
	return l->wrong || l->done != BLOCKS;
}

/* Here all requests are in the pipe at once; elsewhere they come from another program. */
static int
open_requests(struct loop *l)
{
	int end[2], rc = 0;

	if (pipe(end))
		return failed(-errno, "pipe");
	l->requests = end[0];
	for (uint32_t i = 0; i < BLOCKS && rc == 0; i++) {
		uint32_t block = i * 7 % BLOCKS;

		if (write(end[1], &block, sizeof(block)) < 0)
			rc = failed(-errno, "write");
	}
	close(end[1]);
	return rc;
}

static int
open_sides(struct side *sender, struct side *receiver)
{
	struct invitation inv;

	if (open_engine(receiver, "receiver") || open_engine(sender, "sender"))
		return 1;
	receiver->memory = calloc(BLOCKS, BLOCK);
	sender->memory = malloc((size_t)BLOCKS * BLOCK);
	for (size_t i = 0; sender->memory && i < (size_t)BLOCKS * BLOCK; i++)
		sender->memory[i] = (unsigned char)(i * 31 + (i >> 8));
	DO(tcpx_mem_register(receiver->engine, receiver->memory, (size_t)BLOCKS * BLOCK,
			     TCPX_MEM_REMOTE_WRITE, &receiver->mine));
	DO(tcpx_mem_register(sender->engine, sender->memory, (size_t)BLOCKS * BLOCK,
			     TCPX_MEM_LOCAL, &sender->mine));
	return invite(receiver, &inv) || accept_invitation(sender, &inv);
}

int
main(void)
{
	struct side sender = { 0 }, receiver = { 0 };
	struct loop l = { .sender = &sender, .receiver = &receiver, .requests = -1 };
	int rc = open_sides(&sender, &receiver) || open_requests(&l) || run(&l);

	if (l.requests >= 0)
		close(l.requests);
	give_back(&sender);
	give_back(&receiver);
	return rc;
}
