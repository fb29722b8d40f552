/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which end of a comm comes first, and which goes first: by the plugin's calls alone.
 * Usage: nccl_ends PLUGIN
 */
#include "cases.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/plugin/plug.h"
#include "pair.h"

enum { VERSION = 11, MANY = 32, BYTES = 3000, LARGE = 4 << 20 };
enum { COMMS = 4, CHANNELS = 3, FILES = 1024 };

static const char *plugin;

/* One comm each way, and memory of this process. */
struct ends {
	struct player *player;
	void *send, *recv, *mhandle;
	uint8_t *memory;
};

static uint8_t memory[LARGE];

static bool
ends_open(struct rank *r, struct ends *e)
{
	struct player *p = &r->player;

	*e = (struct ends){ .player = p, .memory = memory };
	return pair_connect(r, &e->send, &e->recv, 1) &&
	       !p->abi->reg(p->table, e->recv, memory, sizeof(memory), NCCL_PTR_HOST, &e->mhandle);
}

static void
close_send(struct ends *e)
{
	e->player->abi->close_send(e->player->table, e->send);
}

static void
close_recv(struct ends *e)
{
	e->player->abi->close_recv(e->player->table, e->recv);
}

static enum nccl_result
post(struct ends *e, bool sends, size_t offset, size_t len, void **request)
{
	const struct plug_abi *abi = e->player->abi;
	void *at = (void *)((uintptr_t)e->memory + offset);

	*request = NULL;
	if (sends)
		return abi->isend(e->player->table, e->send, at, len, 0, e->mhandle, request);
	return abi->irecv(e->player->table, e->recv, at, len, 0, e->mhandle, request);
}

/* Until it ends; *size is the message's. */
static enum nccl_result
finish(struct ends *e, void *request, int *size)
{
	enum nccl_result result = NCCL_OK;
	int done = 0;

	while (!result && !done)
		result = e->player->abi->test(e->player->table, request, &done, size);
	return result;
}

static bool
said(const char *what)
{
	if (strstr(player_warnings(), what))
		return true;
	fprintf(stderr, "not said: '%s', but: %s\n", what, player_warnings());
	return false;
}

/* ---- the sender first ------------------------------------------------------------ */

/* All that a comm may have are posted, as requests, before there is one receive: one by one they
 * meet theirs, which are longer. */
static int
play_sends_first(struct rank *r)
{
	bool sends = r->me == 0;
	void *request[MANY];
	struct ends e;
	int size;

	if (!ends_open(r, &e))
		return 1;
	memset(memory, sends ? 7 : 0, sizeof(memory));
	for (int i = 0; sends && i < MANY; i++) {
		memory[i * BYTES] = (uint8_t)(100 + i);
		if (post(&e, true, (size_t)i * BYTES, (size_t)i, &request[i]) || !request[i])
			return 2;
	}
	pair_meet(r);
	for (int i = 0; !sends && i < MANY; i++)
		if (post(&e, false, (size_t)i * BYTES, BYTES, &request[i]) || !request[i])
			return 3;
	for (int i = 0; i < MANY; i++)
		if (finish(&e, request[i], &size) || size != i ||
		    (i && memory[i * BYTES] != 100 + i) || (!sends && memory[i * BYTES + i] != 0))
			return 4;
	pair_meet(r);
	close_send(&e);
	close_recv(&e);
	return 0;
}

TEST(sends_wait_for_their_receives)
{
	assert_true(pair_run(plugin, VERSION, play_sends_first, NULL));
}

/* A listen comm that is closed, and one that has its sender. */
static int
play_nobody(struct rank *r)
{
	struct player *p = &r->player;
	uint8_t handle[2][PLUG_HANDLE_BYTES], again[PLUG_HANDLE_BYTES];
	void *listen[2], *send = NULL, *recv = NULL, *other = NULL;
	enum nccl_result result;

	for (int i = 0; i < 2; i++)
		if (p->abi->listen(p->table, p->ctx, 0, handle[i], &listen[i]))
			return 1;
	p->abi->close_listen(p->table, listen[0]);
	do
		result = p->abi->connect(p->table, p->ctx, 0, handle[0], &other);
	while (!result && !other);
	if (!result || !said("connecting to"))
		return 2;
	memcpy(again, handle[1], sizeof(again));
	while (!send || !recv)
		if ((!send && p->abi->connect(p->table, p->ctx, 0, handle[1], &send)) ||
		    (!recv && p->abi->accept(p->table, listen[1], &recv, NULL)))
			return 3;
	do
		result = p->abi->connect(p->table, p->ctx, 0, again, &other);
	while (!result && !other);
	p->abi->close_send(p->table, send);
	p->abi->close_recv(p->table, recv);
	p->abi->close_listen(p->table, listen[1]);
	return result ? 0 : 4;
}

TEST(nobody_listens_is_an_error)
{
	assert_true(pair_run(plugin, VERSION, play_nobody, NULL));
}

