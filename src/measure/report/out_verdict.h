/* SPDX-License-Identifier: Apache-2.0 */
/* The figures in sentences. Plain text; the printers escape and place it. */
#ifndef MEASURE_REPORT_OUT_VERDICT_H
#define MEASURE_REPORT_OUT_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "measure/report/row.h"

/* "1 GiB write at 5.21 GB/s over 4 NICs, 97 % of what raw sockets carry (95 to 99 %)." No more
 * than the interval shows: one that holds 1 shows no difference, fewer than 6 pairs have none. */
void out_verdict_speed(const struct row *row, char *buf, size_t cap);
/* "Congestion control: reno, of raw sockets cubic: ..."; "" where it is not known. */
void out_verdict_congestion(const struct row *row, char *buf, size_t cap);
/* "All 24.2 GB arrived as sent.", "3 bytes were wrong.", "Not checked." Over all rows. */
void out_verdict_check(const struct result *r, char *buf, size_t cap);
/* "Bound by: ...", and a session that was degraded; "" where the figures do not say. */
void out_verdict_limit(const struct result *r, const struct row *row, char *buf, size_t cap);

/* --lat: the row measured half round trips. */
bool row_is_latency(const struct row *row);
/* Has the row enough samples for a percentile? By the nearest rank the 99th of fewer than 100
 * values, or the 99.9th of fewer than 1000, is the largest itself and says nothing more. */
bool row_has_percentile(const struct row *row, double percent);
/* Has any NIC carried countable bytes? */
bool row_has_shares(const struct row *row);
/* No row has a wrong byte. */
bool result_is_right(const struct result *r);
/* Nothing ended it before its time. */
bool result_is_whole(const struct result *r);
/* "Failed at 256 KiB: the peer has gone; 1 of 6 sizes measured."; "" for one that is whole. */
void out_verdict_stop(const struct result *r, char *buf, size_t cap);
/* The pair that carries data from @from to @to; NULL: not measured. */
const struct result_mesh_pair *mesh_pair(const struct result_mesh *m, unsigned from, unsigned to);
/* False: a pair failed or is missing, or a byte was wrong. */
bool mesh_is_good(const struct result_mesh *m);
/* A side left out the copying to and from its GPUs. */
bool result_copied_nothing(const struct result *r);
#define OUT_COPIED_NOTHING \
	"UNPACK NONE: NOTHING WAS COPIED TO OR FROM A GPU, THE DATA IS WRONG"

#endif
