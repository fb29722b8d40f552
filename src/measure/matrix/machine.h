/* SPDX-License-Identifier: Apache-2.0 */
/* The facts about the machine that a study's reader needs, as names and texts. */
#ifndef MEASURE_MATRIX_MACHINE_H
#define MEASURE_MATRIX_MACHINE_H

#include <jansson.h>
#include <stdint.h>

/* Kernel, boot parameters that matter, CPUs, nodes, hypervisor, governor, ...; and the hash of
 * tcpx topo, equal on equal machines. What cannot be read is left out. NULL: no memory. */
json_t *matrix_machine(void);

/* FNV-1a, begun with MATRIX_HASH. */
#define MATRIX_HASH 14695981039346656037ull
uint64_t matrix_hash(uint64_t hash, const char *text);

#endif