/* A handle in which the state of its connection is another: at first, and once it dials. */
static int
play_changed(struct rank *r)
{
	struct player *p = &r->player;
	uint8_t handle[PLUG_HANDLE_BYTES], changed[PLUG_HANDLE_BYTES];
	void *listen, *send = NULL, *recv = NULL, *other = NULL;

	if (p->abi->listen(p->table, p->ctx, 0, handle, &listen))
		return 1;
	for (int i = 0; i < 3; i++) {
		memcpy(changed, handle, sizeof(changed));
		changed[sizeof(changed) - 8] ^= 0x40;
		changed[sizeof(changed) - 6] ^= 1;
		if (p->abi->connect(p->table, p->ctx, 0, changed, &other) != NCCL_INVALID_ARGUMENT || other ||
		    !said("the handle was changed on its way"))
			return 2 + i;
		if (!send && p->abi->connect(p->table, p->ctx, 0, handle, &send))
			return 5;
	}
	while (!send || !recv)
		if ((!send && p->abi->connect(p->table, p->ctx, 0, handle, &send)) ||
		    (!recv && p->abi->accept(p->table, listen, &recv, NULL)))
			return 6;
	p->abi->close_send(p->table, send);
	p->abi->close_recv(p->table, recv);
	p->abi->close_listen(p->table, listen);
	return 0;
}

TEST(a_handle_that_was_changed_is_refused)
{
	assert_true(pair_run(plugin, VERSION, play_changed, NULL));
}

/* ---- messages that are refused ---------------------------------------------------- */

