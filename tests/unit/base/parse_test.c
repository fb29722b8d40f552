/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as people write them, and those that are refused. */
#include "base_test.h"

#include <errno.h>

#include "base/parse.h"

static const struct {
	const char *text;
	int rc;
	uint64_t value;
} counts[] = {
	{ "0", 0, 0 },
	{ "007", 0, 7 },
	{ "18446744073709551615", 0, UINT64_MAX },
	{ "18446744073709551616", -ERANGE, 0 },
	{ "99999999999999999999999", -ERANGE, 0 },
	{ "", -EINVAL, 0 },
	{ "-1", -EINVAL, 0 },
	{ "+1", -EINVAL, 0 },
	{ " 1", -EINVAL, 0 },
	{ "1 ", -EINVAL, 0 },
	{ "0x10", -EINVAL, 0 },
	{ "1.0", -EINVAL, 0 },
	{ "\xd9\xa1", -EINVAL, 0 },
}, sizes[] = {
	{ "0", 0, 0 },
	{ "4096", 0, 4096 },
	{ "512K", 0, 524288 },
	{ "512k", 0, 524288 },
	{ "8M", 0, 8388608 },
	{ "8MiB", 0, 8388608 },
	{ "8mi", 0, 8388608 },
	{ "1G", 0, 1073741824 },
	{ "1.5G", 0, 1610612736 },
	{ "0.25K", 0, 256 },
	{ "0.1K", 0, 102 },
	{ "1.000001M", 0, 1048577 },
	{ "2T", 0, 2199023255552 },
	{ "16777215T", 0, 18446742974197923840u },
	{ "16777216T", -ERANGE, 0 },
	{ "99999999999999999999", -ERANGE, 0 },
	{ "", -EINVAL, 0 },
	{ "K", -EINVAL, 0 },
	{ ".5K", -EINVAL, 0 },
	{ "1.K", -EINVAL, 0 },
	{ "1.5", -EINVAL, 0 },
	{ "1.0000001M", -EINVAL, 0 },
	{ "1.5.5M", -EINVAL, 0 },
	{ "4MB", -EINVAL, 0 },
	{ "4B", -EINVAL, 0 },
	{ "4iB", -EINVAL, 0 },
	{ "4MM", -EINVAL, 0 },
	{ "4 M", -EINVAL, 0 },
	{ "4M ", -EINVAL, 0 },
	{ "-4M", -EINVAL, 0 },
	{ "4X", -EINVAL, 0 },
}, rates[] = {
	{ "0", 0, 0 },
	{ "8k", 0, 8000 },
	{ "2.25G", 0, 2250000000 },
	{ "16T", 0, 16000000000000 },
	{ "1.000001M", 0, 1000001 },
	{ "18446744073709551615", 0, UINT64_MAX },
	{ "18446744073709551615K", -ERANGE, 0 },
	{ "18446744.073709T", 0, 18446744073709000000u },
	{ "18446744.073710T", -ERANGE, 0 },
	{ "1.5", -EINVAL, 0 },
	{ "8Mi", -EINVAL, 0 },
	{ "8MB", -EINVAL, 0 },
	{ "M", -EINVAL, 0 },
}, times[] = {
	{ "500", 0, 500 },
	{ "500ms", 0, 500 },
	{ "10s", 0, 10000 },
	{ "0s", 0, 0 },
	{ "10S", -EINVAL, 0 },
	{ "10m", -EINVAL, 0 },
	{ "s", -EINVAL, 0 },
	{ "1.5s", -EINVAL, 0 },
	{ "18446744073709552s", -ERANGE, 0 },
};

#define CHECK_TABLE(table, parse)                                                          \
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {                                    \
		uint64_t v = 4711; /* stays when refused */                                \
		check(table[i].text, "rc", parse(table[i].text, &v), table[i].rc);         \
		check(table[i].text, "value", v, table[i].rc ? 4711 : table[i].value);     \
	}

TEST(count_table)
{
	CHECK_TABLE(counts, tcpx_parse_count);
}

TEST(size_table)
{
	CHECK_TABLE(sizes, tcpx_parse_size);
	CHECK_TABLE(rates, tcpx_parse_decimal);
}

TEST(time_table)
{
	CHECK_TABLE(times, tcpx_parse_ms);
}

TEST(size_is_written_short)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} rows[] = {
		{ 0, "0" },	       { 1, "1" },	     { 1000, "1000" },
		{ 1024, "1K" },	       { 524288, "512K" },   { 1610612736, "1536M" },
		{ 1ull << 40, "1T" },  { 1ull << 50, "1024T" }, { 1ull << 63, "8388608T" },
		{ UINT64_MAX, "18446744073709551615" },
	};
	char buf[24];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_text(rows[i].text, tcpx_format_size(rows[i].bytes, buf, sizeof(buf)),
			   rows[i].text);
}

TEST(written_size_reads_back)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	for (int round = 0; round < 10000; round++) {
		uint64_t v = tcpx_rng_next(&rng) >> tcpx_rng_below(&rng, 64);
		uint64_t again = ~v;
		char buf[24];

		v <<= tcpx_rng_below(&rng, 64);
		tcpx_format_size(v, buf, sizeof(buf));
		check_random(seed, !tcpx_parse_size(buf, &again) && again == v);
	}
}

/* Random texts over the letters that matter: never a crash, and never a value changed
 * by a refusal. */
TEST(random_text_is_read_or_refused)
{
	static const char letters[] = "0123456789.KMGTkiBs -+x";
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	for (int round = 0; round < 20000; round++) {
		char text[12] = "";
		uint64_t v = 4711;
		size_t len = tcpx_rng_below(&rng, sizeof(text));

		for (size_t i = 0; i < len; i++)
			text[i] = letters[tcpx_rng_below(&rng, sizeof(letters) - 1)];
		if (tcpx_parse_size(text, &v))
			check_random(seed, v == 4711);
		else
			check_random(seed, text[0] >= '0' && text[0] <= '9');
	}
}
