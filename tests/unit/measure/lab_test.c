/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of the lab: names that show what to remove, rates, addresses. */
#include "cases.h"

#include <errno.h>
#include <string.h>

#include "measure/lab/lab.h"
#include "tool/tool.h"

static const struct {
	const char *ns_name;
	const char *lab; /* NULL: not a lab's */
	int host;
} name_cases[] = {
	{ "tcpx-lab-h0", "lab", 0 },
	{ "tcpx-lab-h63", "lab", 63 },
	{ "tcpx-lab-fabric", "lab", LAB_FABRIC },
	{ "tcpx-a-b_2-h1", "a-b_2", 1 },
	{ "tcpx-lab-h0-h1", "lab-h0", 1 },
	{ "tcpx-lab-h01", NULL, 0 },
	{ "tcpx-lab-h+1", NULL, 0 },
	{ "tcpx-lab-h1x", NULL, 0 },
	{ "tcpx-lab-h-1", NULL, 0 },
	{ "tcpx-lab-", NULL, 0 },
	{ "tcpx-lab", NULL, 0 },
	{ "tcpx--h0", NULL, 0 },
	{ "tcpx-", NULL, 0 },
	{ "lab-h0", NULL, 0 },
	{ "", NULL, 0 },
	{ "tcpx-a234567890123456789012345678901-h0", "a234567890123456789012345678901", 0 },
	{ "tcpx-a2345678901234567890123456789012-h0", NULL, 0 },
};

TEST(namespace_names_tell_lab_and_host)
{
	for (size_t i = 0; i < ARRAY_LEN(name_cases); i++) {
		const char *want = name_cases[i].lab;
		char lab[LAB_NAME_MAX], again[64];
		int host;

		if (lab_ns_parse(name_cases[i].ns_name, lab, &host) != (want != NULL))
			fail_msg("%s: parsed the wrong way", name_cases[i].ns_name);
		if (!want)
			continue;
		assert_string_equal(lab, want);
		assert_int_equal(host, name_cases[i].host);
		assert_string_equal(lab_ns_name(lab, host, again, sizeof(again)),
				    name_cases[i].ns_name);
	}
}

static const struct {
	const char *text;
	int rc;
	uint64_t rate_bps[4];
} rate_cases[] = {
	{ "1G", 0, { 1000000000, 1000000000, 1000000000, 1000000000 } },
	{ "1G,1G,1G,250M", 0, { 1000000000, 1000000000, 1000000000, 250000000 } },
	{ "0", 0, { 0, 0, 0, 0 } },
	{ "0,2.5G,1m,400G", 0, { 0, 2500000000, 1000000, 400000000000 } },
	{ "1G,1G", -EINVAL, { 0 } },
	{ "1G,1G,1G,1G,1G", -EINVAL, { 0 } },
	{ "1G,1G,1G,", -EINVAL, { 0 } },
	{ "", -EINVAL, { 0 } },
	{ "fast", -EINVAL, { 0 } },
	{ "-1G", -EINVAL, { 0 } },
	{ "999K", -ERANGE, { 0 } },
	{ "401G", -ERANGE, { 0 } },
	{ "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", -ERANGE, { 0 } },
	{ "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0", -EINVAL, { 0 } },
};

TEST(rates_are_one_for_all_or_one_a_nic)
{
	for (size_t i = 0; i < ARRAY_LEN(rate_cases); i++) {
		struct lab lab = { .nics = 4, .rate_bps = { 7, 7, 7, 7 } };
		int rc = lab_rates_parse(&lab, rate_cases[i].text);

		if (rc != rate_cases[i].rc)
			fail_msg("'%s': rc is %d, want %d", rate_cases[i].text, rc,
				 rate_cases[i].rc);
		for (unsigned k = 0; k < 4; k++) /* a refused text changes nothing */
			assert_int_equal(lab.rate_bps[k], rc ? 7 : rate_cases[i].rate_bps[k]);
	}
}

TEST(lab_names_stay_out_of_paths)
{
	assert_true(lab_name_allowed("demo-12_x"));
	assert_false(lab_name_allowed("../x"));
	assert_false(lab_name_allowed("a/b"));
	assert_false(lab_name_allowed("Lab"));
	assert_false(lab_name_allowed("1lab"));
	assert_false(lab_name_allowed(""));
	assert_false(lab_name_allowed("a2345678901234567890123456789012"));
}

TEST(addresses_differ_by_nic_and_host)
{
	assert_int_equal(lab_addr(0, 0), 0x0a4d0001);
	assert_int_equal(lab_addr(1, 3), 0x0a4d0302);
}
