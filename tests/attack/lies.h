/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tables of lies share: a host, to whom a liar speaks, and a witness who works beside them
 * and must see nothing of it.
 */
#ifndef ATTACK_LIES_H
#define ATTACK_LIES_H

#include "liar.h"

#define FAR      (1u << 20)
#define GRANTED  (128u << 10) /* of far: honest WRITEs of liars may change them */
#define SMALL    16           /* bytes of an honest WRITE, which travels in OPEN */
#define LIVES    1            /* no effect, the session goes on */
#define CHUNK    65536
#define TWO_CHUNKS 100000u
#define ITEMS(a) (sizeof(a) / sizeof((a)[0]))

struct lies {
	tcpx_engine *host, *witness;
	tcpx_peer *p;
	struct mem far, secret, mine; /* the liar's; the witness's; of the witness itself */
	struct tcpx_region_ref ref;   /* of far */
};

/* So many bytes at that place have the value, big-endian. */
struct lie {
	const char *what;
	uint32_t at, size;
	uint64_t value;
	int want;
};

int lies_begin(void **state);
int lies_end(void **state);
/* Of the present test. */
struct lies *lies_world(void);
/* The witness writes and reads what is his, and no byte that was not granted has changed. */
void assert_witness_is_well(void);
/* OPEN of @total bytes at the beginning of far, with the payload in it or not. */
void write_open(struct liar *l, struct tcpx_buf *b, uint8_t op, uint64_t total, bool inlined);
void tell_lie(uint8_t *bytes, const struct lie *lie);
void assert_verdict(const char *what, int got, int want);
/* The session goes on: an honest WRITE ends well. */
void assert_goes_on(struct liar *l, const char *what);

/* Opens a WRITE of two chunks. Returns its id. */
uint64_t open_write(struct liar *l);
struct tcpx_head first_chunk(uint64_t id);
/* The channel carries both chunks, as its next messages. */
void assert_channel_works(struct liar *l, uint16_t channel, const char *what, uint64_t id);

#endif
