/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The readers of descriptor lists, the input cut into frames by its first byte. Entries
 * name introduced regions and never overflow; the fast loop finds what the general reader
 * finds; what was read can be written.
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
	uint8_t room[TCPX_RUNS_ROOM]; /* holds any one operation */

	tcpx_runs_write_init(&w);
	for (size_t i = 0; i <= count; i++) {
		const struct tcpx_run_entry *e = i < count ? &entry[i] : NULL;
		uint8_t *at;
		bool done;

		do {
			at = room;
			done = tcpx_runs_write(&w, region, e, &at, room + sizeof(room));
			promise(at <= room + sizeof(room) && (done || at > room));
		} while (!done);
	}
	promise(!w.held);
}

/* A target, with the quick reader or without. */
struct target {
	struct tcpx_runs_reader r;
	struct tcpx_fraggrow grow;
	struct tcpx_frag frag[ENTRIES_MAX];
	uint64_t start[ENTRIES_MAX + 1];
	size_t count;
	int rc;
};

static struct target plain, quick;

static uint64_t
limit_of(uint32_t index)
{
	return UINT64_MAX >> index % 64;
}

static void
begin(struct target *t)
{
	t->grow = (struct tcpx_fraggrow){ .frag = t->frag, .start = t->start };
	t->count = 0;
	t->rc = 0;
	tcpx_runs_read_init(&t->r, REGIONS_MAX);
}

static void
take(struct target *t, const uint8_t *data, size_t len)
{
	struct tcpx_region_ref intro;
	struct tcpx_run_entry e;
	struct tcpx_buf b;

	tcpx_buf_init_const(&b, data, len);
	while (t->rc == 0) {
		if (t == &quick && t->count)
			t->count += tcpx_runs_read_alike(&t->r, &b, t->r.region,
							 limit_of(t->r.region),
							 ENTRIES_MAX - t->count, &t->grow);
		t->rc = tcpx_runs_read(&t->r, &b, &e, &intro);
		if (t->rc == 0)
			return;
		if (t->rc == 2) {
			promise(t->r.introduced <= REGIONS_MAX);
			region[t->r.introduced - 1] = intro;
			t->rc = 0;
		}
		if (t->rc != 1)
			continue;
		promise(e.region < t->r.introduced && e.offset + e.len >= e.offset);
		if (t->count == ENTRIES_MAX || e.offset + e.len > limit_of(e.region))
			return;
		tcpx_frag_add(&t->grow, e.region + e.offset, e.len);
		if (t == &plain)
			entry[t->count] = e;
		t->count++;
		t->rc = 0;
	}
}

static void
compare(void)
{
	promise(plain.rc == quick.rc && plain.count == quick.count);
	promise(plain.grow.count == quick.grow.count && plain.grow.total == quick.grow.total);
	promise(plain.grow.over == quick.grow.over && plain.r.end == quick.r.end);
	promise(!memcmp(plain.frag, quick.frag, plain.grow.count * sizeof(plain.frag[0])));
	promise(!memcmp(plain.start, quick.start, plain.grow.count * sizeof(plain.start[0])));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	size_t frame = len ? data[0] + 1u : 1;

	begin(&plain);
	begin(&quick);
	for (size_t at = 1; at < len && plain.rc == 0; at += frame) {
		take(&plain, data + at, len - at < frame ? len - at : frame);
		take(&quick, data + at, len - at < frame ? len - at : frame);
		compare();
	}
	write_again(plain.count);
	return 0;
}
