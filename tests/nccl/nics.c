/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One of two processes that exchange messages over a plugin of NCCL's, in iterations, until a file
 * appears; a script takes NICs away meanwhile.
 * Usage: nccl_nics PLUGIN 0|1 SOCKET STOP [MESSAGES], of up to 1 MiB on each of four connections each way, in an
 * iteration (16). Exit code 0: no error, every byte right.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "pair.h"

enum { COMMS = 4, LARGEST = 1 << 20, VERSION = 11 };

/* The other process is in another network namespace, in the same file system. */
static int
meet_at(const char *path, int me)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), link;

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	if (me == 1) {
		while (connect(fd, (struct sockaddr *)&at, sizeof(at)))
			usleep(10000);
		return fd;
	}
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 1))
		return -1;
	link = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	close(fd);
	return link;
}

static void
open_flows(struct rank *r, struct flow *f, void **comm, bool sends)
{
	for (uint64_t i = 0; i < COMMS; i++) {
		f[i] = (struct flow){ .player = &r->player, .comm = comm[i], .sends = sends,
				      .largest = LARGEST,
				      .seed = 2 * i + (uint64_t)(sends == (r->me == 0)) };
		flow_open(&f[i]);
	}
}

/* So many messages more on each; false: an error or a wrong byte, which is said. */
static bool
iterate(struct flow *f, int count, unsigned messages)
{
	bool more = true;

	for (int i = 0; i < count; i++)
		f[i].total += messages;
	while (more) {
		more = false;
		for (int i = 0; i < count; i++)
			more |= flow_step(&f[i]);
	}
	for (int i = 0; i < count; i++)
		if (f[i].failed || f[i].what[0]) {
			printf("result %d, %s; %s\n", (int)f[i].failed, f[i].what, player_warnings());
			return false;
		}
	return true;
}

/* Both processes stop after the same iteration: the first decides. */
static bool
goes_on(struct rank *r, const char *stop)
{
	char word = r->me == 0 && !access(stop, F_OK) ? 's' : 'g', theirs;

	if (send(r->link, &word, 1, MSG_NOSIGNAL) != 1 || recv(r->link, &theirs, 1, 0) != 1) {
		printf("the other process is gone\n");
		exit(1);
	}
	return word == 'g' && theirs == 'g';
}

int
main(int argc, char **argv)
{
	struct rank r = { .me = argc >= 5 ? atoi(argv[2]) : 0 };
	unsigned messages = argc == 6 ? (unsigned)atoi(argv[5]) : 16;
	void *send[COMMS], *recv[COMMS];
	struct flow f[2 * COMMS];
	double longest = 0;
	unsigned count = 0;
	bool good = true;

	if (argc < 5 || argc > 6)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	r.link = meet_at(argv[3], r.me);
	player_open(&r.player, argv[1], VERSION);
	if (r.link < 0 || !pair_connect(&r, send, recv, COMMS))
		return 2;
	open_flows(&r, f, send, true);
	open_flows(&r, f + COMMS, recv, false);
	do {
		uint64_t begin = tcpx_clock_now(&tcpx_clock_system);
		double ms;

		good = iterate(f, 2 * COMMS, messages);
		ms = (double)(tcpx_clock_now(&tcpx_clock_system) - begin) / TCPX_MS;
		longest = ms > longest ? ms : longest;
		printf("iteration %u: %.0f ms\n", ++count, ms);
	} while (good && goes_on(&r, argv[4]));
	if (!good)
		return 1;
	for (int i = 0; i < 2 * COMMS; i++)
		flow_close(&f[i]);
	player_close(&r.player);
	printf("all %u iterations right, the longest took %.0f ms\n", count, longest);
	return 0;
}
