/* SPDX-License-Identifier: Apache-2.0 */
/* Finding, loading and initialising plugins, good ones of each version and bad ones. */
#include "plug_rig.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/plugin/find.h"
#include "net/plugin/init.h"

static const char *const versions[] = { "v6", "v7", "v8", "v9", "v10", "v11", "v12" };

/* One line, that says both. */
static void
assert_said(const char *one, const char *other)
{
	assert_int_equal(rig_log_lines(), 1);
	if (!strstr(rig_log_last(), one) || !strstr(rig_log_last(), other))
		fail_msg("the log says \"%s\", not \"%s\" and \"%s\"", rig_log_last(), one, other);
}

TEST(each_version_is_loaded_and_named)
{
	for (int i = 0; i < 7; i++) {
		struct plug_props props;
		struct rig r;
		char name[16];

		rig_take(&r, versions[i], "libfake.so");
		assert_int_equal(plug_open(r.path, &r.plug), 0);
		snprintf(name, sizeof(name), "Fake_%s", versions[i]);
		assert_string_equal(plug_name(r.plug), name);
		assert_string_equal(plug_path(r.plug), r.path);
		assert_int_equal(plug_abi(r.plug), 6 + i);
		assert_int_equal(plug_devices(r.plug), 2);
		assert_int_equal(plug_properties(r.plug, 1, &props), 0);
		assert_string_equal(props.name, "eth2");
		assert_string_equal(props.pci, "0000:06:00.0");
		assert_int_equal(props.speed_mbps, 200000);
		assert_true(props.gpu && props.host && !props.unpack);
		assert_int_equal(props.recvs_max, 1);
		assert_int_equal(props.requests_max, i == 0 ? 8 : 16);
		assert_int_equal(rig_log_lines(), 0);
		assert_int_equal(plug_properties(r.plug, 2, &props), -EINVAL);
		assert_int_equal(plug_properties(r.plug, -1, &props), -EINVAL);
		rig_close(&r);
	}
}

TEST(unpacking_is_of_one_version)
{
	struct plug_props props;
	struct rig r;

	rig_take(&r, "v7", "libfake.so");
	r.fake->device_type = NCCL_DEVICE_UNPACK;
	assert_int_equal(plug_open(r.path, &r.plug), 0);
	assert_int_equal(plug_properties(r.plug, 0, &props), 0);
	assert_true(props.unpack);
	rig_close(&r);

	rig_take(&r, "v7", "libfake.so");
	r.fake->device_type = NCCL_DEVICE_UNPACK;
	r.fake->device_version = 6;
	assert_int_equal(plug_open(r.path, &r.plug), -ELIBBAD);
	assert_said("type 1 version 6", "ELIBBAD");
	rig_close(&r);

	rig_take(&r, "v12", "libfake.so");
	r.fake->device_type = NCCL_DEVICE_GIN_PROXY;
	assert_int_equal(plug_open(r.path, &r.plug), -ELIBBAD);
	assert_said("type 2", r.path);
	rig_close(&r);
}

TEST(init_is_called_once_for_all_users)
{
	struct plug *again, *third;
	struct rig r;

	rig_take(&r, "v7", "libfake.so");
	assert_int_equal(plug_open(r.path, &r.plug), 0);
	assert_int_equal(plug_open(r.path, &again), 0);
	assert_ptr_equal(r.plug, again);
	plug_close(again);
	plug_close(r.plug);
	/* no finalize() in v7: it stays as it is */
	assert_int_equal(plug_open(r.path, &third), 0);
	assert_ptr_equal(r.plug, third);
	assert_int_equal(r.fake->calls[NET_FAKE_INIT], 1);
	rig_close(&r);
}

