/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory tree that represents a machine, made from a short text and removed again. A
 * line of the text has one word, "cpus", "node", "nic", "gpu", "pci", "file" or "link",
 * then KEY=VALUE; see tests/fixtures.
 */
#ifndef UNIT_FIXTURE_H
#define UNIT_FIXTURE_H

#include "base/base_test.h"

struct fixture {
	char root[64];
};

/* An empty machine below a new temporary directory. */
void fixture_init(struct fixture *f);
void fixture_fini(struct fixture *f);

/* Adds what the lines of @text describe; a bad line fails the test. */
void fixture_add(struct fixture *f, const char *text);
/* The same from tests/fixtures/<name>.machine. */
void fixture_add_machine(struct fixture *f, const char *name);

/* Parents are made; @path has no leading slash. */
void fixture_write(struct fixture *f, const char *path, const char *text);
void fixture_link(struct fixture *f, const char *path, const char *target);

#endif
