/* SPDX-License-Identifier: Apache-2.0 */
/* Loading settings: names that are not known, and values that are refused. */
#include "cfg_rig.h"

TEST_WITH(unknown_name_is_reported_once_with_the_nearest, fresh, NULL)
{
	struct tcpx_cfg *cfg;

	file_write(etc_path, "TCPX_CHUNKS=1M\nTCPX_CHUNKS=2M\nCOLOUR=red\n");
	cfg = load((struct tcpx_cfg_sources){
		.etc_file = etc_path,
		.env = ENV("TCPX_CHUNKS=3M", "UCCL_TCPX_NUM_CHANELS=4",
			   "UCCL_TCPX_UNPACK_IMPL=kernel", "TCPX_PERF=x",
			   "UCCL_HOME=/x", "PATH=/bin", "TCPX_NOVALUE"),
	});
	assert_int_equal(captured_count("TCPX_CHUNKS"), 1);
	check_has(captured, "line 1) is not a setting and has no effect; did you mean "
			    "TCPX_CHUNK?");
	check_has(captured,
		  "WARN INIT UCCL_TCPX_NUM_CHANELS (environment) is not a setting and "
		  "has no effect; did you mean TCPX_CHANNELS?");
	check_has(captured, "COLOUR (");
	check_has(captured, "TCPX_NOVALUE (environment)");
	assert_int_equal(captured_count("\n"), 4);
	tcpx_cfg_free(cfg);
}

static const struct {
	const char *name;
	const char *etc;
	const char *env;
	const char *caller;
	const char *said;
} refused[] = {
	{ "value of the environment", NULL, "TCPX_WINDOW=0", NULL,
	  "TCPX_WINDOW \"0\" (environment): allowed: 1 to 256 (TCPX_ECONFIG)" },
	{ "value under an alias", NULL, "UCCL_TCPX_WINDOW_SIZE=x", NULL,
	  "TCPX_WINDOW \"x\" (environment (UCCL_TCPX_WINDOW_SIZE)): allowed: 1 to 256" },
	{ "value of a file", "\n\nTCPX_DIST = fair\n", NULL, NULL,
	  " line 3): allowed: pull, rr (TCPX_ECONFIG)" },
	{ "line of a file", "TCPX_DIST\n", NULL, NULL,
	  "line 1: \"TCPX_DIST\" is not of the form" },
	{ "value of the caller", NULL, NULL, "TCPX_PORT=-1",
	  "TCPX_PORT \"-1\" (caller): allowed: 0 to 65535, or off" },
	{ "name of the caller", NULL, NULL, "TCPX_PROT=1",
	  "TCPX_PROT (caller) is not a setting; did you mean TCPX_PORT? (TCPX_ECONFIG)" },
	{ "name of another part from the caller", NULL, NULL, "TCPX_PERF=1",
	  "TCPX_PERF (caller)" },
	{ "no assignment", NULL, NULL, "TCPX_PORT",
	  "\"TCPX_PORT\" (caller) is not of the form" },
	{ "empty name", NULL, NULL, "=5", " (caller) is not a setting" },
	{ "empty text", NULL, NULL, "", "\"\" (caller) is not of the form" },
	{ "file of the environment", NULL, "TCPX_CONF_FILE=/nonexistent/f", NULL,
	  "open /nonexistent/f: no such file" },
	{ "directory", NULL, "TCPX_CONF_FILE=/tmp", NULL, "read /tmp: is a directory" },
};

TEST_WITH(refusals_name_value_source_and_what_is_allowed, fresh, NULL)
{
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		struct tcpx_cfg *cfg = (void *)&refused;
		struct tcpx_cfg_sources src = {
			.etc_file = etc_path,
			.env = ENV(refused[i].env),
			.caller = LIST(refused[i].caller),
		};
		int rc;

		capture_start();
		file_write(etc_path, refused[i].etc ? refused[i].etc : "");
		rc = tcpx_cfg_load(&src, &cfg);
		check(refused[i].name, "rc", rc, TCPX_ECONFIG);
		assert_ptr_equal(cfg, &refused); /* written only on success */
		check_has(captured, refused[i].said);
		check(refused[i].name, "lines logged", captured_count("\n"), 1);
	}
}

TEST_WITH(very_long_name_is_refused_not_cut_to_fit, fresh, NULL)
{
	char assignment[600] = "TCPX_PORT";
	struct tcpx_cfg *cfg = load((struct tcpx_cfg_sources){ 0 });

	memset(assignment + 9, 'T', 500);
	strcat(assignment, "=1");
	assert_int_equal(tcpx_cfg_set(cfg, assignment, "flag"), TCPX_ECONFIG);
	tcpx_cfg_free(cfg);
}

int
main(void)
{
	return run_cases(files_make, files_remove);
}
