/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptor lists on the wire: what is written is read, in frames of any size. Bytes that
 * no writer made are refused, or read as valid entries.
 */
#include "base_test.h"
#include "base/err.h"
#include "proto/runs.h"

#define ENTRIES_MAX 4000
#define FRAME       2048

struct lists {
	struct tcpx_region_ref region[4];
	struct tcpx_run_entry entry[ENTRIES_MAX];
	size_t count;
	/* what has been read */
	struct tcpx_region_ref got_region[4];
	struct tcpx_run_entry got[ENTRIES_MAX];
	size_t got_count;
};

static void
lists_init(struct lists *l)
{
	memset(l, 0, sizeof(*l));
	for (int i = 0; i < 4; i++) {
		l->region[i].id = 0x1111111111111111ull * (unsigned)(i + 1);
		memset(l->region[i].key, 'a' + i, TCPX_KEY_BYTES);
	}
}

static void
add(struct lists *l, uint32_t region, uint64_t offset, uint64_t len)
{
	if (l->count < ENTRIES_MAX)
		l->entry[l->count++] = (struct tcpx_run_entry){ region, offset, len };
}

/* Regular runs, equal ones, extremes and noise, in any order. */
static void
fill_random(struct lists *l, struct tcpx_rng *rng)
{
	size_t want = tcpx_rng_below(rng, 300);

	while (l->count < want) {
		uint32_t region = (uint32_t)tcpx_rng_below(rng, 4);
		uint64_t len = tcpx_rng_next(rng) >> tcpx_rng_between(rng, 8, 63);
		uint64_t offset = tcpx_rng_next(rng) >> tcpx_rng_between(rng, 8, 63);
		uint64_t stride = tcpx_rng_below(rng, 2) ? len : tcpx_rng_next(rng) >> 40;
		uint64_t n = tcpx_rng_between(rng, 1, 8);

		switch (tcpx_rng_below(rng, 4)) {
		case 0: /* forward */
			for (uint64_t i = 0; i < n; i++)
				add(l, region, offset + i * stride, len);
			break;
		case 1: /* backward */
			for (uint64_t i = n; i-- > 0;)
				add(l, region, offset + i * stride, len);
			break;
		case 2: /* at the upper edge of what a region can be */
			add(l, region, UINT64_MAX - len, len);
			break;
		default:
			add(l, region, offset, len);
		}
	}
}

/* Reads one frame's operations behind what is read already. 0 or TCPX_EPROTO. */
static int
read_frame(struct lists *l, struct tcpx_runs_reader *r, const uint8_t *data, size_t len)
{
	struct tcpx_region_ref intro;
	struct tcpx_run_entry e;
	struct tcpx_buf b;
	int rc;

	tcpx_buf_init_const(&b, data, len);
	while ((rc = tcpx_runs_read(r, &b, &e, &intro)) > 0) {
		if (rc == 2)
			l->got_region[r->introduced - 1] = intro;
		else if (l->got_count < ENTRIES_MAX)
			l->got[l->got_count++] = e;
		else
			return 0; /* hostile: the caller has a limit */
	}
	return rc;
}

struct sender {
	struct tcpx_runs_writer w;
	size_t next;
};

static void
sender_init(struct sender *s)
{
	tcpx_runs_write_init(&s->w);
	s->next = 0;
}

/* Fills a frame of @room bytes; returns its bytes. */
static size_t
send_frame(struct sender *s, const struct lists *l, uint8_t *frame, size_t room, bool *done)
{
	uint8_t *at = frame;

	*done = false;
	for (; s->next < l->count; s->next++)
		if (!tcpx_runs_write(&s->w, l->region, &l->entry[s->next], &at, frame + room))
			return (size_t)(at - frame);
	*done = tcpx_runs_write(&s->w, l->region, NULL, &at, frame + room);
	return (size_t)(at - frame);
}

/* Writes the list in frames of TCPX_RUNS_ROOM to @most bytes (all of @most without @rng) and
 * reads it; returns the bytes. */
static size_t
through_the_wire(struct lists *l, struct tcpx_rng *rng, size_t most)
{
	struct tcpx_runs_reader r;
	struct sender s;
	uint8_t frame[FRAME];
	size_t bytes = 0, room, len;
	bool done;

	sender_init(&s);
	tcpx_runs_read_init(&r, 4);
	do {
		room = rng ? tcpx_rng_between(rng, TCPX_RUNS_ROOM, most) : most;
		len = send_frame(&s, l, frame, room, &done);
		assert_in_range(len, 0, room);
		bytes += len;
		assert_int_equal(read_frame(l, &r, frame, len), 0);
	} while (!done);
	return bytes;
}

