/* SPDX-License-Identifier: Apache-2.0 */
/* Loading settings: precedence of sources. What is reported or refused is in cfg_refusal_test.c. */
#include "cfg_rig.h"

TEST_WITH(without_sources_all_is_default, fresh, NULL)
{
	struct tcpx_cfg *cfg = load((struct tcpx_cfg_sources){ 0 });

	for (unsigned i = 0; i < TCPX_SETTING_COUNT; i++)
		check_setting(cfg, (enum tcpx_setting)i, tcpx_setting_at(i)->value,
			      "default");
	assert_int_equal(tcpx_cfg_num(cfg, TCPX_SET_WINDOW), 16);
	assert_int_equal(tcpx_cfg_num(cfg, TCPX_SET_PORT), 0);
	assert_int_equal(tcpx_cfg_num(cfg, TCPX_SET_INLINE), 8192);
	assert_int_equal(tcpx_cfg_num(cfg, TCPX_SET_CREDIT_LIST_BYTES), 16 << 20);
	assert_int_equal(tcpx_cfg_num(cfg, TCPX_SET_CHUNK), 0);
	assert_string_equal(captured, "");
	tcpx_cfg_free(cfg);
	tcpx_cfg_free(NULL);
}

TEST_WITH(later_sources_beat_earlier_ones, fresh, NULL)
{
	static const struct {
		const char *text, *source;
	} want[] = {
		{ "auto", "default" },
		{ "1048576", "NCCL_P2P_NET_CHUNKSIZE" },
		{ "2M", "etc" },
		{ "3M", "home" },
		{ "4M", "environment" },
		{ "5M", "caller" },
	};
	char etc_source[64], home_source[64];

	snprintf(etc_source, sizeof(etc_source), "%s line 2", etc_path);
	snprintf(home_source, sizeof(home_source), "%s line 1", home_path);
	file_write(etc_path, "# ours\nTCPX_CHUNK=2M\n");
	file_write(home_path, "TCPX_CHUNK=3M");
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		const char *source = !strcmp(want[i].source, "etc")  ? etc_source :
				     !strcmp(want[i].source, "home") ? home_source :
								       want[i].source;
		struct tcpx_cfg *cfg = load((struct tcpx_cfg_sources){
			.env = i < 1 ? NULL :
			       i < 4 ? ENV("NCCL_P2P_NET_CHUNKSIZE=1048576") :
				       ENV("TCPX_CHUNK=4M",
					   "NCCL_P2P_NET_CHUNKSIZE=1048576"),
			.etc_file = i < 2 ? NULL : etc_path,
			.home_file = i < 3 ? NULL : home_path,
			.caller = i < 5 ? NULL : LIST("TCPX_CHUNK=5M"),
		});

		check_setting(cfg, TCPX_SET_CHUNK, want[i].text, source);
		tcpx_cfg_free(cfg);
	}
}

TEST_WITH(alias_sets_and_is_named, fresh, NULL)
{
	struct tcpx_cfg *cfg;

	file_write(etc_path, "UCCL_TCPX_WINDOW_SIZE=12\n");
	cfg = load((struct tcpx_cfg_sources){
		.etc_file = etc_path,
		.env = ENV("UCCL_TCPX_CHUNK_BYTES=524288",
			   "UCCL_TCPX_BOOTSTRAP_PORT=20000",
			   "TCPX_PORT=20001"),
		.caller = LIST("UCCL_TCPX_NUM_CHANNELS=8"),
	});
	check_setting(cfg, TCPX_SET_CHUNK, "524288", "environment (UCCL_TCPX_CHUNK_BYTES)");
	check_setting(cfg, TCPX_SET_PORT, "20001", "environment"); /* its own name wins */
	check_setting(cfg, TCPX_SET_CHANNELS, "8", "caller (UCCL_TCPX_NUM_CHANNELS)");
	check_has(tcpx_cfg_source(cfg, TCPX_SET_WINDOW), "line 1 (UCCL_TCPX_WINDOW_SIZE)");
	assert_int_equal(tcpx_cfg_num(cfg, TCPX_SET_WINDOW), 12);
	assert_string_equal(captured, "");
	tcpx_cfg_free(cfg);
}

