/* SPDX-License-Identifier: Apache-2.0 */
/* A peer made by hand: a whole session with its channels, over plain sockets, without a secret. */
#ifndef ATTACK_LIAR_H
#define ATTACK_LIAR_H

#include "foe.h"

#include "net/net.h"
#include "proto/runs.h"

#define LIAR_CHANNELS 2 /* each way */

struct liar {
	struct foe f;
	uint64_t number;               /* of its last frame                          */
	uint64_t opened;               /* its transfers                              */
	int tx[LIAR_CHANNELS], rx[LIAR_CHANNELS]; /* data connections, -1 none        */
	uint64_t seq[LIAR_CHANNELS];   /* of tx                                      */
	struct tcpx_handles handles;
	uint64_t session;
};

/* Begins a session at 127.0.3.1 as far as HANDLES. False: refused. */
bool liar_greet(struct liar *l, tcpx_engine *host, const struct tcpx_hello *h);
/* Connects its channels and says READY. */
void liar_wire(struct liar *l);
/* Both, of a fresh peer; it must succeed. */
void liar_open(struct liar *l, tcpx_engine *host);
void liar_close(struct liar *l);
/* A numbered frame in its order, or with that number. */
void liar_put(struct liar *l, uint8_t type, const struct tcpx_buf *payload);
void liar_put_as(struct liar *l, uint8_t type, uint64_t number, const void *payload, size_t len);
void liar_put_u64(struct liar *l, uint8_t type, uint64_t v);
/* Waits for DONE of that transfer and gives its code, or that of BYE or REFUSE; TCPX_EPEERGONE: the
 * connection ends without a word. */
int liar_verdict(struct liar *l, uint64_t id);
/* A connection to where the host listens for its i-th channel. */
int liar_dial_data(const struct liar *l, uint32_t i);
struct tcpx_chan_id liar_chan_id(const struct liar *l, uint32_t i);
/* A message on a channel, as @h says; @len bytes of payload. */
void liar_send(struct liar *l, int channel, const struct tcpx_head *h, uint32_t len);
/* Waits until the host has closed this connection. Acknowledgements may come before. */
void assert_closed(const char *what, int fd);

#endif
