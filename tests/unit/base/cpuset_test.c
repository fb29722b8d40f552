/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of CPUs: texts read and refused, texts written, and algebra against a model. */
#include "base_test.h"

#include <errno.h>

#include "base/cpuset.h"

static const struct {
	const char *name;
	const char *text;
	int rc;
	unsigned count;
	int last;
} lists[] = {
	{ "TX cores of node 0", "8-21,112-125", 0, 28, 125 },
	{ "one cpu", "7", 0, 1, 7 },
	{ "overlap counts once", "0-3,2-5", 0, 6, 5 },
	{ "twice the same", "3,3", 0, 1, 3 },
	{ "any order", "5,1", 0, 2, 5 },
	{ "range of one", "4-4", 0, 1, 4 },
	{ "last cpu", "8191", 0, 1, 8191 },
	{ "all cpus", "0-8191", 0, 8192, 8191 },
	{ "empty", "", -EINVAL, 0, 0 },
	{ "only commas", ",,", -EINVAL, 0, 0 },
	{ "open range", "1-", -EINVAL, 0, 0 },
	{ "no start", "-1", -EINVAL, 0, 0 },
	{ "range runs backwards", "9-3", -EINVAL, 0, 0 },
	{ "two dashes", "1--3", -EINVAL, 0, 0 },
	{ "three ends", "1-2-3", -EINVAL, 0, 0 },
	{ "empty item", "1,,2", -EINVAL, 0, 0 },
	{ "comma at the end", "1,2,", -EINVAL, 0, 0 },
	{ "comma first", ",1", -EINVAL, 0, 0 },
	{ "blank", "1, 2", -EINVAL, 0, 0 },
	{ "tab", "1,\t2", -EINVAL, 0, 0 },
	{ "newline at the end", "1\n", -EINVAL, 0, 0 },
	{ "hex", "0x3", -EINVAL, 0, 0 },
	{ "plus", "+1", -EINVAL, 0, 0 },
	{ "point", "1.5", -EINVAL, 0, 0 },
	{ "stride", "0-7:2/4", -EINVAL, 0, 0 },
	{ "all", "all", -EINVAL, 0, 0 },
	{ "N", "N", -EINVAL, 0, 0 },
	{ "digits of another script", "\xd9\xa1", -EINVAL, 0, 0 },
	{ "past the last cpu", "0-8192", -ERANGE, 0, 0 },
	{ "2^31", "2147483648", -ERANGE, 0, 0 },
	{ "2^32", "4294967296", -ERANGE, 0, 0 },
	{ "2^64", "18446744073709551616", -ERANGE, 0, 0 },
}, masks[] = {
	{ "one group", "ff", 0, 8, 7 },
	{ "upper case", "FF", 0, 8, 7 },
	{ "odd count of digits", "1f0", 0, 5, 8 },
	{ "short top group", "3,00000000,ffffffff", 0, 34, 65 },
	{ "leading zeros", "00000000,0000000f", 0, 4, 3 },
	{ "all zero", "00000000,00000000", 0, 0, -1 },
	{ "empty", "", -EINVAL, 0, 0 },
	{ "missing comma", "1ffffffff", -EINVAL, 0, 0 },
	{ "short lower group", "1,ff", -EINVAL, 0, 0 },
	{ "long lower group", "1,000000000", -EINVAL, 0, 0 },
	{ "comma at the end", "ff,", -EINVAL, 0, 0 },
	{ "comma first", ",00000000", -EINVAL, 0, 0 },
	{ "prefix", "0xff", -EINVAL, 0, 0 },
	{ "not hex", "fg", -EINVAL, 0, 0 },
	{ "newline", "ff\n", -EINVAL, 0, 0 },
};

#define CHECK_TABLE(table, parse)                                                          \
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {                                    \
		struct tcpx_cpuset set = { { 1 } };                                        \
		const char *name = table[i].name;                                          \
		int rc = parse(table[i].text, &set);                                       \
                                                                                           \
		check(name, "rc", rc, table[i].rc);                                        \
		/* a refused text leaves the set as it was */                              \
		check(name, "count", tcpx_cpuset_count(&set), rc ? 1 : table[i].count);    \
		check(name, "last", tcpx_cpuset_last(&set), rc ? 0 : table[i].last);       \
	}

TEST(list_table)
{
	CHECK_TABLE(lists, tcpx_cpuset_parse);
}