TEST_WITH(old_debug_variable_speaks_numbers, fresh, NULL)
{
	static const struct {
		const char *set;
		const char *word;
	} rows[] = {
		{ "UCCL_TCPX_DEBUG=1", "INFO" },
		{ "UCCL_TCPX_DEBUG=0", "WARN" },
		{ "UCCL_TCPX_DEBUG=trace", "TRACE" },
		{ "TCPX_DEBUG=debug", "DEBUG" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tcpx_cfg_sources src = { .env = ENV(rows[i].set) };
		struct tcpx_cfg *cfg = load(src);

		check_text(rows[i].set, tcpx_cfg_str(cfg, TCPX_SET_DEBUG), rows[i].word);
		tcpx_cfg_free(cfg);
	}
}

static const struct {
	const char *name;
	const char *env[3];
	enum tcpx_setting setting;
	const char *text, *source;
} hints[] = {
	{ "product", { "NCCL_NSOCKS_PERTHREAD=4", "NCCL_SOCKET_NTHREADS=2" },
	  TCPX_SET_CHANNELS, "8/nic", "NCCL_NSOCKS_PERTHREAD x NCCL_SOCKET_NTHREADS" },
	{ "one of two", { "NCCL_NSOCKS_PERTHREAD=4" },
	  TCPX_SET_CHANNELS, "4/nic", "NCCL_NSOCKS_PERTHREAD x NCCL_SOCKET_NTHREADS" },
	{ "left to NCCL", { "NCCL_SOCKET_NTHREADS=-1" },
	  TCPX_SET_CHANNELS, "auto", "default" },
	{ "NICs", { "NCCL_SOCKET_IFNAME=eth1,eth2" },
	  TCPX_SET_NICS, "eth1,eth2", "NCCL_SOCKET_IFNAME" },
	{ "NICs for data", { "NCCL_SOCKET_IFNAME=eth0", "NCCL_GPUDIRECTTCPX_SOCKET_IFNAME=eth1" },
	  TCPX_SET_NICS, "eth1", "NCCL_GPUDIRECTTCPX_SOCKET_IFNAME" },
	{ "a comma behind", { "NCCL_SOCKET_IFNAME=eth0," }, TCPX_SET_NICS, "eth0", "NCCL_SOCKET_IFNAME" },
	{ "all but", { "NCCL_SOCKET_IFNAME=^docker0,lo," }, TCPX_SET_NICS, "^docker0,lo", "NCCL_SOCKET_IFNAME" },
	{ "a port", { "NCCL_SOCKET_IFNAME=eth0:0" }, TCPX_SET_NICS, "eth0", "NCCL_SOCKET_IFNAME" },
	{ "two signs", { "NCCL_SOCKET_IFNAME===eth0" }, TCPX_SET_NICS, "==eth0", "NCCL_SOCKET_IFNAME" },
	{ "empty", { "NCCL_P2P_NET_CHUNKSIZE=" },
	  TCPX_SET_CHUNK, "auto", "default" },
};

TEST_WITH(variables_of_nccl_give_defaults, fresh, NULL)
{
	for (size_t i = 0; i < ARRAY_LEN(hints); i++) {
		struct tcpx_cfg_sources src = { .env = (char *const *)hints[i].env };
		struct tcpx_cfg *cfg = load(src);

		check_text(hints[i].name, tcpx_cfg_str(cfg, hints[i].setting),
			   hints[i].text);
		check_text(hints[i].name, tcpx_cfg_source(cfg, hints[i].setting),
			   hints[i].source);
		check_text(hints[i].name, captured, "");
		tcpx_cfg_free(cfg);
	}
}

TEST_WITH(variable_of_nccl_that_does_not_fit_costs_a_warning, fresh, NULL)
{
	struct tcpx_cfg *cfg = load((struct tcpx_cfg_sources){
		.env = ENV("NCCL_P2P_NET_CHUNKSIZE=32768",
			   "NCCL_NSOCKS_PERTHREAD=16", "NCCL_SOCKET_NTHREADS=16",
			   "NCCL_SOCKET_IFNAME=,,"),
	});

	check_setting(cfg, TCPX_SET_CHUNK, "auto", "default");
	check_setting(cfg, TCPX_SET_CHANNELS, "auto", "default");
	check_has(captured, "NCCL_P2P_NET_CHUNKSIZE \"32768\" is not used for TCPX_CHUNK");
	check_has(captured, "\"256/nic\" is not used for TCPX_CHANNELS");
	check_setting(cfg, TCPX_SET_NICS, "", "default");
	check_has(captured, "NCCL_SOCKET_IFNAME \",,\" is not used for TCPX_NICS: it names no NIC");
	assert_int_equal(captured_count("\n"), 3);
	tcpx_cfg_free(cfg);
}

TEST_WITH(file_of_the_environment_replaces_the_home_file, fresh, NULL)
{
	char set[64];
	struct tcpx_cfg *cfg;

	file_write(etc_path, "TCPX_PORT=1\n");
	file_write(home_path, "TCPX_PORT=2\nTCPX_WINDOW=3\n");
	snprintf(set, sizeof(set), "TCPX_CONF_FILE=%s", etc_path);
	cfg = load((struct tcpx_cfg_sources){ .env = ENV(set), .home_file = home_path });
	assert_int_equal(tcpx_cfg_num(cfg, TCPX_SET_PORT), 1);
	assert_int_equal(tcpx_cfg_num(cfg, TCPX_SET_WINDOW), 16);
	tcpx_cfg_free(cfg);

	cfg = load((struct tcpx_cfg_sources){ .env = ENV("TCPX_CONF_FILE="),
					      .home_file = home_path });
	assert_true(tcpx_cfg_is_default(cfg, TCPX_SET_PORT));
	tcpx_cfg_free(cfg);
}

TEST_WITH(files_need_not_exist, fresh, NULL)
{
	struct tcpx_cfg *cfg = load((struct tcpx_cfg_sources){
		.etc_file = "/nonexistent/etc", .home_file = "/dev/null/home" });

	assert_string_equal(captured, "");
	tcpx_cfg_free(cfg);
}

TEST_WITH(empty_value_is_the_default, fresh, NULL)
{
	struct tcpx_cfg *cfg;

	file_write(etc_path, "TCPX_CHUNK=1M\nTCPX_NICS=eth1\nTCPX_ROOT=/x\n");
	cfg = load((struct tcpx_cfg_sources){
		.etc_file = etc_path,
		.env = ENV("TCPX_CHUNK=", "TCPX_NICS=", "TCPX_ROOT="),
	});
	check_setting(cfg, TCPX_SET_CHUNK, "auto", "environment");
	check_setting(cfg, TCPX_SET_NICS, "", "environment");
	check_setting(cfg, TCPX_SET_ROOT, "/", "environment");
	tcpx_cfg_free(cfg);
}

TEST_WITH(set_replaces_or_leaves_alone, fresh, NULL)
{
	struct tcpx_cfg *cfg = load((struct tcpx_cfg_sources){ 0 });
	char source[] = "flag --chunk";

	assert_int_equal(tcpx_cfg_set(cfg, "TCPX_CHUNK=1M", source), 0);
	source[0] = '?'; /* was copied */
	check_setting(cfg, TCPX_SET_CHUNK, "1M", "flag --chunk");
	assert_int_equal(tcpx_cfg_set(cfg, "TCPX_CHUNK=1", "flag --chunk"), TCPX_ECONFIG);
	check_has(captured, "TCPX_CHUNK \"1\" (flag --chunk): allowed: auto, or 64K to 16M");
	assert_int_equal(tcpx_cfg_set(cfg, "TCPX_CHUNKY=1", "flag"), TCPX_ECONFIG);
	check_setting(cfg, TCPX_SET_CHUNK, "1M", "flag --chunk");
	assert_int_equal(tcpx_cfg_num(cfg, TCPX_SET_CHUNK), 1048576);
	tcpx_cfg_free(cfg);
}

TEST_WITH(channels_are_counted_over_nics, fresh, NULL)
{
	static const struct {
		const char *set;
		unsigned nics;
		int rc;
		unsigned total;
	} rows[] = {
		{ "TCPX_CHANNELS=auto", 4, 0, 0 },   { "TCPX_CHANNELS=6", 4, 0, 6 },
		{ "TCPX_CHANNELS=4/nic", 4, 0, 16 }, { "TCPX_CHANNELS=64/nic", 4, 0, 256 },
		{ "TCPX_CHANNELS=64/nic", 5, TCPX_ECONFIG, 99 },
	};
	struct tcpx_cfg *cfg = load((struct tcpx_cfg_sources){ 0 });

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		unsigned total = 99;

		assert_int_equal(tcpx_cfg_set(cfg, rows[i].set, "test"), 0);
		check(rows[i].set, "rc", tcpx_cfg_channels(cfg, rows[i].nics, &total),
		      rows[i].rc);
		check(rows[i].set, "total", total, rows[i].total);
	}
	check_has(captured, "\"64/nic\" (test): 320 channels over 5 NICs; at most 256");
	tcpx_cfg_free(cfg);
}

