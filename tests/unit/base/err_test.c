/* SPDX-License-Identifier: Apache-2.0 */
/* Failing: one line, one code, and names for every code. */
#include "base_test.h"

#include <errno.h>
#include <pthread.h>

#include "base/err.h"

TEST(code_and_text_of_a_failure_reach_log_and_thread)
{
	char text[128];

	capture_start();
	assert_int_equal(tcpx_fail(TCPX_SUB_NET, TCPX_ELIMIT, "queue of %d", 7),
			 TCPX_ELIMIT);
	tcpx_err_last(text, sizeof(text));
	assert_string_equal(text, "queue of 7 (TCPX_ELIMIT)");
	check_has(captured, " TCPX WARN NET queue of 7 (TCPX_ELIMIT)\n");
	assert_int_equal(captured_count("\n"), 1);
}

TEST(a_text_that_quotes_a_peer_shows)
{
	char text[128];

	tcpx_fail_known(TCPX_ELIMIT, "peer %s", "a\033[2J\xc2\x9b" "b\xe2\x80\xae\xff\n");
	tcpx_err_last(text, sizeof(text));
	assert_string_equal(text, "peer a?[2J?b??? (TCPX_ELIMIT)");
}

TEST(errno_failure_has_the_words_and_the_code)
{
	char text[128];

	capture_start();
	errno = ECONNREFUSED;
	assert_int_equal(tcpx_fail_errno(TCPX_SUB_NET, "connect to %s", "eth3"),
			 -ECONNREFUSED);
	tcpx_err_last(text, sizeof(text));
	assert_string_equal(text, "connect to eth3: connection refused (ECONNREFUSED)");
}

TEST(not_yet_is_not_a_failure)
{
	char text[64];

	capture_start();
	tcpx_fail(TCPX_SUB_NET, -EINVAL, "before");
	capture_start();
	assert_int_equal(tcpx_fail(TCPX_SUB_NET, -EAGAIN, "later"), -EAGAIN);
	errno = EAGAIN;
	assert_int_equal(tcpx_fail_errno(TCPX_SUB_NET, "later"), -EAGAIN);
	assert_string_equal(captured, "");
	tcpx_err_last(text, sizeof(text));
	assert_string_equal(text, "before (EINVAL)");
}

TEST(text_is_kept_with_the_log_off)
{
	char text[64];

	capture_start();
	assert_int_equal(tcpx_log_setup("NONE", NULL, NULL), 0);
	tcpx_fail(TCPX_SUB_NET, TCPX_EDATA, "silent");
	assert_int_equal(tcpx_log_setup("WARN", NULL, NULL), 0);
	assert_string_equal(captured, "");
	tcpx_err_last(text, sizeof(text));
	assert_string_equal(text, "silent (TCPX_EDATA)");
}

TEST(long_text_keeps_its_code)
{
	char text[1024];

	capture_start();
	tcpx_fail(TCPX_SUB_NET, TCPX_ENOCHANNEL, "%0900d", 1);
	tcpx_err_last(text, sizeof(text));
	check_has(text, "(TCPX_ENOCHANNEL)");
}

TEST(last_text_may_be_an_argument_of_the_next)
{
	char text[64];

	capture_start();
	tcpx_fail(TCPX_SUB_NET, TCPX_EDATA, "a");
	tcpx_err_last(text, sizeof(text));
	tcpx_fail(TCPX_SUB_NET, TCPX_EDATA, "b: %s", text);
	tcpx_err_last(text, 4); /* cut, and ended */
	assert_string_equal(text, "b: ");
	tcpx_err_last(NULL, 0);
}

static void *
last_of_new_thread(void *text)
{
	tcpx_err_last(text, 16);
	return NULL;
}

TEST(each_thread_has_its_own_last_text)
{
	char text[16] = "?";
	pthread_t thread;

	capture_start();
	tcpx_fail(TCPX_SUB_NET, TCPX_EDATA, "here");
	assert_int_equal(pthread_create(&thread, NULL, last_of_new_thread, text), 0);
	pthread_join(thread, NULL);
	assert_string_equal(text, "");
}

static const struct {
	int code;
	const char *name;
	enum tcpx_err_group group;
} codes[] = {
	{ 0, "OK", TCPX_GROUP_OK },
	{ -EINVAL, "EINVAL", TCPX_GROUP_SYSTEM },
	{ -ENOMEM, "ENOMEM", TCPX_GROUP_SYSTEM },
	{ -EADDRINUSE, "EADDRINUSE", TCPX_GROUP_SYSTEM },
	{ -999, "errno 999", TCPX_GROUP_SYSTEM },
	{ TCPX_ESTATE, "TCPX_ESTATE", TCPX_GROUP_CALL },
	{ TCPX_ESTALE, "TCPX_ESTALE", TCPX_GROUP_CALL },
	{ TCPX_ECANCELED, "TCPX_ECANCELED", TCPX_GROUP_TRANSFER },
	{ TCPX_EDATA, "TCPX_EDATA", TCPX_GROUP_TRANSFER },
	{ TCPX_ECHANNEL, "TCPX_ECHANNEL", TCPX_GROUP_CHANNEL },
	{ TCPX_EFENCED, "TCPX_EFENCED", TCPX_GROUP_CHANNEL },
	{ TCPX_EPEERGONE, "TCPX_EPEERGONE", TCPX_GROUP_SESSION },
	{ TCPX_ENOCHANNEL, "TCPX_ENOCHANNEL", TCPX_GROUP_SESSION },
	{ -1999, "code -1999", TCPX_GROUP_SESSION },
	{ 5, "code 5", TCPX_GROUP_OK },
};

TEST(codes_have_name_group_and_text)
{
	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		check_text(codes[i].name, tcpx_err_name(codes[i].code), codes[i].name);
		check(codes[i].name, "group", tcpx_err_group_of(codes[i].code),
		      codes[i].group);
		assert_true(strlen(tcpx_err_text(codes[i].code)) > 1);
	}
}

TEST(every_code_of_ours_is_in_the_table)
{
	static const int last[] = { TCPX_ESTALE, TCPX_EDATA, TCPX_EFENCED, TCPX_ENOCHANNEL };

	for (size_t i = 0; i < ARRAY_LEN(last); i++)
		for (int code = last[i]; code % 100 != 0; code++) {
			check_has(tcpx_err_name(code), "TCPX_E");
			assert_null(strstr(tcpx_err_text(code), "code"));
		}
}
