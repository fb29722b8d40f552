/* SPDX-License-Identifier: Apache-2.0 */
/* One process with its ends of eight ways: both ends of all, or one end of each. All are on the
 * first NIC: a GPU receives by its own NIC alone, and without a driver all is as if on GPU 0. */
#ifndef STRANGER_SIDE_H
#define STRANGER_SIDE_H

#include "stream.h"

enum { WAYS = 8 };

/* Moves what PLAN says. PEER is a socket to the process with the other ends, SECOND which of the
 * two this is: it sends on the odd ways. PEER -1: both ends are here. 0 or -1; adds to TALLY. */
int side_run(const struct net_table *net, int peer, bool second, const struct stream_plan *plan,
	     struct tally *tally);

#endif
