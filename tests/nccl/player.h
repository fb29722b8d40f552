/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL's side of its net plugins: connections as its service thread makes them, and the state
 * machines of its send and receive proxies with eight steps in flight. Any plugin, any version.
 */
#ifndef TESTS_NCCL_PLAYER_H
#define TESTS_NCCL_PLAYER_H

#include <stdbool.h>
#include <stdint.h>

#include "net/plugin/abi.h"

enum { STEPS = 8 }; /* in flight, as NCCL has */

struct player {
	const struct plug_abi *abi;
	const void *table;
	void *ctx;
	int devices;
};

/* Whether the file has a table of this version. */
bool player_has(const char *file, int version);

/* Loads the file and begins as a communicator does. */
void player_open(struct player *p, const char *file, int version);
/* Another communicator of the same file and version, which has this number from v11 on. */
void player_join(struct player *p, const struct player *first, uint64_t comm_id);
void player_close(struct player *p);
/* The WARN lines of the plugin, as many as fit; "" before the first. */
const char *player_warnings(void);

/* One comm of this process: messages of sizes and bytes that both ends know by the seed. */
struct flow {
	struct player *player;
	void *comm;
	bool sends;
	uint64_t seed;
	uint32_t total;                 /* messages                                    */
	uint32_t largest;
	uint8_t *buffer;                /* STEPS slots of @room bytes                  */
	size_t room;
	void *mhandle;
	void *request[STEPS];
	uint32_t posted, done;          /* messages                                    */
	uint32_t rng;                   /* when the GPU is slow                        */
	enum nccl_result failed;        /* the first result but OK                     */
	char what[160];                 /* is wrong; "" nothing                        */
};

/* After @comm stands. */
void flow_open(struct flow *f);
/* Of its memory. */
size_t flow_bytes(const struct flow *f);
/* One look of the progress thread. True: there is more to do. */
bool flow_step(struct flow *f);
/* Memory first, as NCCL's abort has it; then the comm. Memory that is touched afterwards is a crash, or @f->what. */
void flow_abort(struct flow *f);
/* After its last message. */
void flow_close(struct flow *f);

uint32_t flow_random(uint32_t *state);

#endif
