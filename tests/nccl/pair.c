/* SPDX-License-Identifier: Apache-2.0 */
#include "pair.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/plugin/plug.h"

#define HANG_S 500 /* between two exchanges */

static void __attribute__((noreturn))
child(const char *file, int version, int (*play)(struct rank *r), struct rank *r)
{
	int rc;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(HANG_S);
	player_open(&r->player, file, version);
	rc = play(r);
	player_close(&r->player);
	exit(rc);
}

/* It exited with 0 or with this. */
static bool
ended_well(int status, int or_code)
{
	return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == or_code);
}

bool
pair_run_to(const char *file, int version, int (*play)(struct rank *r), const void *arg, int or_code)
{
	int link[2], status[2] = { -1, -1 };
	pid_t pid[2];
	bool good;

	fflush(stdout);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link))
		return false;
	for (int me = 0; me < 2; me++) {
		struct rank r = { .me = me, .link = link[me], .arg = arg };

		pid[me] = fork();
		if (pid[me] == 0) {
			close(link[1 - me]);
			child(file, version, play, &r);
		}
	}
	close(link[0]);
	close(link[1]);
	for (int me = 0; me < 2; me++)
		if (pid[me] < 0 || waitpid(pid[me], &status[me], 0) != pid[me])
			return false;
	good = ended_well(status[0], or_code) && ended_well(status[1], or_code);
	if (!good)
		fprintf(stderr, "v%d: process 0 ended with %#x, process 1 with %#x\n", version,
			(unsigned)status[0], (unsigned)status[1]);
	return good;
}

bool
pair_run(const char *file, int version, int (*play)(struct rank *r), const void *arg)
{
	return pair_run_to(file, version, play, arg, 0);
}

void
pair_exchange(struct rank *r, const void *mine, void *theirs, size_t len)
{
	alarm(HANG_S); /* it goes on */
	if (send(r->link, mine, len, MSG_NOSIGNAL) != (ssize_t)len ||
	    recv(r->link, theirs, len, MSG_WAITALL) != (ssize_t)len) {
		fprintf(stderr, "rank %d: the other process is gone\n", r->me);
		_Exit(3);
	}
}

void
pair_meet(struct rank *r)
{
	char mine = 'm', theirs;

	pair_exchange(r, &mine, &theirs, 1);
}

/* Sends a descriptor, or receives one into @fd. */
static bool
hand_over(struct rank *r, int *fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(*fd))];
	} control = { .head = { CMSG_LEN(sizeof(*fd)), SOL_SOCKET, SCM_RIGHTS } };
	char byte = 'l';
	struct iovec part = { &byte, 1 };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
			    .msg_controllen = sizeof(control) };

	if (r->me == 0) {
		memcpy(CMSG_DATA(&control.head), fd, sizeof(*fd));
		return sendmsg(r->link, &m, MSG_NOSIGNAL) == 1;
	}
	if (recvmsg(r->link, &m, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&m))
		return false;
	memcpy(fd, CMSG_DATA(&control.head), sizeof(*fd));
	return true;
}

int
pair_link(struct rank *r)
{
	int link[2] = { -1, -1 };
	bool good;

	if (r->me == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link))
		return -1;
	good = hand_over(r, r->me == 0 ? &link[1] : &link[0]);
	if (r->me == 0)
		close(link[1]);
	return good ? link[0] : -1;
}

/* One look at both ends, as the service thread looks: never waiting. */
static bool
look(struct player *p, uint8_t *handle, void *listen, void **send, void **recv)
{
	enum nccl_result result = NCCL_OK;

	if (!*send)
		result = p->abi->connect(p->table, p->ctx, 0, handle, send);
	if (!result && !*recv)
		result = p->abi->accept(p->table, listen, recv, NULL);
	if (result)
		fprintf(stderr, "connecting: %d: %s\n", (int)result, player_warnings());
	return result == NCCL_OK;
}

bool
pair_connect(struct rank *r, void **send, void **recv, int count)
{
	uint8_t (*mine)[PLUG_HANDLE_BYTES] = calloc((size_t)count, sizeof(*mine));
	uint8_t (*theirs)[PLUG_HANDLE_BYTES] = calloc((size_t)count, sizeof(*theirs));
	void **listen = calloc((size_t)count, sizeof(*listen));
	struct player *p = &r->player;
	int open = 0, i = 0;
	bool good = mine && theirs && listen;

	for (i = 0; good && i < count; i++) {
		send[i] = recv[i] = NULL;
		good = p->abi->listen(p->table, p->ctx, i % p->devices, mine[i], &listen[i]) == NCCL_OK;
	}
	pair_exchange(r, mine, theirs, (size_t)count * sizeof(*mine));
	while (good && open < count) {
		open = 0;
		for (i = 0; good && i < count; i++) {
			good = look(p, theirs[i], listen[i], &send[i], &recv[i]);
			open += send[i] && recv[i];
		}
	}
	for (i = 0; good && i < count; i++)
		p->abi->close_listen(p->table, listen[i]);
	free(mine);
	free(theirs);
	free(listen);
	return good;
}

bool
self_connect(struct player *p, void **send, void **recv)
{
	uint8_t handle[PLUG_HANDLE_BYTES];
	void *listen;
	bool good = p->abi->listen(p->table, p->ctx, 0, handle, &listen) == NCCL_OK;

	*send = *recv = NULL;
	while (good && !(*send && *recv))
		good = look(p, handle, listen, send, recv);
	if (good)
		p->abi->close_listen(p->table, listen);
	return good;
}
