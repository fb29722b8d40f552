/* SPDX-License-Identifier: Apache-2.0 */
/* Output of commands, in pieces whose length the first byte chooses. */
#include "fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/diag/metrics.h"

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
	char *text;

	if (len < 2)
		return 0;
	text = malloc(len);
	memcpy(text, data + 1, len - 1);
	text[len - 1] = '\0';
	output(text, len - 1, 1 + data[0]);
	free(text);
	return 0;
}