TEST_WITH(settings_of_this_process_are_found, fresh, NULL)
{
	char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
	char dir[] = "/tmp/tcpx-home-XXXXXX";
	char path[64], source[80];
	struct tcpx_cfg *cfg;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/.tcpx.conf", dir);
	snprintf(source, sizeof(source), "%s line 1", path);
	file_write(path, "TCPX_LINGER_MS=7s\n");
	setenv("HOME", dir, 1);
	setenv("TCPX_KEEPALIVE_MS", "70", 1);
	assert_int_equal(tcpx_cfg_load_system(LIST("TCPX_PORT=7"), &cfg), 0);
	check_setting(cfg, TCPX_SET_LINGER_MS, "7s", source);
	check_setting(cfg, TCPX_SET_KEEPALIVE_MS, "70", "environment");
	check_setting(cfg, TCPX_SET_PORT, "7", "caller");
	tcpx_cfg_free(cfg);
	assert_int_equal(tcpx_cfg_load(NULL, &cfg), 0);
	check_setting(cfg, TCPX_SET_KEEPALIVE_MS, "70", "environment");
	tcpx_cfg_free(cfg);

	unsetenv("TCPX_KEEPALIVE_MS");
	if (home)
		setenv("HOME", home, 1);
	free(home);
	unlink(path);
	rmdir(dir);
}