static bool
same(const struct lists *l)
{
	uint32_t used = 0;

	if (l->got_count != l->count)
		return false;
	for (size_t i = 0; i < l->count; i++) {
		const struct tcpx_run_entry *a = &l->entry[i], *b = &l->got[i];

		if (a->region != b->region || a->offset != b->offset || a->len != b->len)
			return false;
		used = a->region + 1 > used ? a->region + 1 : used;
	}
	return !memcmp(l->region, l->got_region, used * sizeof(l->region[0]));
}

TEST(what_is_written_is_read)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);
	struct lists *l = malloc(sizeof(*l));

	for (int round = 0; round < 300; round++) {
		lists_init(l);
		fill_random(l, &rng);
		through_the_wire(l, &rng, tcpx_rng_between(&rng, TCPX_RUNS_ROOM, 400));
		check_random(seed, same(l));
	}
	free(l);
}

TEST(shuffled_blocks_cost_at_most_5_bytes)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);
	struct lists *l = malloc(sizeof(*l));
	size_t bytes;

	lists_init(l);
	for (size_t i = 0; i < ENTRIES_MAX; i++) /* of a region of 320 MB */
		add(l, 0, tcpx_rng_below(&rng, 40000) * 8192, 8192);
	bytes = through_the_wire(l, &rng, FRAME);
	check_random(seed, same(l));
	check_random(seed, bytes <= 5 * ENTRIES_MAX + 64);
	free(l);
}

static const struct {
	const char *name;
	uint64_t first, stride, len;
	size_t most_bytes;
} regular_cases[] = {
	{ "one block after the other", 0, 8192, 8192, 40 },
	{ "rows with gaps", 12345, 1 << 20, 4097, 48 },
	{ "backward", 1ull << 40, -(uint64_t)8192, 8192, 48 },
	{ "always the same", 77, 0, 1, 40 },
};

TEST(regular_lists_cost_a_few_bytes)
{
	struct lists *l = malloc(sizeof(*l));

	for (size_t i = 0; i < ARRAY_LEN(regular_cases); i++) {
		size_t bytes;

		lists_init(l);
		for (uint64_t k = 0; k < ENTRIES_MAX; k++)
			add(l, 0, regular_cases[i].first + k * regular_cases[i].stride,
			    regular_cases[i].len);
		bytes = through_the_wire(l, NULL, FRAME);
		check(regular_cases[i].name, "same", same(l), true);
		check(regular_cases[i].name, "short", bytes <= regular_cases[i].most_bytes, true);
	}
	free(l);
}

TEST(a_full_frame_is_left_untouched)
{
	struct lists *l = malloc(sizeof(*l));
	uint8_t room[TCPX_RUNS_ROOM - 1] = { 0 }, *at = room;
	struct sender s;
	bool done;

	lists_init(l);
	add(l, 0, 0, 1);
	sender_init(&s);
	assert_int_equal(send_frame(&s, l, room, sizeof(room), &done), 0);
	assert_false(done);
	assert_false(tcpx_runs_write(&s.w, l->region, NULL, &at, room + sizeof(room)));
	assert_ptr_equal(at, room);
	assert_int_equal(room[0] | room[1], 0);
	free(l);
}

#define REGION 0x00, 1, 2, 3, 4, 5, 6, 7, 8, 'k', 'k', 'k', 'k', 'k', 'k', 'k', 'k', 'k', 'k', \
	       'k', 'k', 'k', 'k', 'k', 'k'
#define VAR_MAX 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 /* 2^64 - 1 */

