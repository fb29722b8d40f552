/* SPDX-License-Identifier: Apache-2.0 */
#include "crowd.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tcpx/tcpx.h"

struct child {
	int up[2], down[2];
};

void
must(int rc, const char *what)
{
	char text[256];

	if (rc == 0)
		return;
	tcpx_last_error(NULL, text, sizeof(text));
	printf("# %s: %s (%s)\n", what, tcpx_strerror_name(rc), text);
	fflush(stdout);
	_exit(1);
}

/* Whole or not at all: the other end is gone. */
static int
get(int fd, void *data, size_t len)
{
	for (uint8_t *at = data; len;) {
		ssize_t n = read(fd, at, len);

		if (n <= 0)
			return -EPIPE;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

static int
put(int fd, const void *data, size_t len)
{
	for (const uint8_t *at = data; len;) {
		ssize_t n = write(fd, at, len);

		if (n <= 0)
			return -EPIPE;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

void
crowd_say(const struct crowd *c, const void *mine, size_t len, void *all)
{
	must(put(c->up, &len, sizeof(len)), "the others are gone");
	must(put(c->up, mine, len), "the others are gone");
	must(get(c->down, all, len * (size_t)c->count), "the others are gone");
}

void
crowd_meet(const struct crowd *c)
{
	uint8_t here = 1, all[CROWD_MAX];

	crowd_say(c, &here, sizeof(here), all);
}

/* One meeting. False: somebody is gone, or all have ended. */
static bool
pass_on(const struct child *c, int count)
{
	uint8_t *words = NULL;
	size_t len, first = 0;
	bool whole = true;

	for (int i = 0; i < count && whole; i++) {
		whole = get(c[i].up[0], &len, sizeof(len)) == 0 && (i == 0 || len == first);
		if (whole && i == 0)
			words = calloc((size_t)count, first = len);
		whole = whole && words && get(c[i].up[0], words + (size_t)i * len, len) == 0;
	}
	for (int i = 0; i < count && whole; i++)
		whole = put(c[i].down[1], words, (size_t)count * first) == 0;
	free(words);
	return whole;
}

static void
child(int i, int count, const struct child *c, void (*run)(const struct crowd *c, void *arg), void *arg)
{
	struct crowd own = { i, count, c[i].up[1], c[i].down[0] };

	for (int k = 0; k <= i; k++) { /* so that ends are seen */
		close(c[k].up[0]);
		close(c[k].down[1]);
	}
	run(&own, arg);
	fflush(stdout);
	_exit(0);
}

int
crowd_run(int count, void (*run)(const struct crowd *c, void *arg), void *arg)
{
	struct child c[CROWD_MAX];
	int bad = 0, status;

	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < count; i++) {
		if (pipe(c[i].up) || pipe(c[i].down))
			return 1;
		if (fork() == 0)
			child(i, count, c, run, arg);
		close(c[i].up[1]);
		close(c[i].down[0]);
	}
	while (pass_on(c, count))
		;
	for (int i = 0; i < count; i++) {
		close(c[i].up[0]);
		close(c[i].down[1]);
	}
	while (wait(&status) > 0)
		bad |= status != 0;
	return bad;
}
