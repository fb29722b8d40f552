/* SPDX-License-Identifier: Apache-2.0 */
/* The table of settings, and each type's allowed and refused texts. */
#include "base_test.h"

#include <errno.h>

#include "base/settings.h"

TEST(every_row_is_whole_and_its_default_allowed)
{
	for (unsigned i = 0; i < TCPX_SETTING_COUNT; i++) {
		const struct tcpx_setting_def *def = tcpx_setting_at(i);
		struct tcpx_setting_value v;
		char allowed[256] = "";

		assert_non_null(def);
		assert_non_null(def->name);
		assert_int_equal(strncmp(def->name, "TCPX_", 5), 0);
		check(def->name, "found at", tcpx_setting_find(def->name), i);
		for (const char *const *alias = def->aliases; *alias; alias++)
			check(*alias, "found at", tcpx_setting_find(*alias), i);
		assert_null(def->words[ARRAY_LEN(def->words) - 1]);
		assert_null(def->aliases[ARRAY_LEN(def->aliases) - 1]);
		assert_null(def->hints[ARRAY_LEN(def->hints) - 1]);
		check(def->name, "default", tcpx_setting_parse(def, def->value, &v), 0);
		check(def->name, "has words", def->words[0] != NULL,
		      def->type == TCPX_TYPE_WORD);
		assert_true(strlen(def->help) > 10);
		check(def->name, "full stop", def->help[strlen(def->help) - 1], '.');
		assert_non_null(strchr(def->since, '.'));
		tcpx_setting_allowed(def, allowed, sizeof(allowed));
		assert_in_range(strlen(allowed), 3, 200);
		assert_true(strlen(tcpx_setting_type_name(def->type)) > 2);
	}
	assert_null(tcpx_setting_at(TCPX_SETTING_COUNT));
}

static const struct {
	enum tcpx_setting setting;
	const char *text;
	int rc;
	uint64_t num;
	bool per_nic;
} values[] = {
	{ TCPX_SET_CHUNK, "auto", 0, 0, false },
	{ TCPX_SET_CHUNK, "AUTO", 0, 0, false },
	{ TCPX_SET_CHUNK, "0", 0, 0, false },
	{ TCPX_SET_CHUNK, "64K", 0, 65536, false },
	{ TCPX_SET_CHUNK, "16M", 0, 16777216, false },
	{ TCPX_SET_CHUNK, "65535", -EINVAL, 0, false },
	{ TCPX_SET_CHUNK, "16777217", -EINVAL, 0, false },
	{ TCPX_SET_CHUNK, "big", -EINVAL, 0, false },
	{ TCPX_SET_CHUNK, "", -EINVAL, 0, false },
	{ TCPX_SET_WINDOW, "1", 0, 1, false },
	{ TCPX_SET_WINDOW, "256", 0, 256, false },
	{ TCPX_SET_WINDOW, "0", -EINVAL, 0, false },
	{ TCPX_SET_WINDOW, "257", -EINVAL, 0, false },
	{ TCPX_SET_WINDOW, "auto", -EINVAL, 0, false },
	{ TCPX_SET_WINDOW, "99999999999999999999", -EINVAL, 0, false },
	{ TCPX_SET_CHANNELS, "16", 0, 16, false },
	{ TCPX_SET_CHANNELS, "0", 0, 0, false },
	{ TCPX_SET_CHANNELS, "auto", 0, 0, false },
	{ TCPX_SET_CHANNELS, "4/nic", 0, 4, true },
	{ TCPX_SET_CHANNELS, "4/NIC", 0, 4, true },
	{ TCPX_SET_CHANNELS, "64/nic", 0, 64, true },
	{ TCPX_SET_CHANNELS, "65/nic", -EINVAL, 0, false },
	{ TCPX_SET_CHANNELS, "0/nic", -EINVAL, 0, false },
	{ TCPX_SET_CHANNELS, "/nic", -EINVAL, 0, false },
	{ TCPX_SET_CHANNELS, "4/", -EINVAL, 0, false },
	{ TCPX_SET_CHANNELS, "4/nics", -EINVAL, 0, false },
	{ TCPX_SET_CHANNELS, "257", -EINVAL, 0, false },
	{ TCPX_SET_CHANNELS, "000000000000000000000000000004", -EINVAL, 0, false },
	{ TCPX_SET_PROVIDER, "sock", 0, 1, false },
	{ TCPX_SET_PROVIDER, "Tcpx", 0, 2, false },
	{ TCPX_SET_PROVIDER, "soc", -EINVAL, 0, false },
	{ TCPX_SET_STRICT_NICS, "yes", 0, 1, false },
	{ TCPX_SET_STRICT_NICS, "ON", 0, 1, false },
	{ TCPX_SET_STRICT_NICS, "1", 0, 1, false },
	{ TCPX_SET_STRICT_NICS, "no", 0, 0, false },
	{ TCPX_SET_STRICT_NICS, "off", 0, 0, false },
	{ TCPX_SET_STRICT_NICS, "2", -EINVAL, 0, false },
	{ TCPX_SET_STRICT_NICS, "true", -EINVAL, 0, false },
	{ TCPX_SET_STALL_MS, "2s", 0, 2000, false },
	{ TCPX_SET_STALL_MS, "250ms", 0, 250, false },
	{ TCPX_SET_STALL_MS, "0", -EINVAL, 0, false },
	{ TCPX_SET_STALL_MS, "2d", -EINVAL, 0, false },
	{ TCPX_SET_PORT, "0", 0, 0, false },
	{ TCPX_SET_PORT, "65535", 0, 65535, false },
	{ TCPX_SET_PORT, "65536", -EINVAL, 0, false },
	{ TCPX_SET_PORT, "off", 0, TCPX_PORT_OFF, false },
	{ TCPX_SET_PORTS, "28515-28614", 0, 28515u << 16 | 28614, false },
	{ TCPX_SET_PORTS, "", 0, 0, false },
	{ TCPX_SET_PORTS, "28515", -EINVAL, 0, false },
	{ TCPX_SET_PORTS, "2-1", -EINVAL, 0, false },
	{ TCPX_SET_PORTS, "0-1", -EINVAL, 0, false },
	{ TCPX_SET_PORTS, "1-65536", -EINVAL, 0, false },
	{ TCPX_SET_ALLOW, "", 0, 0, false },
	{ TCPX_SET_ALLOW, "10.0.0.0/8,fd00::/8,192.168.1.7", 0, 0, false },
	{ TCPX_SET_ALLOW, "10.0.0.0/33", -EINVAL, 0, false },
	{ TCPX_SET_ALLOW, "eth1", -EINVAL, 0, false },
	{ TCPX_SET_CPUS, "", 0, 0, false },
	{ TCPX_SET_CPUS, "8-21,112", 0, 0, false },
	{ TCPX_SET_CPUS, "21-8", -EINVAL, 0, false },
	{ TCPX_SET_CPUS, "8,", -EINVAL, 0, false },
	{ TCPX_SET_NICS, "", 0, 0, false },
	{ TCPX_SET_NICS, "eth1,eth2", 0, 0, false },
	{ TCPX_SET_DEBUG, "info", 0, 5, false },
	{ TCPX_SET_DEBUG, "1", -EINVAL, 0, false },
};