TEST(mask_table)
{
	CHECK_TABLE(masks, tcpx_cpuset_parse_mask);
}

TEST(mask_beyond_the_last_cpu_is_refused_unless_zero)
{
	char text[257 * 9 + 1] = "";
	struct tcpx_cpuset set;

	strcpy(text, "0");
	for (int i = 0; i < 256; i++)
		strcat(text, ",ffffffff");
	assert_int_equal(tcpx_cpuset_parse_mask(text, &set), 0);
	assert_int_equal(tcpx_cpuset_count(&set), TCPX_CPUS_MAX);
	text[0] = '1';
	assert_int_equal(tcpx_cpuset_parse_mask(text, &set), -ERANGE);
}

TEST(very_long_text_is_read)
{
	size_t len = 100000;
	char *text = malloc(len + 1);
	struct tcpx_cpuset set;

	assert_non_null(text);
	for (size_t i = 0; i < len; i++)
		text[i] = i % 2 ? ',' : '1';
	text[len] = '\0';
	assert_int_equal(tcpx_cpuset_parse(text, &set), -EINVAL); /* ends in a comma */
	text[len - 1] = '\0';
	assert_int_equal(tcpx_cpuset_parse(text, &set), 0);
	assert_int_equal(tcpx_cpuset_count(&set), 1);
	free(text);
}

TEST(set_is_written_as_the_kernel_does)
{
	static const struct {
		const char *list, *out, *mask;
	} rows[] = {
		{ "0", "0", "1" },
		{ "0,1", "0-1", "3" },
		{ "3,1,2,7", "1-3,7", "8e" },
		{ "8-21,112-125", "8-21,112-125", "3fff0000,00000000,00000000,003fff00" },
		{ "32", "32", "1,00000000" },
		{ "8190-8191", "8190-8191", NULL },
	};
	char buf[4096];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tcpx_cpuset set;

		assert_int_equal(tcpx_cpuset_parse(rows[i].list, &set), 0);
		check(rows[i].list, "length", tcpx_cpuset_format(&set, buf, sizeof(buf)),
		      strlen(rows[i].out));
		check_text(rows[i].list, buf, rows[i].out);
		tcpx_cpuset_format_mask(&set, buf, sizeof(buf));
		if (rows[i].mask)
			check_text(rows[i].list, buf, rows[i].mask);
	}
}

TEST(empty_set_is_written)
{
	struct tcpx_cpuset set;
	char buf[8] = "?";

	tcpx_cpuset_init(&set);
	assert_int_equal(tcpx_cpuset_format(&set, buf, sizeof(buf)), 0);
	assert_string_equal(buf, "");
	assert_int_equal(tcpx_cpuset_format_mask(&set, buf, sizeof(buf)), 1);
	assert_string_equal(buf, "0");
}

TEST(text_that_does_not_fit_is_cut_and_its_length_told)
{
	struct tcpx_cpuset set;
	char buf[6] = "?????";

	assert_int_equal(tcpx_cpuset_parse("8-21,112-125", &set), 0);
	assert_int_equal(tcpx_cpuset_format(&set, buf, sizeof(buf)), 12);
	assert_string_equal(buf, "8-21,");
	assert_int_equal(tcpx_cpuset_format(&set, NULL, 0), 12);
	assert_int_equal(tcpx_cpuset_format_mask(&set, NULL, 0), 35);
}

TEST(cpus_outside_are_never_in)
{
	struct tcpx_cpuset set;

	tcpx_cpuset_init(&set);
	assert_int_equal(tcpx_cpuset_add(&set, -1), -ERANGE);
	assert_int_equal(tcpx_cpuset_add(&set, TCPX_CPUS_MAX), -ERANGE);
	assert_int_equal(tcpx_cpuset_add_range(&set, 0, TCPX_CPUS_MAX), -ERANGE);
	tcpx_cpuset_remove(&set, -1);
	tcpx_cpuset_remove(&set, TCPX_CPUS_MAX);
	assert_true(tcpx_cpuset_empty(&set));
	assert_false(tcpx_cpuset_has(&set, -1));
	assert_false(tcpx_cpuset_has(&set, TCPX_CPUS_MAX));
	assert_int_equal(tcpx_cpuset_next(&set, TCPX_CPUS_MAX), -1);
	assert_int_equal(tcpx_cpuset_last(&set), -1);
}

/* A model that cannot be wrong: one bool a CPU. */
struct model {
	bool in[TCPX_CPUS_MAX];
};

