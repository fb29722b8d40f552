/* SPDX-License-Identifier: Apache-2.0 */
/* What the processes of bench/hostile share. Each is one process of its own. */
#ifndef BENCH_HOSTILE_H
#define BENCH_HOSTILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "seal/secret.h"

#define HOST      "127.0.3.1"
#define DATA_NIC  "127.0.1.1"
#define PHASES    3  /* alone, beside a load at a dummy listener, beside one at the engine */
#define SAMPLES   200000
#define HONEST    200

enum phase { PHASE_ALONE, PHASE_DUMMY, PHASE_ENGINE, PHASE_AFTER, PHASE_END };

struct shared {
	_Atomic int phase;
	_Atomic bool ready;              /* the server listens                        */
	_Atomic uint16_t port, dummy_port, data_port;
	uint8_t region[256];             /* the server's, as exported                 */
	_Atomic uint32_t region_len;
	_Atomic uint64_t bulk_bytes[PHASES + 1];
	_Atomic uint32_t sample_count[PHASES + 1];
	float sample_us[PHASES + 1][SAMPLES];
	_Atomic uint32_t honest_count, honest_failed;
	float honest_ms[HONEST];
	_Atomic uint32_t lines, lines_in_second, lines_max; /* of the server's log    */
	_Atomic uint64_t line_second;
	_Atomic uint32_t made, refused;  /* hostile connections                       */
	_Atomic uint64_t memory_bytes;   /* the server's own count                    */
};

/* Opens so many hostile connections a second until the phase ends; then closes all. */
int hostile_generate(struct shared *s, uint16_t port, int phase, uint32_t per_second,
		     const char *secret_file);

#endif
