/* SPDX-License-Identifier: Apache-2.0 */
/* Large numbers: two hundred sessions, and a transfer of more than 2^31 bytes. */
#include "rig.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define SESSIONS 200

TEST(two_hundred_sessions_need_no_thread)
{
	static const char *const one[] = { "TCPX_CHANNELS=1", "TCPX_WINDOW=4", NULL };
	tcpx_engine *hub, **e = calloc(SESSIONS, sizeof(*e));
	tcpx_peer **p = calloc(SESSIONS, sizeof(*p));
	struct rlimit files = { 0 };
	int threads = thread_count(), fds;
	struct tcpx_counters before, after;

	fds = fd_count();
	/* an engine: a thread's poller and bell, a listener; a session: 3 at each end */
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	if (files.rlim_cur < 4096) {
		print_message("# skipped: only %lu descriptors\n", (unsigned long)files.rlim_cur);
		skip();
	}
	hub = rig_open("hub", one);
	before = counters_of(hub);
	for (int i = 0; i < SESSIONS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "e%d", i);
		e[i] = rig_open(name, one);
		p[i] = rig_add(hub, e[i]);
	}
	assert_threads(threads + SESSIONS + 2); /* one an engine, as asked, and the log's */
	for (int i = 0; i < SESSIONS; i++) {
		assert_ok(tcpx_peer_wait(p[i], WAIT_MS));
		assert_ok(tcpx_notify(p[i], "hello", 5));
	}
	for (int i = 0; i < SESSIONS; i++)
		assert_note(e[i], "hub", "hello");
	assert_threads(threads + SESSIONS + 2);
	after = counters_of(hub);
	assert_int_equal(after.sessions, SESSIONS);
	print_message("# %d sessions of 1 + 1 channels: %lu KiB each at the hub\n", SESSIONS,
		      (unsigned long)((after.memory_bytes - before.memory_bytes) / SESSIONS / 1024));
	assert_in_range((after.memory_bytes - before.memory_bytes) / SESSIONS, 1, 512 << 10);
	for (int i = 0; i < SESSIONS; i++)
		tcpx_peer_free(p[i]);
	tcpx_close(hub);
	for (int i = 0; i < SESSIONS; i++)
		tcpx_close(e[i]);
	assert_threads(threads);
	assert_int_equal(fd_count(), fds);
	free(e);
	free(p);
}

/* More than an int holds: one page of file memory behind every page of the range. */
TEST(more_than_two_gib_in_one_transfer)
{
	const size_t page = 1 << 20, len = (1ull << 31) + 5, pages = (len + page - 1) / page;
	struct rig r;
	uint8_t *at[2];
	uint64_t id[2];
	struct mem far;
	struct tcpx_desc l, f;
	tcpx_xfer *x;

	rig_begin(&r, NULL, NULL);
	for (int side = 0; side < 2; side++) {
		int fd = memfd_create("big", 0);

		assert_int_equal(ftruncate(fd, (off_t)page), 0);
		at[side] = mmap(NULL, pages * page, PROT_NONE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		assert_ptr_not_equal(at[side], MAP_FAILED);
		for (size_t i = 0; i < pages; i++)
			assert_ptr_equal(mmap(at[side] + i * page, page, PROT_READ | PROT_WRITE,
					      MAP_SHARED | MAP_FIXED, fd, 0),
					 at[side] + i * page);
		close(fd);
	}
	fill(at[0], page, 4);
	assert_ok(tcpx_mem_register(r.a, at[0], len, TCPX_MEM_LOCAL, &id[0]));
	assert_ok(tcpx_mem_register(r.b, at[1], len, TCPX_MEM_REMOTE_WRITE, &id[1]));
	far.id = id[1];
	l = (struct tcpx_desc){ id[0], 0, len };
	f = (struct tcpx_desc){ mem_tell(&far, r.b, r.a), 0, len };
	assert_ok(tcpx_write(r.to_b, &l, 1, &f, 1, NULL, 0, &x));
	assert_ok(tcpx_wait(x, -1));
	tcpx_xfer_free(x);
	assert_int_equal(counters_of(r.b).bytes_rx, len);
	assert_filled(at[1], page, 4);
	rig_end(&r);
	munmap(at[0], pages * page);
	munmap(at[1], pages * page);
}
