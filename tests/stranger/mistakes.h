/* SPDX-License-Identifier: Apache-2.0 */
/* What authors of clients do wrong. */
#ifndef STRANGER_MISTAKES_H
#define STRANGER_MISTAKES_H

#include "abi.h"

struct mistake {
	const char *what;
	void (*make)(const struct net_table *net);
};

extern const struct mistake mistakes[];
extern const unsigned mistake_count;

#endif