TEST(a_context_ends_with_its_last_user)
{
	struct plug *again;
	struct rig r;

	rig_take(&r, "v11", "libfake.so");
	assert_int_equal(plug_open(r.path, &r.plug), 0);
	assert_int_equal(plug_open(r.path, &again), 0);
	plug_close(again);
	assert_int_equal(r.fake->calls[NET_FAKE_FINALIZE], 0);
	plug_close(r.plug);
	assert_int_equal(r.fake->calls[NET_FAKE_FINALIZE], 1);
	assert_int_equal(plug_open(r.path, &r.plug), 0);
	assert_int_equal(r.fake->calls[NET_FAKE_INIT], 2);
	rig_close(&r);
}

TEST(what_is_missing_is_said)
{
	struct plug *p = NULL;
	struct rig r;

	rig_log_clear();
	assert_int_equal(plug_open("/nowhere/libnccl-net.so", &p), -ENOENT);
	assert_said("/nowhere/libnccl-net.so: no such library", "ENOENT");
	rig_take(&r, "none", "libnone.so");
	assert_int_equal(plug_open(r.path, &p), -ELIBBAD);
	assert_said("libnone.so: it exports none of ncclNetPlugin_v6 to _v12", "ELIBBAD");
	assert_null(p);
	rig_close(&r);
}

TEST(what_dlopen_would_hang_or_die_on_is_refused)
{
	struct plug *p = NULL;
	struct stat st;
	struct rig r;

	rig_take(&r, "v7", "libfake.so");
	dlclose(r.library); /* the mapping of a file that is cut is lost */
	r.library = dlopen(NULL, RTLD_NOW);
	r.fake = NULL;
	assert_int_equal(stat(r.path, &st), 0);
	assert_int_equal(truncate(r.path, st.st_size / 4), 0);
	rig_log_clear();
	assert_int_equal(plug_open(r.path, &p), -ELIBBAD);
	assert_said("libfake.so: it is cut short", "ELIBBAD");
	unlink(r.path);
	assert_int_equal(mkfifo(r.path, 0600), 0);
	rig_log_clear();
	assert_int_equal(plug_open(r.path, &p), -ELIBBAD);
	assert_said("libfake.so: it is no file", "ELIBBAD");
	rig_close(&r);
}

static struct {
	atomic_bool go, gone;
} stuck;

static enum nccl_result
hang(const void *table, void **ctx, nccl_logger logger, nccl_profiler profiler)
{
	while (!stuck.go)
		sched_yield();
	stuck.gone = true;
	return NCCL_OK;
}

TEST(an_init_that_hangs_is_given_up)
{
	struct plug_abi abi = { .version = 7, .init = hang };
	struct plug p = { .abi = &abi };
	char words[PLUG_WORDS];
	enum nccl_result result;

	assert_int_equal(plug_init(&p, 20 * TCPX_MS, &result, words), -ETIMEDOUT);
	stuck.go = true;
	while (!stuck.gone)
		sched_yield();
	assert_int_equal(plug_init(&p, 3600 * TCPX_SEC, &result, words), 0);
	assert_int_equal(result, NCCL_OK);
	assert_string_equal(words, "");
}

TEST(a_failed_init_is_not_repeated)
{
	struct rig r;

	rig_take(&r, "v9", "libfake.so");
	r.fake->result[NET_FAKE_INIT] = NCCL_INTERNAL_ERROR;
	assert_int_equal(plug_open(r.path, &r.plug), -ELIBBAD);
	assert_int_equal(rig_log_lines(), 2); /* the plugin's own, and ours that repeats it */
	assert_non_null(strstr(rig_log_last(), "its init() says internal error (3), and before that: a fake "
			       "setting is wrong"));
	r.fake->result[NET_FAKE_INIT] = NCCL_OK;
	rig_log_clear();
	assert_int_equal(plug_open(r.path, &r.plug), -ELIBBAD);
	assert_said("and before that: a fake setting is wrong", r.path);
	assert_int_equal(r.fake->calls[NET_FAKE_INIT], 1);
	rig_close(&r);
}

