/* SPDX-License-Identifier: Apache-2.0 */
/* NIXL's code for each of ours. */
#include <cerrno>

extern "C" {
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/err.h"
}

#include "nixl/codes.h"

using namespace nixlabi;

static const struct {
	int code;
	Status want;
} rows[] = {
	{ 0, SUCCESS },
	{ -EAGAIN, IN_PROG },
	{ -EINVAL, INVALID_PARAM },
	{ -ENOENT, NOT_FOUND },
	{ -ENOTSUP, NOT_SUPPORTED },
	{ -EXDEV, NOT_SUPPORTED },
	{ -ENOMEM, BACKEND },
	{ -EIO, BACKEND },
	{ -ENOBUFS, BACKEND },
	{ TCPX_ESTATE, BACKEND },
	{ -EALREADY, REPOST_ACTIVE },
	{ TCPX_ECONFIG, BACKEND },
	{ TCPX_ELIMIT, BACKEND },
	{ TCPX_EBLOB, MISMATCH },
	{ TCPX_ESTALE, NOT_FOUND },
	{ TCPX_ECANCELED, CANCELED },
	{ TCPX_EREGION, BACKEND },
	{ TCPX_EKEY, BACKEND },
	{ TCPX_ERANGE, INVALID_PARAM },
	{ TCPX_ELENGTH, BACKEND },
	{ TCPX_EDATA, BACKEND },
	{ TCPX_ECHANNEL, BACKEND },
	{ TCPX_EFRAME, BACKEND },
	{ TCPX_EFENCED, BACKEND },
	{ TCPX_EPEERGONE, REMOTE_DISCONNECT },
	{ TCPX_ESTALLED, REMOTE_DISCONNECT },
	{ TCPX_EPROTO, REMOTE_DISCONNECT },
	{ TCPX_EAUTH, NOT_ALLOWED },
	{ TCPX_ETIMEDOUT, BACKEND },
	{ TCPX_EVERSION, MISMATCH },
	{ TCPX_ECLOSED, REMOTE_DISCONNECT },
	{ TCPX_ENOCHANNEL, REMOTE_DISCONNECT },
};

static void
each_code_has_its_status(void **)
{
	for (const auto &row : rows)
		if (tcpx_nixl_status(row.code) != row.want)
			fail_msg("%s is %d, not %d", tcpx_err_name(row.code),
				 tcpx_nixl_status(row.code), row.want);
}

static void
no_code_of_the_library_is_left_out(void **)
{
	int known = 0;

	for (int code = -1400; code <= -1000; code++) {
		bool has_row = false;

		for (const auto &row : rows)
			has_row |= row.code == code;
		known += tcpx_err_known(code);
		if (tcpx_err_known(code) && !has_row)
			fail_msg("%s has no row", tcpx_err_name(code));
	}
	assert_true(known > 20);
}

int
main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_code_has_its_status),
		cmocka_unit_test(no_code_of_the_library_is_left_out),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
