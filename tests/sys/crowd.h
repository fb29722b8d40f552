/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that meet: each says something, and goes on when it has what all have said. Words go by
 * pipes, so one that dies ends all.
 */
#ifndef CROWD_H
#define CROWD_H

#include <stddef.h>

#define CROWD_MAX 16

/* One of them. */
struct crowd {
	int me, count;
	int up, down; /* pipes: to the one that passes words on, and from it */
};

/* Ends the process unless @rc is 0: says @what failed, and the library's last error. */
void must(int rc, const char *what);
/* All say @len bytes; @all, of @count * @len, gets them by number. All lengths are the same. */
void crowd_say(const struct crowd *c, const void *mine, size_t len, void *all);
/* Goes on when all are here. */
void crowd_meet(const struct crowd *c);
/* Runs @run in @count processes of their own, until it returns or one has ended. Returns whether one
 * of them failed. */
int crowd_run(int count, void (*run)(const struct crowd *c, void *arg), void *arg);

#endif
