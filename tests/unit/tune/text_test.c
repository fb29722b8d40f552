/* SPDX-License-Identifier: Apache-2.0 */
/* Texts and names of other files that a diagnosis asks for. */
#include "../fixture.h"

#include <errno.h>

#include "host/host.h"
#include "tune/facts/text.h"

TEST(names_end_with_two_nuls_or_do_not_fit)
{
	static const char want[] = "a\0bc\0";
	struct fixture f;
	char buf[16];

	fixture_init(&f);
	fixture_write(&f, "dir/bc", "");
	fixture_write(&f, "dir/a", "one");
	assert_int_equal(tcpx_host_names_read(f.root, "dir", buf, 6), 5);
	assert_memory_equal(buf, want, sizeof(want));
	for (size_t cap = 0; cap < 6; cap++)
		assert_int_equal(tcpx_host_names_read(f.root, "dir", buf, cap), -EFBIG);
	assert_int_equal(tcpx_host_names_read(f.root, "none", buf, 6), -ENOENT);
	assert_int_equal(tcpx_host_text_read(f.root, "dir/a", buf, sizeof(buf)), 3);
	check_text("text", buf, "one");
	fixture_fini(&f);
}
