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

/* The pair of each channel, near that of the opener. Returns the number of pairs; reason: why there is none. */
int tcpx_pairing_plan(const struct session *s, struct tcpx_pair *pair, char *reason, size_t cap);
/* May a channel go by another pair than planned? Not where slots are GPUs', nor beside an engine that says
 * no places. */
bool tcpx_pairing_may_move(const struct session *s);
/* An attempt to connect the channel has ended: 0, or why it failed. */
void tcpx_pairing_found(struct channel *c, int code);
/* Another pair for a channel whose pair has failed, or the planned one again. False: it stays. */
bool tcpx_pairing_move(struct channel *c);
/* Both, where @code is of the path and not of this process or the peer's. */
bool tcpx_pairing_failed(struct channel *c, int code);
/* Of an attempt that is under way. */
enum tcpx_pair_verdict tcpx_pairing_judge(const struct channel *c, uint64_t now_ns);
/* The pair as CHANNEL_ASK names it, for the side that listens; 0: none. */
uint64_t tcpx_pairing_said(const struct channel *c);
/* ... and what that side reads: its NIC and its peer's. TCPX_EPROTO: it has no such NIC. */
int tcpx_pairing_read(const struct session *s, uint64_t said, struct tcpx_pair *pair);
/* The NICs that did not connect, with what was tried: ": eth0 to eth0: no answer, eth1: ..." */
void tcpx_pairing_list(const struct session *s, char *text, size_t cap);
/* ... of one NIC of this side. */
void tcpx_pairing_list_nic(const struct session *s, uint32_t near, char *text, size_t cap);

#endif
