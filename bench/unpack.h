/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The copy kernels on one GPU, without network: against the driver's own copies, measured
 * in turn in the same run.
 */
#ifndef BENCH_UNPACK_H
#define BENCH_UNPACK_H

#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

enum { UNPACK_CASES = 6, UNPACK_ROUNDS_MAX = 101 };

/* Medians; GB are 10^9 bytes of payload, fractions are of the driver's copy of as much. */
struct unpack_bench_row {
	const char *name;
	const char *kernel;
	double us;           /* a launch of 64 MiB, back to back                        */
	double GBps;
	double of_copy;      /* 64 MiB from device to device                            */
	double few_GBps;     /* on two multiprocessors                                  */
	double pull_GBps;    /* out of page-locked host memory; 0: not measured         */
	double pull_of_copy; /* 64 MiB from host to device                              */
	uint64_t wrong;      /* bytes, of all launches that were checked                */
};

struct unpack_bench {
	char gpu_name[64];
	int driver;
	unsigned sms;
	unsigned rounds;
	double copy_us;        /* 64 MiB from device to device                          */
	double host_copy_GBps; /* 64 MiB from host to device                            */
	/* 512 KiB of pages, from the call until the host knows the end: beside one copy
	 * from device to device, both noticed alike, and launch / copy of the pairs. */
	unsigned chunk_pairs;
	double chunk_us, chunk_copy_us, chunk_of_copy; /* by waiting for the stream        */
	double chunk_word_us, chunk_word_copy_us, chunk_word_of_copy; /* by a word         */
	double chunk_host_list_us; /* by a word, the list in host memory                   */
	struct unpack_bench_row row[UNPACK_CASES];
};

/* Takes about 1.2 GB of GPU memory, 0.2 GB of page-locked memory, some seconds. library: the
 * driver's, NULL or "" the usual one; rounds: pairs behind a median, 1 to UNPACK_ROUNDS_MAX.
 * -ENODEV: no GPU. Failures are logged. */
TCPX_MUST_CHECK int unpack_bench_run(const char *library, unsigned gpu, unsigned rounds,
				     struct unpack_bench *b);
/* Runs it, prints the table, and writes the JSON if json is not NULL; TCPX_EDATA if any byte
 * was wrong. */
TCPX_MUST_CHECK int unpack_bench(FILE *out, const char *json, const char *library,
				 unsigned gpu, unsigned rounds);

#endif