TEST(devices_are_needed)
{
	static const struct {
		enum net_fake_call call;
		int result, count, rc;
		const char *text;
	} cases[] = {
		{ NET_FAKE_DEVICES, NCCL_OK, 0, -ENODEV, "it has no device" },
		{ NET_FAKE_DEVICES, NCCL_OK, -3, -ENODEV, "it has no device" },
		{ NET_FAKE_DEVICES, NCCL_OK, 40000, -ELIBBAD, "40000 devices" },
		{ NET_FAKE_DEVICES, NCCL_SYSTEM_ERROR, 1, -ELIBBAD, "system error (2)" },
		{ NET_FAKE_PROPERTIES, NCCL_INVALID_USAGE, 1, -ELIBBAD, "invalid usage (5)" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig r;

		rig_take(&r, "v8", "libfake.so");
		r.fake->result[cases[i].call] = cases[i].result;
		r.fake->device_count = cases[i].count;
		assert_int_equal(plug_open(r.path, &r.plug), cases[i].rc);
		assert_said(cases[i].text, r.path);
		rig_close(&r);
	}
}

TEST(wrong_tables_are_refused)
{
	struct nccl_net_v7 *table;
	struct rig r;
	uintptr_t odd = 0x1234;

	rig_take(&r, "v7", "libfake.so");
	table = dlsym(r.library, "ncclNetPlugin_v7");
	table->test = NULL;
	assert_int_equal(plug_open(r.path, &r.plug), -ELIBBAD);
	assert_said("its ncclNetPlugin_v7 has no test()", r.path);
	rig_close(&r);

	rig_take(&r, "v7", "libfake.so");
	table = dlsym(r.library, "ncclNetPlugin_v7");
	memcpy(&table->init, &odd, sizeof(odd));
	assert_int_equal(plug_open(r.path, &r.plug), -ELIBBAD);
	assert_said("init() of its ncclNetPlugin_v7 is no function", r.path);
	rig_close(&r);

	rig_take(&r, "v7", "libfake.so");
	table = dlsym(r.library, "ncclNetPlugin_v7");
	table->consumed = NULL; /* which an ordinary plugin need not have */
	r.fake->device_type = NCCL_DEVICE_UNPACK;
	assert_int_equal(plug_open(r.path, &r.plug), -ELIBBAD);
	assert_said("has no irecvConsumed()", r.path);
	rig_close(&r);
}

TEST(chunks_are_asked_for_before_init)
{
	static const char *const bad[] = { NULL, "", "0", "0x0", "512K", "-1", "2147483648" };
	struct rig r;

	rig_take(&r, "v7", "libnccl-net-TCPX.so");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (bad[i])
			setenv("NCCL_DYNAMIC_CHUNK_SIZE", bad[i], 1);
		rig_log_clear();
		assert_int_equal(plug_open(r.path, &r.plug), -EINVAL);
		assert_said("NCCL_DYNAMIC_CHUNK_SIZE is \"", "524288 is usual");
	}
	assert_int_equal(r.fake->calls[NET_FAKE_INIT], 0);
	setenv("NCCL_DYNAMIC_CHUNK_SIZE", "0x80000", 1);
	assert_int_equal(plug_open(r.path, &r.plug), 0);
	unsetenv("NCCL_DYNAMIC_CHUNK_SIZE");
	rig_close(&r);
}

