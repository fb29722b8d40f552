/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's reports on links, in a network namespace of the test's own. */
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../base/base_test.h"
#include "host/host.h"

TEST(a_link_that_comes_up_is_reported)
{
	const struct tcpx_addr near = { .family = 4, .ip = { 127, 0, 3, 1 } };
	const struct tcpx_addr any = { .family = 4 };
	const struct tcpx_addr far = { .family = 4, .ip = { 10, 0, 0, 1 } };
	struct ifreq lo = { .ifr_name = "lo" };
	int s, fd;

	if (unshare(CLONE_NEWNET) < 0) {
		print_message("# skipped: no network namespaces here\n");
		skip();
	}
	assert_int_equal(tcpx_link_watch_open(&fd), 0);
	assert_false(tcpx_link_watch_take(fd));
	assert_false(tcpx_link_up_with("lo", &near));
	assert_false(tcpx_link_up_with("lo", &any));
	s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(s >= 0);
	assert_int_equal(ioctl(s, SIOCGIFFLAGS, &lo), 0);
	lo.ifr_flags |= IFF_UP;
	assert_int_equal(ioctl(s, SIOCSIFFLAGS, &lo), 0);
	assert_true(tcpx_link_watch_take(fd));
	assert_false(tcpx_link_watch_take(fd));
	assert_true(tcpx_link_up_with("lo", &near));
	assert_true(tcpx_link_up_with("lo", &any));
	assert_false(tcpx_link_up_with("eth0", &any));
	assert_false(tcpx_link_up_with("lo", &far));
	close(s);
	close(fd);
}
