/* SPDX-License-Identifier: Apache-2.0 */
/* The host device: memory is everywhere and copied at once; and the names of the
 * implementations. */
#include "cases.h"

#include <errno.h>
#include <string.h>

#include "base/settings.h"
#include "device/device.h"

static const struct tcpx_device_ops *const host = &tcpx_device_host;

static struct tcpx_device *
open_host(void)
{
	struct tcpx_device_params params = { .clock = &tcpx_clock_system };
	struct tcpx_device *dev = NULL;

	assert_int_equal(host->open(&params, &dev), 0);
	return dev;
}

TEST(everything_lies_on_the_host)
{
	struct tcpx_device *dev = open_host();
	int place = 5, rc;
	uint64_t word = 0;

	rc = host->where(dev, (uintptr_t)&word, 8, &place);
	assert_int_equal(rc, 0);
	assert_int_equal(place, TCPX_ON_HOST);
	assert_int_equal(host->event(dev, &word), -ENOTSUP);
	assert_int_equal(host->stream_wait(dev, NULL, &word, 1), -ENOTSUP);
	host->close(dev);
}

TEST(a_copy_is_done_when_it_returns)
{
	struct tcpx_device *dev = open_host();
	struct tcpx_queue *q = NULL;
	char from[] = "abcdef", to[8] = "";
	struct tcpx_copy list[] = {
		{ (uintptr_t)from, (uintptr_t)to + 3, 3 },
		{ 1, 2, 0 }, /* nowhere, and nothing */
		{ (uintptr_t)from + 3, (uintptr_t)to, 3 },
	};
	uint64_t ticket;

	assert_int_equal(host->queue_open(dev, 0, TCPX_FLOW_UNPACK, &q), -EINVAL);
	assert_int_equal(host->queue_open(dev, TCPX_ON_HOST, TCPX_FLOW_UNPACK, &q), 0);
	assert_int_equal(host->copy(q, list, 3, &ticket), 0);
	assert_string_equal(to, "defabc");
	assert_int_equal(ticket, 1);
	assert_int_equal(host->poll(q, 1), 0);
	assert_int_equal(host->finish(q, 2, UINT64_MAX), -EINVAL);
	host->queue_close(q);
	host->close(dev);
}

TEST(staging_memory_is_page_aligned_and_never_empty)
{
	struct tcpx_device *dev = open_host();
	void *mem = NULL;

	assert_int_equal(host->pinned(dev, 5000, &mem), 0);
	assert_int_equal((uintptr_t)mem % 4096, 0);
	memset(mem, 1, 5000);
	host->unpin(dev, mem);
	mem = NULL;
	assert_int_equal(host->pinned(dev, 0, &mem), -ENOMEM);
	assert_int_equal(host->pinned(dev, SIZE_MAX - 5, &mem), -ENOMEM);
	assert_null(mem);
	host->close(dev);
}

TEST(the_words_are_those_of_the_setting_in_its_order)
{
	const struct tcpx_setting_def *def = tcpx_setting_at(TCPX_SET_UNPACK_IMPL);

	assert_string_equal(def->words[TCPX_UNPACK_KERNEL], "kernel");
	assert_string_equal(def->words[TCPX_UNPACK_D2D], "d2d");
	assert_string_equal(def->words[TCPX_UNPACK_HOST], "host");
	assert_string_equal(def->words[TCPX_UNPACK_NONE], "none");
	assert_null(def->words[TCPX_UNPACK_NONE + 1]);
}