static const struct {
	const char *name;
	uint8_t bytes[80];
	size_t len;
	int rc;
	size_t entries;
} hostile_cases[] = {
	{ "nothing", { 0 }, 0, 0, 0 },
	{ "a run", { REGION, 1, 0, 0, 5 }, 29, 0, 1 },
	{ "a run of length 0", { REGION, 1, 0, 0, 0 }, 29, 0, 1 },
	{ "and again", { REGION, 1, 0, 0, 5, 2, 0 }, 31, 0, 2 },
	{ "three repeated", { REGION, 3, 10, 5, 3, 0, 0 }, 31, 0, 3 },
	{ "index not introduced", { 1, 0, 0, 5 }, 4, TCPX_EPROTO, 0 },
	{ "again before a region", { 2, 0 }, 2, TCPX_EPROTO, 0 },
	{ "index above the last", { REGION, 1, 1, 0, 5 }, 29, TCPX_EPROTO, 0 },
	{ "index of 2^64 - 1", { REGION, 1, VAR_MAX, 0, 5 }, 38, TCPX_EPROTO, 0 },
	{ "region with a shift", { 4, 1, 2, 3, 4, 5, 6, 7, 8 }, 25, TCPX_EPROTO, 0 },
	{ "second region above the limit", { REGION, REGION }, 50, TCPX_EPROTO, 0 },
	{ "cut in a region", { REGION }, 24, TCPX_EPROTO, 0 },
	{ "cut in a run", { REGION, 1, 0, 0 }, 28, TCPX_EPROTO, 0 },
	{ "cut in a repeat", { REGION, 3, 10, 5, 3, 0 }, 30, TCPX_EPROTO, 0 },
	{ "repeated 0 times", { REGION, 3, 10, 5, 0, 0, 0 }, 31, TCPX_EPROTO, 0 },
	{ "ends at 2^64", { REGION, 1, 0, 0x01, VAR_MAX }, 38, TCPX_EPROTO, 0 },
	{ "the second one ends at 2^64", { REGION, 1, 0, 0, VAR_MAX, 2, 0 }, 40, TCPX_EPROTO, 1 },
	{ "repeat runs over the top", { REGION, 3, 0x02, VAR_MAX, 2, 0, 0 }, 40, TCPX_EPROTO, 1 },
	{ "shift loses bits", { REGION, 0xfd, 0, 4, 5 }, 29, TCPX_EPROTO, 0 },
	{ "padded number", { REGION, 1, 0x80, 0, 0, 5 }, 30, TCPX_EPROTO, 0 },
};

TEST(hostile_operations_follow_the_table)
{
	struct lists *l = malloc(sizeof(*l));

	for (size_t i = 0; i < ARRAY_LEN(hostile_cases); i++) {
		struct tcpx_runs_reader r;
		uint8_t *exact = malloc(hostile_cases[i].len + 1); /* so ASan sees the end */

		memcpy(exact, hostile_cases[i].bytes, hostile_cases[i].len);
		lists_init(l);
		tcpx_runs_read_init(&r, 1);
		check(hostile_cases[i].name, "rc",
		      read_frame(l, &r, exact, hostile_cases[i].len), hostile_cases[i].rc);
		check(hostile_cases[i].name, "entries", l->got_count, hostile_cases[i].entries);
		free(exact);
	}
	free(l);
}

/* One frame of a random list; some of its bits are flipped. */
static size_t
damaged_frame(struct lists *l, struct tcpx_rng *rng, uint8_t *frame, int most_flips)
{
	struct sender s;
	size_t len;
	bool done;

	lists_init(l);
	fill_random(l, rng);
	sender_init(&s);
	len = send_frame(&s, l, frame, FRAME, &done);
	for (int flips = 0; len && flips < most_flips; flips++)
		frame[tcpx_rng_below(rng, len)] ^= 1u << tcpx_rng_below(rng, 8);
	return len;
}

TEST(flipped_bits_never_give_entries_out_of_order)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);
	struct lists *l = malloc(sizeof(*l));

	for (int round = 0; round < 500; round++) {
		struct tcpx_runs_reader r;
		uint8_t frame[FRAME];
		size_t len = damaged_frame(l, &rng, frame, 4);

		tcpx_runs_read_init(&r, 4);
		read_frame(l, &r, frame, len);
		for (size_t i = 0; i < l->got_count; i++) {
			check_random(seed, l->got[i].region < r.introduced);
			check_random(seed, l->got[i].offset + l->got[i].len >= l->got[i].offset);
		}
	}
	free(l);
}

/* ---- the quick reader against the other ---- */

#define OUTSIDE 1 /* beside codes: an entry leaves its region */

struct target {
	uint64_t limit[4];         /* bytes of each region              */
	struct tcpx_runs_reader r;
	struct tcpx_fraggrow grow;
	struct tcpx_frag frag[ENTRIES_MAX];
	uint64_t start[ENTRIES_MAX + 1];
	size_t entries, quick;
};

static void
target_init(struct target *t, const uint64_t *limit)
{
	memset(t, 0, sizeof(*t));
	memcpy(t->limit, limit, sizeof(t->limit));
	t->grow = (struct tcpx_fraggrow){ .frag = t->frag, .start = t->start };
	tcpx_runs_read_init(&t->r, 4);
}

static uint64_t
base_of(uint32_t region)
{
	return (uint64_t)region << 50;
}