TEST_WITH(a_home_of_another_user_costs_a_warning, fresh, NULL)
{
	char dir[] = "/tmp/tcpx-home-XXXXXX";
	struct tcpx_cfg *cfg;
	char path[64];

	if (geteuid() != 0) {
		print_message("# skipped: not root\n");
		skip();
	}
	assert_non_null(mkdtemp(dir)); /* for root alone */
	snprintf(path, sizeof(path), "%s/.tcpx.conf", dir);
	assert_int_equal(seteuid(65534), 0);
	cfg = load((struct tcpx_cfg_sources){ .home_file = path, .env = ENV("PATH=/bin") });
	assert_int_equal(seteuid(0), 0);
	check_has(captured, path);
	check_has(captured, "not used");
	tcpx_cfg_free(cfg);
	rmdir(dir);
}

/* Random assignments in random sources: the strongest that names a setting has it. */
TEST_WITH(strongest_source_wins, fresh, NULL)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	for (int round = 0; round < 50; round++) {
		char text[4][32] = { "", "", "", "" };
		uint64_t want = 0;
		struct tcpx_cfg *cfg;

		for (int i = 0; i < 4; i++) {
			uint64_t port = tcpx_rng_below(&rng, 65536);

			if (tcpx_rng_below(&rng, 2)) {
				snprintf(text[i], sizeof(text[i]), "TCPX_PORT=%u",
					 (unsigned)port);
				want = port;
			}
		}
		file_write(etc_path, text[0]);
		file_write(home_path, text[1]);
		cfg = load((struct tcpx_cfg_sources){
			.etc_file = etc_path,
			.home_file = home_path,
			.env = ENV(text[2]),
			.caller = LIST(*text[3] ? text[3] : NULL),
		});
		check_random(seed, tcpx_cfg_num(cfg, TCPX_SET_PORT) == want);
		tcpx_cfg_free(cfg);
	}
}

int
main(void)
{
	return run_cases(files_make, files_remove);
}
