/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for NIC pairs that connect, where a planned one does not. Pure: results and times in,
 * the next pair out. A pair on one subnet is known to be right: if it fails, a NIC of it is down, and may
 * come back. So it is left only for another on that subnet, or where no channel connects at all. Any
 * other pair is a guess.
 */
#ifndef PROTO_PAIR_SEARCH_H
#define PROTO_PAIR_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/pair.h"

struct tcpx_pair_search;

/* Makes a search in which nothing was tried. NULL: no memory. The caller frees it with
 * free(). */
struct tcpx_pair_search *tcpx_pair_search_new(const struct tcpx_pair_nic *near, uint32_t near_count,
					      const struct tcpx_pair_nic *far, uint32_t far_count);
/* Counts a channel of the opener, that sends or receives, as a user of the pair, or no
 * more. */
void tcpx_pair_search_join(struct tcpx_pair_search *s, struct tcpx_pair p, bool sending);
void tcpx_pair_search_leave(struct tcpx_pair_search *s, struct tcpx_pair p, bool sending);
/* Records the end of an attempt of the pair. 0: it connects, which stays so; else the code
 * of its failure. */
void tcpx_pair_search_found(struct tcpx_pair_search *s, struct tcpx_pair p, int code);
bool tcpx_pair_search_failed(const struct tcpx_pair_search *s, struct tcpx_pair p);
bool tcpx_pair_search_stands(const struct tcpx_pair_search *s, struct tcpx_pair p);
/*
 * tcpx_pair_search_next - the pair for a channel whose pair failed
 * @failed:  that pair
 * @sending: whether the channel sends
 * @nothing: no channel of its direction connects
 * While no pair of its near NIC connects, one of them that no attempt has tried: a far NIC without a pair
 * goes first, then the better fit; or one that is being tried. Where all have failed, it goes to a NIC without
 * such a channel. Where that NIC has another such channel, and the far NIC has no pair,
 * an untried one of the far NIC. Else the near NIC's pair that connects and that the fewest channels use.
 * Return: true and *next; false: it stays, as another may do no better.
 */
bool tcpx_pair_search_next(const struct tcpx_pair_search *s, struct tcpx_pair failed, bool sending,
			   bool nothing, struct tcpx_pair *next);
/* Lists the pairs of a near NIC that failed, with their errors: "rail2 10.2.1.0: no answer;
 * rail3 10.3.1.0:40001: refused". @far: with the addresses that were dialled. @text:
 * returns its length, "" where there are none. */
size_t tcpx_pair_search_list(const struct tcpx_pair_search *s, uint32_t near,
			     const struct tcpx_pair_nic *far, char *text, size_t cap);

/* The patience with an attempt that the other end's kernel does not answer. @answer_ns: the
 * time that an answer took on the control stream. */
uint64_t tcpx_pair_patience_ns(uint64_t answer_ns);

enum tcpx_pair_verdict {
	TCPX_PAIR_WAIT,
	TCPX_PAIR_REPEAT, /* the first packet may be lost: it is sent again */
	TCPX_PAIR_SILENT  /* another pair may be tried                      */
};
/* Judges the @nth attempt of a pair, without an answer since @since_ns. @stands: another
 * channel connects by this pair. */
enum tcpx_pair_verdict tcpx_pair_judge(uint64_t since_ns, unsigned nth, bool stands, uint64_t patience_ns,
				       uint64_t now_ns);

#endif