/* An end that refuses one takes no other, so each end of each pair of comms has one. */
static int
play_outside(struct rank *r)
{
	static const struct {
		size_t offset, len;
		enum nccl_result want;
		const char *why;
	} rows[] = {
		{ LARGE, 1, NCCL_INVALID_USAGE, "offset 4194304 length 1, " },
		{ 1, LARGE, NCCL_INVALID_USAGE, "offset 1 length 4194304, " },
		{ 0, LARGE + 1, NCCL_INVALID_USAGE, "offset 0 length 4194305, " },
		{ SIZE_MAX, 2, NCCL_INVALID_USAGE, "offset 18446744073709551615 length 2, " },
		{ 2, SIZE_MAX, NCCL_INVALID_USAGE, "offset 2 length 18446744073709551615, " },
		{ 0, 1, NCCL_INVALID_ARGUMENT, "its memory is not registered" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum nccl_result got;
		void *request, *whole;
		struct ends e;

		if (!ends_open(r, &e))
			return 1;
		whole = e.mhandle;
		if (rows[i].want == NCCL_INVALID_ARGUMENT)
			e.mhandle = NULL;
		for (int sends = 0; sends < 2; sends++) {
			got = post(&e, sends, rows[i].offset, rows[i].len, &request);
			if (got != rows[i].want || request)
				return 2 + (int)i;
		}
		if (!said(rows[i].why) || !said("a message with"))
			return 20 + (int)i;
		e.player->abi->dereg(e.player->table, e.recv, whole);
		pair_meet(r);
		close_send(&e);
		close_recv(&e);
	}
	return 0;
}

TEST(a_message_outside_its_memory_is_refused)
{
	assert_true(pair_run(plugin, VERSION, play_outside, NULL));
}

/* ---- one end closes with requests under way -------------------------------------- */

/* Process 0 closes its end of both comms; the other's requests end with an error that says so. */
static int
play_close(struct rank *r)
{
	void *sent, *received;
	struct ends e;
	int size;

	if (!ends_open(r, &e) || post(&e, true, 0, LARGE / 2, &sent))
		return 1; /* no receive will meet it */
	pair_meet(r);
	if (r->me == 0)
		close_recv(&e);
	else if (finish(&e, sent, &size) == NCCL_OK || !said("closed by its receiver"))
		return 2;
	pair_meet(r);
	if (r->me == 1 && post(&e, false, 0, LARGE, &received))
		return 3; /* meets the other's send */
	pair_meet(r);
	if (r->me == 0)
		close_send(&e);
	else if (finish(&e, received, &size) == NCCL_OK && size != LARGE / 2)
		return 4; /* it was quick, or: */
	pair_meet(r);
	if (r->me == 1)
		close_send(&e);
	if (r->me == 1)
		close_recv(&e);
	return 0;
}

TEST(the_other_end_may_close_first)
{
	for (int i = 0; i < 10; i++)
		assert_true(pair_run(plugin, VERSION, play_close, NULL));
}

/* The receiver has closed before the sender asks whether it is connected: it is, and its first
 * message fails. */
static int
play_gone(struct rank *r)
{
	uint8_t handle[PLUG_HANDLE_BYTES];
	struct player *p = &r->player;
	void *listen, *comm = NULL, *request = NULL;
	enum nccl_result result;
	struct ends e;

	if (!ends_open(r, &e) || p->abi->listen(p->table, p->ctx, 0, handle, &listen))
		return 1; /* there is a session */
	pair_exchange(r, handle, handle, sizeof(handle));
	if (r->me == 0 && p->abi->connect(p->table, p->ctx, 0, handle, &comm))
		return 2;
	while (r->me == 1 && !comm)
		if (p->abi->accept(p->table, listen, &comm, NULL))
			return 3;
	if (r->me == 1)
		p->abi->close_recv(p->table, comm);
	pair_meet(r);
	while (r->me == 0 && !comm)
		if (p->abi->connect(p->table, p->ctx, 0, handle, &comm))
			return 4;
	if (r->me == 0) {
		p->abi->close_send(p->table, e.send);
		e.send = comm;
		do
			result = post(&e, true, 0, 8, &request);
		while (!result && finish(&e, request, NULL) == NCCL_OK);
	}
	p->abi->close_listen(p->table, listen);
	close_send(&e);
	close_recv(&e);
	return r->me == 1 || said("closed by its receiver") ? 0 : 5;
}

TEST(a_comm_whose_receiver_has_gone_fails_with_its_message)
{
	assert_true(pair_run(plugin, VERSION, play_gone, NULL));
}

/* A receiver has its last message and closes at once, often before its sender knows. */
static int
play_last(struct rank *r)
{
	void *request;
	struct ends e;
	int size;

	for (int round = 0; round < 50; round++) {
		if (!ends_open(r, &e))
			return 1;
		if (post(&e, r->me == 0, 0, LARGE >> round % 20, &request) ||
		    finish(&e, request, &size) || size != LARGE >> round % 20) {
			fprintf(stderr, "round %d: %s\n", round, player_warnings());
			return 2;
		}
		e.player->abi->dereg(e.player->table, e.send, e.mhandle);
		close_recv(&e);
		close_send(&e);
	}
	pair_meet(r);
	return 0;
}

TEST(a_receiver_closes_with_its_last_message)
{
	assert_true(pair_run(plugin, VERSION, play_last, NULL));
}

/* Lives, as a loader of data does, until the other rank has ended. */
static bool
leave_child(const struct rank *r)
{
	pid_t pid = fork();
	char end;

	if (pid == 0) {
		(void)!recv(r->link, &end, 1, 0);
		_Exit(0);
	}
	return pid > 0;
}

/* The sender is killed in mid message, and a child of it lives on. */
static int
play_killed(struct rank *r)
{
	void *request[2];
	struct ends e;
	int size;

	if (!ends_open(r, &e))
		return 1;
	for (int i = 0; i < 2; i++)
		if (post(&e, r->me == 0, 0, LARGE, &request[i]))
			return 2;
	if (finish(&e, request[0], &size))
		return 3;
	if (r->me == 0)
		_Exit(leave_child(r) ? 0 : 5);
	while (finish(&e, request[1], &size) == NCCL_OK)
		if (post(&e, false, 0, LARGE, &request[1])) /* that one had come */
			break;
	if (!said("failed: "))
		return 4;
	e.player->abi->dereg(e.player->table, e.send, e.mhandle);
	close_recv(&e);
	close_send(&e);
	return 0;
}

TEST(a_killed_sender_is_an_error_of_the_receive)
{
	assert_true(pair_run(plugin, VERSION, play_killed, NULL));
}

/* Connections over TCP of this process. */
static int
connections(void)
{
	struct sockaddr_storage at;
	int count = 0;

	for (int fd = 0; fd < FILES; fd++) {
		socklen_t len = sizeof(at);

		count += getpeername(fd, (struct sockaddr *)&at, &len) == 0 && at.ss_family == AF_INET;
	}
	return count;
}

/* Both dial each other at once, for several comms each way; one session is left, with what it needs. */
static int
play_one_session(struct rank *r)
{
	void *send[COMMS], *recv[COMMS];
	struct player *p = &r->player;

	if (!pair_connect(r, send, recv, COMMS))
		return 1;
	while (connections() != 1 + 2 * CHANNELS) /* the other is given up in a moment */
		sched_yield();
	pair_meet(r);
	for (int i = 0; i < COMMS; i++) {
		p->abi->close_send(p->table, send[i]);
		p->abi->close_recv(p->table, recv[i]);
	}
	return 0;
}

TEST(ranks_that_dial_each_other_have_one_session)
{
	setenv("TCPX_CHANNELS", "3", 1);
	setenv("TCPX_NARROW", "0", 1);
	for (int i = 0; i < 4; i++)
		assert_true(pair_run(plugin, VERSION, play_one_session, NULL));
	unsetenv("TCPX_CHANNELS");
	unsetenv("TCPX_NARROW");
}

int
main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	plugin = argv[1];
	setenv("NCCL_SOCKET_IFNAME", "lo", 1);
	return run_cases(NULL, NULL);
}
