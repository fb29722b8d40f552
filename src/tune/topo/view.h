/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The view of the machine that commands share: each part of a topology as text for people, and
 * all of it as JSON for programs.
 */
#ifndef TUNE_TOPO_VIEW_H
#define TUNE_TOPO_VIEW_H

#include <jansson.h>
#include <stdio.h>

#include "tune/facts/topo.h"

#define NIC_INDENT 7 /* of the lines below a NIC's: below its name */

/* @explain: also unknown facts with their reasons, each vector and each setting. */
void topo_print(FILE *f, const struct tcpx_topo *topo, bool explain);
/* All facts as JSON; "KEY_why" stands beside a KEY that is null. NULL: no memory. */
json_t *topo_json(const struct tcpx_topo *topo);

void topo_print_title(FILE *f, const char *title);
/* A list of CPUs, "none" if it is empty. */
void topo_print_list(FILE *f, const struct tcpx_cpuset *set);
/* CPUs and nodes. */
void topo_print_cpus(FILE *f, const struct tcpx_topo *topo, bool explain);
void topo_print_gpus(FILE *f, const struct tcpx_topo *topo);
/* A line for a NIC, which begins with the command's own word of at most four letters. */
void topo_print_nic_head(FILE *f, const char *first);
void topo_print_nic(FILE *f, const struct tcpx_host_nic *nic, const char *first, bool good);

#endif
