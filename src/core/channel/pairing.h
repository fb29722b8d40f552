/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NIC pairs of a session's channels: planned from both HELLOs, and where one does not connect, others
 * by proto/pair_search. The side that connects decides, and says so in CHANNEL_ASK. lock held.
 */
#ifndef CORE_CHANNEL_PAIRING_H
#define CORE_CHANNEL_PAIRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/channel/channel.h"
#include "proto/pair_search.h"

/* The pair of each channel, near that of the opener. Returns the number of pairs; reason:
 * why there is none. */
int tcpx_pairing_plan(const struct session *s, struct tcpx_pair *pair, char *reason, size_t cap);
/* Records the end of an attempt to connect the channel: 0, or the code of its failure. */
void tcpx_pairing_found(struct channel *c, int code);
/* Moves a channel whose pair has failed to another pair, or to the planned one again.
 * False: it stays, as the channels of a plugin do, whose slots are GPUs'. */
bool tcpx_pairing_move(struct channel *c);
/* Records a failure, and moves the channel if @code blames the path. True: it has moved. */
bool tcpx_pairing_failed(struct channel *c, int code);
/* Judges an attempt that is under way. */
enum tcpx_pair_verdict tcpx_pairing_judge(const struct channel *c, uint64_t now_ns);
/* The pair as CHANNEL_ASK names it, for the side that listens; 0: none. */
uint64_t tcpx_pairing_said(const struct channel *c);
/* Reads a pair from CHANNEL_ASK: this side's NIC and the peer's. TCPX_EPROTO: there is no
 * such NIC. */
int tcpx_pairing_read(const struct session *s, uint64_t said, struct tcpx_pair *pair);
/* Lists the NICs that did not connect, with what was tried: ": eth0 to eth0 10.0.0.2: no
 * answer, eth1 to ..." */
void tcpx_pairing_list(const struct session *s, char *text, size_t cap);
/* Lists what one NIC of this side has tried. */
void tcpx_pairing_list_nic(const struct session *s, uint32_t near, char *text, size_t cap);

#endif