TEST(the_environment_names_a_plugin)
{
	struct rig r;
	char list[600];

	rig_take(&r, "v10", "libfake.so");
	snprintf(list, sizeof(list), "/nowhere/a.so,,nosuchplugin,%s,/nowhere/b.so", r.path);
	setenv("NCCL_NET_PLUGIN", list, 1);
	assert_int_equal(plug_open(NULL, &r.plug), 0);
	plug_close(r.plug);
	assert_int_equal(rig_log_lines(), 0);

	setenv("NCCL_NET_PLUGIN", "None", 1);
	assert_int_equal(plug_open("", &r.plug), -ENODEV);
	assert_said("NCCL_NET_PLUGIN", "none");
	assert_int_equal(plug_open("none", &r.plug), -ENODEV); /* though a plugin would be found */

	setenv("UCCL_TCPX_PLUGIN_PATH", r.path, 1);
	assert_int_equal(plug_open("", &r.plug), 0);
	plug_close(r.plug);
	setenv("TCPX_PLUGIN_PATH", "none", 1);
	rig_log_clear();
	assert_int_equal(plug_open(NULL, &r.plug), -ENODEV);
	assert_said("TCPX_PLUGIN_PATH", "none");
	setenv("TCPX_PLUGIN_PATH", "/nowhere/c.so", 1);
	rig_log_clear();
	assert_int_equal(plug_open(NULL, &r.plug), -ENOENT);
	assert_said("TCPX_PLUGIN_PATH", "/nowhere/c.so: no such library");
	unsetenv("TCPX_PLUGIN_PATH");
	unsetenv("UCCL_TCPX_PLUGIN_PATH");
	unsetenv("NCCL_NET_PLUGIN");
	assert_int_equal(plug_open(r.path, &r.plug), 0);
	rig_close(&r);
}

TEST(names_are_as_nccl_makes_them)
{
	static const struct {
		const char *path, *ours, *nccl, *names;
	} cases[] = {
		{ "/x/a.so", "b", "c", "/x/a.so" },
		{ NULL, "tcpx", "c", "tcpx libnccl-net-tcpx.so" },
		{ "", "", "libx.so", "libx.so" },
		{ "", "", "lib.so", "lib.so" },
		{ "", "", "lib", "lib libnccl-net-lib.so" },
		{ "", "", "x.so", "x.so libnccl-net-x.so.so" },
		{ NULL, NULL, "./a,b,/c/d", "./a b libnccl-net-b.so /c/d" },
		{ NULL, NULL, ",,", "" },
		{ NULL, NULL, NULL, "libnccl-net.so /usr/local/tcpx/lib64/libnccl-net-tcpx.so" },
	};
	struct plug_names *names = malloc(sizeof(*names));

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char all[1024] = "";

		assert_int_equal(plug_names_init(names, cases[i].path, cases[i].ours,
						 cases[i].nccl), 0);
		for (int k = 0; k < names->count; k++) {
			strcat(all, k ? " " : "");
			strcat(all, names->name[k]);
		}
		assert_string_equal(all, cases[i].names);
	}
	assert_int_equal(plug_names_init(names, NULL, NULL, "NONE"), -ENODEV);
	free(names);
}

TEST(long_lists_end_somewhere)
{
	struct plug_names *names = malloc(sizeof(*names));
	char list[4000];

	memset(list, 'a', sizeof(list));
	list[sizeof(list) - 1] = '\0';
	assert_int_equal(plug_names_init(names, list, NULL, NULL), 0);
	assert_int_equal(names->count, 0);
	for (size_t i = 1; i < sizeof(list) - 1; i += 2)
		list[i] = ',';
	assert_int_equal(plug_names_init(names, NULL, NULL, list), 0);
	assert_int_equal(names->count, PLUG_NAMES);
	free(names);
}

TEST(tcpx_is_told_by_its_names)
{
	assert_true(plug_is_tcpx("GPUDirectTCPX_v7", NULL));
	assert_true(plug_is_tcpx(NULL, "/lib/libnccl-net-tcpx.so"));
	assert_true(plug_is_tcpx("x", "tcpx"));
	assert_false(plug_is_tcpx("AWS Libfabric", "/home/tcpx/libnccl-net.so"));
	assert_false(plug_is_tcpx(NULL, NULL));
}

int
main(void)
{
	rig_log_start();
	unsetenv("NCCL_DYNAMIC_CHUNK_SIZE");
	unsetenv("NCCL_NET_PLUGIN");
	unsetenv("TCPX_PLUGIN_PATH");
	unsetenv("UCCL_TCPX_PLUGIN_PATH");
	return run_cases(NULL, NULL);
}
