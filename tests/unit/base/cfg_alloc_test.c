/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading settings while each allocation in turn fails. The calls are wrapped at link time;
 * allocations_left chooses the failing one.
 */
#include "base_test.h"

#include <errno.h>
#include <unistd.h>

#include "base/cfg.h"

static int allocations_left = -1; /* below 0: no limit */

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
char *__real_strdup(const char *s);
char *__wrap_strdup(const char *s);

static bool
allocation_fails(void)
{
	return allocations_left >= 0 && allocations_left-- == 0;
}

void *
__wrap_calloc(size_t n, size_t size)
{
	return allocation_fails() ? NULL : __real_calloc(n, size);
}

char *
__wrap_strdup(const char *s)
{
	return allocation_fails() ? NULL : __real_strdup(s);
}

TEST(every_failing_allocation_is_survived)
{
	static const char *const env[] = { "TCPX_CHUNK=1M", "NCCL_SOCKET_IFNAME=eth0",
					   NULL };
	static const char *const caller[] = { "TCPX_PORT=5", NULL };
	char etc_path[] = "/tmp/tcpx-alloc-XXXXXX";
	struct tcpx_cfg_sources src = {
		.env = (char *const *)env,
		.etc_file = etc_path,
		.caller = caller,
	};
	struct tcpx_cfg *cfg = NULL;
	int fd = mkstemp(etc_path);
	int rc = -ENOMEM;
	int n;

	assert_int_equal(write(fd, "TCPX_WINDOW=5\n", 14), 14);
	close(fd);
	capture_start();
	for (n = 0; rc && n < 200; n++) {
		allocations_left = n;
		rc = tcpx_cfg_load(&src, &cfg);
		allocations_left = -1;
		if (rc) {
			check("load", "rc", rc, -ENOMEM);
			assert_null(cfg);
		}
	}
	unlink(etc_path);
	assert_int_equal(rc, 0);
	assert_true(n > TCPX_SETTING_COUNT);

	for (n = 0; n < 2; n++) { /* a failed set leaves what was there */
		allocations_left = n;
		rc = tcpx_cfg_set(cfg, "TCPX_PORT=6", "test");
		allocations_left = -1;
		assert_int_equal(rc, -ENOMEM);
		check_text("port", tcpx_cfg_str(cfg, TCPX_SET_PORT), "5");
		check_text("source", tcpx_cfg_source(cfg, TCPX_SET_PORT), "caller");
	}
	tcpx_cfg_free(cfg);
}
