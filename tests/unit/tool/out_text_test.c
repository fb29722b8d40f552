/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities and texts for people and programs. */
#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/report/out.h"
#include "tool/out_text.h"
#include "tool/tool.h"

TEST(csv_quotes_what_needs_it)
{
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	out_csv_text(f, "plain");
	out_csv_text(f, ",\"\n");
	fclose(f);
	assert_string_equal(text, "plain\",\"\"\n\"");
	free(text);
}

TEST(quantities_have_three_digits_and_a_fitting_unit)
{
	char buf[OUT_QUANTITY];

	assert_string_equal(out_size(0, buf), "0 B");
	assert_string_equal(out_size(1023, buf), "1023 B");
	assert_string_equal(out_size(1536, buf), "1.50 KiB");
	assert_string_equal(out_size(1ull << 30, buf), "1 GiB");
	assert_string_equal(out_size(UINT64_MAX, buf), "16384 PiB");
	assert_string_equal(out_amount(999999, buf), "1.00 MB");
	assert_string_equal(out_amount(67108864, buf), "67.1 MB");
	assert_string_equal(out_time(0.25, buf), "250 ns");
	assert_string_equal(out_time(12.34, buf), "12.3 \u00b5s");
	assert_string_equal(out_time(1500, buf), "1.50 ms");
	assert_string_equal(out_time(3e9, buf), "3000 s");
	assert_string_equal(out_digits(NAN, buf), "-");
	assert_string_equal(out_digits(9.999, buf), "10.0");
	assert_string_equal(out_digits(1e300, buf), "1.00e+300");
}
