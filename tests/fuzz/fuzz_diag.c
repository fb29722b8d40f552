/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output of commands, in pieces of any length, and the small files that a recorder reads.
 * The first byte chooses.
 */
#include "fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/diag/diag_metrics.h"
#include "tune/record/sample.h"
#include "tune/record/threads.h"

FUZZ_QUIETLY

static void
output(const char *text, size_t len, size_t piece)
{
	struct diag_metrics m;

	diag_metrics_init(&m);
	for (size_t at = 0; at < len; at += piece)
		diag_metrics_feed(&m, text + at, len - at < piece ? len - at : piece);
	diag_metrics_end(&m);
	promise(m.n <= DIAG_POINTS_MAX && (m.n == 0 || m.kind != DIAG_NOTHING));
	for (unsigned i = 0; i < m.n; i++) {
		promise(memchr(m.at[i].label, '\0', sizeof(m.at[i].label)));
		promise(!isinf(m.at[i].busbw_GBps) && !isinf(m.at[i].time_us));
	}
	diag_metrics_fini(&m);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct tcpx_thread_switches switches;
	uint32_t counts[256];
	char *text;
	int n;

	if (len < 2)
		return 0;
	text = malloc(len);
	memcpy(text, data + 1, len - 1);
	text[len - 1] = '\0';
	if (data[0] % 4 == 0) {
		n = tcpx_sample_counts_parse(text, counts, 256);
		promise(n <= 256 && n != 0);
	} else if (data[0] % 4 == 1) {
		(void)!tcpx_thread_switches_parse(text, &switches);
	} else {
		output(text, len - 1, 1 + data[0] / 4);
	}
	free(text);
	return 0;
}