/* What the engine does with a frame, with the quick reader or without. */
static int
target_take(struct target *t, const uint8_t *data, size_t len, size_t most, bool quick)
{
	struct tcpx_region_ref intro;
	struct tcpx_run_entry e;
	struct tcpx_buf b;
	size_t n;
	int rc;

	tcpx_buf_init_const(&b, data, len);
	for (;;) {
		if (quick && t->entries) {
			n = tcpx_runs_read_alike(&t->r, &b, base_of(t->r.region),
						 t->limit[t->r.region], most - t->entries, &t->grow);
			t->entries += n;
			t->quick += n;
		}
		rc = tcpx_runs_read(&t->r, &b, &e, &intro);
		if (rc <= 0)
			return rc;
		if (rc == 2)
			continue;
		if (t->entries == most)
			return TCPX_ELIMIT;
		if (e.offset > t->limit[e.region] || e.len > t->limit[e.region] - e.offset)
			return OUTSIDE;
		tcpx_frag_add(&t->grow, base_of(e.region) + e.offset, e.len);
		t->entries++;
	}
}

static bool
took_alike(const struct target *a, const struct target *b)
{
	return a->entries == b->entries && a->grow.count == b->grow.count &&
	       a->grow.total == b->grow.total && a->grow.over == b->grow.over &&
	       a->r.introduced == b->r.introduced && a->r.end == b->r.end &&
	       a->r.len == b->r.len && a->r.region == b->r.region &&
	       a->r.repeat_left == b->r.repeat_left && a->r.repeat_next == b->r.repeat_next &&
	       !memcmp(a->frag, b->frag, a->grow.count * sizeof(a->frag[0])) &&
	       !memcmp(a->start, b->start, a->grow.count * sizeof(a->start[0]));
}

/* Blocks of one region in any order: what the quick reader is for. */
static void
fill_blocks(struct lists *l, struct tcpx_rng *rng)
{
	uint64_t len = tcpx_rng_between(rng, 1, 5000), unit = 1ull << tcpx_rng_below(rng, 40);
	size_t want = tcpx_rng_between(rng, 1, 200);

	lists_init(l);
	for (size_t i = 0; i < want; i++) {
		uint64_t at = tcpx_rng_below(rng, 3) ? tcpx_rng_below(rng, 300) * unit :
						       l->count ? l->entry[l->count - 1].offset + len : 0;

		add(l, (uint32_t)!tcpx_rng_below(rng, 40), at, len);
	}
}

static size_t
blocks_frame(struct lists *l, struct tcpx_rng *rng, uint8_t *frame)
{
	struct sender s;
	bool done;
	size_t len;

	fill_blocks(l, rng);
	sender_init(&s);
	len = send_frame(&s, l, frame, FRAME, &done);
	if (tcpx_rng_below(rng, 2) && len)
		frame[tcpx_rng_below(rng, len)] ^= 1u << tcpx_rng_below(rng, 8);
	return len;
}

TEST(the_quick_reader_agrees_with_the_other)
{
	uint64_t seed = test_seed(), quick = 0, outside = 0, refused = 0;
	struct tcpx_rng rng = tcpx_rng_seed(seed);
	struct lists *l = malloc(sizeof(*l));
	struct target *a = malloc(sizeof(*a)), *b = malloc(sizeof(*b));

	for (int round = 0; round < 4000; round++) {
		uint8_t frame[FRAME], *exact;
		size_t len = round % 4 ? blocks_frame(l, &rng, frame) :
					 damaged_frame(l, &rng, frame, (int)tcpx_rng_below(&rng, 3));
		size_t most = tcpx_rng_below(&rng, 4) ? ENTRIES_MAX : tcpx_rng_between(&rng, 1, 60);
		uint64_t limit[4];
		int rc = 0, other = 0;

		for (int i = 0; i < 4; i++)
			limit[i] = UINT64_MAX >> tcpx_rng_below(&rng, tcpx_rng_below(&rng, 2) ? 8 : 50);
		target_init(a, limit);
		target_init(b, limit);
		for (size_t at = 0, n; rc == 0 && at < len; at += n) {
			n = tcpx_rng_below(&rng, 3) ? len - at : tcpx_rng_between(&rng, 1, len - at);
			exact = malloc(n); /* so ASan sees the end */
			memcpy(exact, frame + at, n);
			rc = target_take(a, exact, n, most, true);
			other = target_take(b, exact, n, most, false);
			free(exact);
			check_random(seed, rc == other);
			check_random(seed, took_alike(a, b));
		}
		quick += a->quick;
		outside += rc == OUTSIDE;
		refused += rc == TCPX_EPROTO;
	}
	assert_true(quick > 50000 && outside > 50 && refused > 50);
	free(l);
	free(a);
	free(b);
}