TEST(value_table)
{
	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		const struct tcpx_setting_def *def = tcpx_setting_at(values[i].setting);
		struct tcpx_setting_value v = { 4711, false };
		char name[96];
		int rc = tcpx_setting_parse(def, values[i].text, &v);

		snprintf(name, sizeof(name), "%s=%s", def->name, values[i].text);
		check(name, "rc", rc, values[i].rc);
		check(name, "num", v.num, rc ? 4711 : values[i].num);
		check(name, "per nic", v.per_nic, values[i].per_nic);
	}
}

TEST(endless_text_is_refused)
{
	static char text[TCPX_SETTING_TEXT_MAX + 2];
	struct tcpx_setting_value v;

	memset(text, 'x', sizeof(text) - 1);
	assert_int_equal(tcpx_setting_parse(tcpx_setting_at(TCPX_SET_NICS), text, &v),
			 -EINVAL);
	text[TCPX_SETTING_TEXT_MAX] = '\0';
	assert_int_equal(tcpx_setting_parse(tcpx_setting_at(TCPX_SET_NICS), text, &v), 0);
}

TEST(allowed_is_told_by_type)
{
	static const struct {
		enum tcpx_setting setting;
		const char *text;
	} rows[] = {
		{ TCPX_SET_CHUNK, "auto, or 64K to 16M bytes (suffix K, M, G)" },
		{ TCPX_SET_WINDOW, "1 to 256" },
		{ TCPX_SET_PROVIDER, "auto, sock, tcpx" },
		{ TCPX_SET_CHANNELS, "auto, or 1 to 256, or 1/nic to 64/nic" },
		{ TCPX_SET_ALLOW, "ADDRESS or ADDRESS/BITS, between commas, as 10.0.0.0/8,fd00::/8" },
	};
	char buf[256];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_text(rows[i].text,
			   tcpx_setting_allowed(tcpx_setting_at(rows[i].setting), buf,
						sizeof(buf)),
			   rows[i].text);
	tcpx_setting_allowed(tcpx_setting_at(TCPX_SET_DEBUG), buf, 9);
	assert_string_equal(buf, "auto, NO"); /* cut, and ended */
}

static const struct {
	const char *name, *nearest;
} typos[] = {
	{ "TCPX_CHUNKS", "TCPX_CHUNK" },
	{ "TCPX_CHANELS", "TCPX_CHANNELS" },
	{ "TCPX_NUM_CHANNELS", "TCPX_CHANNELS" },
	{ "TCPX_CHUNK_BYTES", "TCPX_CHUNK" }, /* through its alias */
	{ "UCCL_TCPX_WINDOW", "TCPX_WINDOW" },
	{ "TCPX_STALLMS", "TCPX_STALL_MS" },
	{ "TCPX_THREAD", "TCPX_THREADS" },
	{ "TCPX_DEBG", "TCPX_DEBUG" },
	{ "TCPX_", NULL },
	{ "TCPX_QQQQQQQQ", NULL },
	{ "TCPX_FOO", NULL },
};

TEST(nearest_name_is_proposed_if_it_is_near)
{
	char longest[2000];

	for (size_t i = 0; i < ARRAY_LEN(typos); i++) {
		const struct tcpx_setting_def *def = tcpx_setting_nearest(typos[i].name);

		check_text(typos[i].name, def ? def->name : "none",
			   typos[i].nearest ? typos[i].nearest : "none");
	}
	memset(longest, 'C', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_null(tcpx_setting_nearest(longest));
	assert_null(tcpx_setting_nearest(""));
}

TEST(names_of_other_parts_are_known)
{
	assert_true(tcpx_setting_known_elsewhere("TCPX_CONF_FILE"));
	assert_true(tcpx_setting_known_elsewhere("UCCL_TCPX_PERF_SIZE"));
	assert_true(tcpx_setting_known_elsewhere("TCPX_EMU_NICS"));
	assert_false(tcpx_setting_known_elsewhere("TCPX_CHUNK"));
	assert_false(tcpx_setting_known_elsewhere("TCPX_CONF"));
	assert_int_equal(tcpx_setting_find("TCPX_CONF_FILE"), -ENOENT);
}
