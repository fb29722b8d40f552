/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of descriptor lists, the input cut into frames by its first byte. Entries
 * name introduced regions and never run over the top; what was read can be written.
 */
#include "fuzz.h"
#include "proto/runs.h"

#define ENTRIES_MAX 4096
#define REGIONS_MAX 64

FUZZ_QUIETLY

static struct tcpx_run_entry entry[ENTRIES_MAX];
static struct tcpx_region_ref region[REGIONS_MAX];

static void
write_again(size_t count)
{
	struct tcpx_runs_writer w;
	uint8_t room[64]; /* holds any one operation */
	struct tcpx_buf b;
	size_t before;
	int done;

	tcpx_runs_write_init(&w, region, REGIONS_MAX, entry, count);
	do {
		before = w.next + w.introduced;
		tcpx_buf_init(&b, room, sizeof(room));
		done = tcpx_runs_write(&w, &b);
		promise(!b.bad && (done || w.next + w.introduced > before));
	} while (!done);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	size_t frame = len ? data[0] + 1u : 1, count = 0;
	struct tcpx_runs_reader r;

	tcpx_runs_read_init(&r, REGIONS_MAX);
	for (size_t at = 1; at < len; at += frame) {
		struct tcpx_region_ref intro;
		struct tcpx_run_entry e;
		struct tcpx_buf b;
		int rc;

		tcpx_buf_init_const(&b, data + at, len - at < frame ? len - at : frame);
		while ((rc = tcpx_runs_read(&r, &b, &e, &intro)) > 0 && count < ENTRIES_MAX) {
			if (rc == 2) {
				promise(r.introduced <= REGIONS_MAX);
				region[r.introduced - 1] = intro;
				continue;
			}
			promise(e.region < r.introduced && e.offset + e.len >= e.offset);
			entry[count++] = e;
		}
		if (rc)
			break;
	}
	write_again(count);
	return 0;
}
