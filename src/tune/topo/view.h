/* SPDX-License-Identifier: Apache-2.0 */
/* A topology shown: a picture for people, JSON for programs. */
#ifndef TUNE_TOPO_VIEW_H
#define TUNE_TOPO_VIEW_H

#include <jansson.h>
#include <stdio.h>

#include "tune/facts/topo.h"

/* @explain: also unknown facts with their reasons, each vector and each setting. */
void topo_print(FILE *f, const struct tcpx_topo *topo, bool explain);
/* All facts as JSON; "KEY_why" stands beside a KEY that is null. NULL: no memory. */
json_t *topo_json(const struct tcpx_topo *topo);

/* A list of CPUs for people: "none" if empty; free() it. NULL: no memory. */
char *topo_list(const struct tcpx_cpuset *set);

#endif
