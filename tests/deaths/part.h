/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the survivor and its victims have in common. A victim is this program again: its standard
 * input is a pipe with what it has to know of the survivor, and its end asks for an orderly end.
 */
#ifndef DEATHS_PART_H
#define DEATHS_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "tcpx/tcpx.h"

#define LEN	(256u << 10) /* of the longest transfer      */
#define AT_ONCE 4	     /* transfers in flight          */
#define PEERS	8	     /* at the same time          */
#define TAG	7
#define HELLO	"region:"    /* begins a victim's first note */

struct blob {
	uint32_t len;
	uint8_t data[TCPX_METADATA_MAX];
};

/* Memory that peers may read, and memory that they may write. */
struct areas {
	uint8_t *read, *write, *own;
	uint64_t read_id, write_id, own_id;
	struct blob read_blob, write_blob;
};

/* Prints what is wrong and ends the process: for what cannot be. */
#define MUST(holds) part_must(holds, #holds, __FILE__, __LINE__)
void part_must(bool holds, const char *what, const char *file, int line);

tcpx_engine *part_open(const char *name);
void part_areas(tcpx_engine *e, struct areas *a);
void part_areas_free(tcpx_engine *e, struct areas *a);
uint8_t part_pattern(size_t k);
bool part_put(int fd, const struct blob *b);
bool part_get(int fd, struct blob *b);

/* Transfers with one peer, AT_ONCE of them, of random kinds and lengths. */
struct traffic {
	tcpx_peer *peer;
	struct areas *mine;
	uint32_t number;	    /* of PEERS, from 0 */
	uint64_t read_id, write_id; /* the peer's */
	struct tcpx_rng rng;
	tcpx_xfer *x[AT_ONCE];
	uint32_t kind[AT_ONCE];
	size_t len[AT_ONCE];
	uint64_t done;
};

/* Posts where a place is free. False: the peer takes no more. */
bool traffic_post(struct traffic *t);
/* Frees those that have ended; the code of the first that failed. */
int traffic_look(struct traffic *t);
/* Gives all back. */
void traffic_cancel(struct traffic *t);

/* The life of a victim, and of a peer that only lends memory; the process's exit code. */
int victim(const char *name, uint32_t seed);
int bystander(void);

#endif
