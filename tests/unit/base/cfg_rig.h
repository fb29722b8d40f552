/* SPDX-License-Identifier: Apache-2.0 */
/* Sources of settings for a test: two files, an environment and a caller. */
#ifndef CFG_RIG_H
#define CFG_RIG_H

#include <unistd.h>

#include "base/cfg.h"
#include "base_test.h"

#define ENV(...)  ((char *const *)(const char *[]){ __VA_ARGS__, NULL })
#define LIST(...) ((const char *[]){ __VA_ARGS__, NULL })

static char etc_path[] = "/tmp/tcpx-etc-XXXXXX";
static char home_path[] = "/tmp/tcpx-home-XXXXXX";

static inline void
file_write(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static inline int
files_make(void **state)
{
	int a = mkstemp(etc_path), b = mkstemp(home_path);

	return close(a) || close(b);
}

static inline int
files_remove(void **state)
{
	return unlink(etc_path) || unlink(home_path);
}

static inline int
fresh(void **state)
{
	file_write(etc_path, "");
	file_write(home_path, "");
	capture_start();
	return 0;
}

static inline struct tcpx_cfg *
load(struct tcpx_cfg_sources src)
{
	struct tcpx_cfg *cfg = NULL;

	assert_int_equal(tcpx_cfg_load(&src, &cfg), 0);
	assert_non_null(cfg);
	return cfg;
}

static inline void
check_setting(const struct tcpx_cfg *cfg, enum tcpx_setting setting, const char *text,
	      const char *source)
{
	const char *name = tcpx_setting_at(setting)->name;

	check_text(name, tcpx_cfg_str(cfg, setting), text);
	check_text(name, tcpx_cfg_source(cfg, setting), source);
	check(name, "is default", tcpx_cfg_is_default(cfg, setting),
	      !strcmp(source, "default"));
}

#endif