static void
set_random(struct tcpx_rng *rng, struct tcpx_cpuset *set, struct model *m)
{
	int span = (int)tcpx_rng_between(rng, 1, TCPX_CPUS_MAX);
	uint64_t count = tcpx_rng_below(rng, 60);

	tcpx_cpuset_init(set);
	memset(m, 0, sizeof(*m));
	while (count--) {
		int first = (int)tcpx_rng_below(rng, (uint64_t)span);
		int last = first + (int)tcpx_rng_below(rng, (uint64_t)(span - first));

		if (tcpx_rng_below(rng, 4))
			last = first;
		tcpx_cpuset_add_range(set, first, last);
		memset(m->in + first, true, (size_t)(last - first + 1));
		if (tcpx_rng_below(rng, 3) == 0) {
			tcpx_cpuset_remove(set, first);
			m->in[first] = false;
		}
	}
}

static bool
set_is(const struct tcpx_cpuset *set, const struct model *m)
{
	unsigned count = 0;
	int walk = -1;

	for (int cpu = 0; cpu < TCPX_CPUS_MAX; cpu++) {
		if (tcpx_cpuset_has(set, cpu) != m->in[cpu])
			return false;
		if (!m->in[cpu])
			continue;
		count++;
		walk = tcpx_cpuset_next(set, walk);
		if (walk != cpu)
			return false;
	}
	return tcpx_cpuset_count(set) == count && tcpx_cpuset_next(set, walk) == -1 &&
	       tcpx_cpuset_last(set) == walk && tcpx_cpuset_empty(set) == !count;
}

TEST(sets_behave_like_the_model)
{
	static struct model ma, mb, mc;
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	for (int round = 0; round < 100; round++) {
		struct tcpx_cpuset a, b, c;
		bool within = true, overlap = false;
		int op = round % 3;

		set_random(&rng, &a, &ma);
		set_random(&rng, &b, &mb);
		for (int i = 0; i < TCPX_CPUS_MAX; i++) {
			within = within && (!ma.in[i] || mb.in[i]);
			overlap = overlap || (ma.in[i] && mb.in[i]);
			mc.in[i] = op == 0 ? ma.in[i] || mb.in[i] :
				   op == 1 ? ma.in[i] && mb.in[i] :
					     ma.in[i] && !mb.in[i];
		}
		c = a;
		if (op == 0)
			tcpx_cpuset_or(&c, &b);
		else if (op == 1)
			tcpx_cpuset_and(&c, &b);
		else
			tcpx_cpuset_andnot(&c, &b);
		check_random(seed, set_is(&a, &ma));
		check_random(seed, set_is(&c, &mc));
		check_random(seed, tcpx_cpuset_within(&a, &b) == within);
		check_random(seed, tcpx_cpuset_overlap(&a, &b) == overlap);
		check_random(seed, tcpx_cpuset_within(&a, &a));
	}
}

TEST(written_set_reads_back)
{
	static struct model m;
	static char text[65536];
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	for (int round = 0; round < 200; round++) {
		struct tcpx_cpuset set, again;

		set_random(&rng, &set, &m);
		tcpx_cpuset_format_mask(&set, text, sizeof(text));
		check_random(seed, !tcpx_cpuset_parse_mask(text, &again));
		check_random(seed, tcpx_cpuset_equal(&set, &again));
		if (tcpx_cpuset_empty(&set))
			continue;
		tcpx_cpuset_format(&set, text, sizeof(text));
		check_random(seed, !tcpx_cpuset_parse(text, &again));
		check_random(seed, tcpx_cpuset_equal(&set, &again));
	}
}

TEST(random_text_is_read_or_refused)
{
	static const char letters[] = "0123456789,,--f x";
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	for (int round = 0; round < 20000; round++) {
		struct tcpx_cpuset set = { { 1 } };
		char text[12] = "";
		size_t len = tcpx_rng_below(&rng, sizeof(text));

		for (size_t i = 0; i < len; i++)
			text[i] = letters[tcpx_rng_below(&rng, sizeof(letters) - 1)];
		if (tcpx_cpuset_parse(text, &set))
			check_random(seed, tcpx_cpuset_count(&set) == 1);
		else
			check_random(seed,
				     !tcpx_cpuset_empty(&set) && !strpbrk(text, "f x"));
		tcpx_cpuset_parse_mask(text, &set);
	}
}
