/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an application does with two engines, from the first open to the last close, with calls that
 * may fail at any point. Each step ends with success or with an error that has a name.
 */
#ifndef NTH_SCENE_H
#define NTH_SCENE_H

#include <stdbool.h>
#include <stddef.h>

#include "nth/calls.h"

/* How one memory of both engines is made and given back. */
struct scene_memory {
	void *(*get)(int side, size_t len);
	void (*put)(int side, void *at);
};

struct scene {
	const char *const *settings; /* to NULL */
	bool by_address;             /* the peer is not known by its blob */
	const struct scene_memory *memory;
	bool late;                   /* not everything is given back at once */
};

extern const struct scene_memory scene_host;

/* All of it, once: with calls that are counted, which fail as nth_arm() says, then with good ones
 * until the pair of engines works again. True: a call has failed. */
bool scene_play(const struct scene *s, enum nth_call call, unsigned n, unsigned way, bool on);

#endif
