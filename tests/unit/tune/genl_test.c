/* SPDX-License-Identifier: Apache-2.0 */
/* Generic netlink without a socket: requests, attributes, answers whole and broken. */
#include "../base/base_test.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>

#include "tune/facts/genl.h"

TEST(a_request_is_what_the_kernel_wants)
{
	struct tcpx_nl r;
	struct tcpx_nlattrs a, in;
	uint64_t v;
	size_t mark;

	tcpx_genl_init(&r, 21, 17, false);
	mark = tcpx_nl_nest(&r, 1);
	tcpx_nl_put_u32(&r, 1, 7);
	tcpx_nl_put(&r, 2, "eth0", 5);
	tcpx_nl_nest_end(&r, mark);
	assert_false(r.full);
	assert_int_equal(r.hdr.nlmsg_len, 20 + 4 + 8 + 12);
	a = (struct tcpx_nlattrs){ .at = r.bytes + 20, .left = r.hdr.nlmsg_len - 20 };
	assert_true(tcpx_nlattr_next(&a));
	check("outer", "type", a.type, 1);
	in = tcpx_nlattr_inside(&a);
	assert_true(tcpx_nlattr_next(&in) && tcpx_nlattr_number(&in, &v));
	check("index", "value", v, 7);
	assert_true(tcpx_nlattr_next(&in));
	assert_true(tcpx_nlattr_is(&in, "eth0"));
	assert_false(tcpx_nlattr_is(&in, "eth"));
	assert_false(tcpx_nlattr_is(&in, "eth01"));
	assert_false(tcpx_nlattr_number(&in, &v));
	assert_false(tcpx_nlattr_next(&in));
	assert_false(tcpx_nlattr_next(&a));
}

TEST(a_request_that_does_not_fit_says_so)
{
	struct tcpx_nl r;
	char large[600] = { 0 };

	tcpx_genl_init(&r, 21, 17, true);
	for (int i = 0; i < 61; i++)
		tcpx_nl_put_u32(&r, 1, 7);
	assert_false(r.full);
	tcpx_nl_put_u32(&r, 1, 7);
	assert_true(r.full);
	tcpx_genl_init(&r, 21, 17, true);
	tcpx_nl_put(&r, 1, large, sizeof(large));
	assert_true(r.full);
}

static unsigned messages;

static void
count(void *arg, struct tcpx_nlattrs attrs)
{
	messages++;
	while (tcpx_nlattr_next(&attrs))
		;
}

static size_t
message(uint8_t *to, uint16_t type, uint32_t seq, uint16_t flags, const void *body, size_t len)
{
	struct nlmsghdr h = { .nlmsg_len = (uint32_t)(NLMSG_HDRLEN + len), .nlmsg_type = type,
			      .nlmsg_seq = seq, .nlmsg_flags = flags };

	memset(to, 0, NLMSG_ALIGN(NLMSG_HDRLEN + len));
	memcpy(to, &h, sizeof(h));
	if (len)
		memcpy(to + NLMSG_HDRLEN, body, len);
	return NLMSG_ALIGN(NLMSG_HDRLEN + len);
}

TEST(answers_end_as_the_kernel_says)
{
	static const int32_t ok = 0, no = -EOPNOTSUPP, odd = 5;
	const uint8_t body[] = { 1, 1, 0, 0, 8, 0, 1, 0, 42, 0, 0, 0 };
	uint8_t bytes[512];
	size_t one = message(bytes, 21, 9, 0, body, sizeof(body)), len;

	messages = 0;
	check("more", "rc", tcpx_genl_parse(bytes, one, 9, count, NULL), 0);
	check("more", "messages", messages, 1);
	check("another's", "rc", tcpx_genl_parse(bytes, one, 8, count, NULL), 0);
	check("another's", "messages", messages, 1);
	len = one + message(bytes + one, NLMSG_ERROR, 9, 0, &ok, sizeof(ok));
	check("acknowledged", "rc", tcpx_genl_parse(bytes, len, 9, count, NULL), 1);
	message(bytes + one, NLMSG_ERROR, 9, 0, &no, sizeof(no));
	check("refused", "rc", tcpx_genl_parse(bytes, len, 9, count, NULL), -EOPNOTSUPP);
	message(bytes + one, NLMSG_DONE, 9, 0, &ok, sizeof(ok));
	check("all dumped", "rc", tcpx_genl_parse(bytes, len, 9, count, NULL), 1);
	message(bytes + one, NLMSG_ERROR, 9, 0, &odd, sizeof(odd));
	check("odd", "rc", tcpx_genl_parse(bytes, len, 9, count, NULL), -EBADMSG);
	len = one + message(bytes + one, NLMSG_DONE, 9, 0, NULL, 0);
	check("no code", "rc", tcpx_genl_parse(bytes, len, 9, count, NULL), -EBADMSG);
	message(bytes, 21, 9, NLM_F_DUMP_INTR, body, sizeof(body));
	check("changed", "rc", tcpx_genl_parse(bytes, one, 9, count, NULL), -EINTR);
	check("nothing", "rc", tcpx_genl_parse(bytes, 0, 9, count, NULL), 0);
	check("cut head", "rc", tcpx_genl_parse(bytes, 7, 9, count, NULL), -EBADMSG);
	check("cut body", "rc", tcpx_genl_parse(bytes, one - 4, 9, count, NULL), -EBADMSG);
}

TEST(no_bytes_lead_out_of_them)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng;

	rng = tcpx_rng_seed(seed);
	for (int i = 0; i < 20000; i++) {
		size_t len = tcpx_rng_below(&rng, 96);
		uint8_t *bytes = malloc(len ? len : 1);
		struct tcpx_nlattrs a;

		assert_non_null(bytes);
		for (size_t k = 0; k < len; k++)
			bytes[k] = (uint8_t)tcpx_rng_below(&rng, i % 2 ? 256 : 24);
		a = (struct tcpx_nlattrs){ .at = bytes, .left = len };
		while (tcpx_nlattr_next(&a))
			check_random(seed, a.data >= bytes && a.data + a.len <= bytes + len);
		check_random(seed, tcpx_genl_parse(bytes, len, 0, count, NULL) <= 1);
		free(bytes);
	}
}

/* The controller is there on every kernel that has generic netlink at all. */
TEST(the_kernel_answers)
{
	struct tcpx_genl g;
	int rc = tcpx_genl_open(&g);

	if (rc < 0) {
		print_message("no generic netlink: %s\n", strerror(-rc));
		skip();
	}
	check("nlctrl", "family", tcpx_genl_family(&g, "nlctrl"), GENL_ID_CTRL);
	check("nonsense", "family", tcpx_genl_family(&g, "no such one"), -ENOENT);
	check("nlctrl again", "family", tcpx_genl_family(&g, "nlctrl"), GENL_ID_CTRL);
	tcpx_genl_close(&g);
	tcpx_genl_close(&g);
}
