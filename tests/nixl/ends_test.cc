/* SPDX-License-Identifier: Apache-2.0 */
/* The NIXL plugin: requests and peers that end, in any order, are killed or say nothing; and all calls
 * from many threads.
 * Usage: nixl_ends PLUGIN [TEST | restart ROUNDS] */
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "pair.h"
#include "peer.h"

using namespace nixlabi;

/* ---- order of release --------------------------------------------------------------- */

static void
a_request_outlives_the_knowledge_of_its_peer(void **)
{
	Pair p;
	Transfer active(p.a, "bert", WRITE, { { 0, 0, MEMORY_BYTES } });
	Transfer idle(p.a, "bert", READ, { { 0, 0, 100 } });

	assert_status(active.post("kept"), IN_PROG);
	p.a.forget("bert");
	assert_success(active.wait());
	assert_string_equal(take_notes(p.b, 1)[0].second.c_str(), "kept");
	active.release();
	idle.release();
	/* a healthy peer comes and goes */
	for (int i = 0; i < 50; i++) {
		assert_success(p.a.load(p.b));
		move(p.a, p.b, WRITE, { { 0, 64, 1000 } }, "again");
		p.a.forget("bert");
	}
}

static void
an_active_request_is_released_and_its_memory_freed(void **)
{
	Pair p;

	for (int i = 0; i < 20; i++) {
		Op op = i % 2 ? READ : WRITE;
		Transfer r(p.a, "bert", op, { { 0, 0, MEMORY_BYTES } });

		assert_status(r.post("not to be sent"), IN_PROG);
		for (int k = 0; k < i * 3; k++)
			(void)p.a.engine->check(r.handle);
		r.release();
		assert_success(p.a.engine->deregister_mem(p.a.memory.md));
		std::vector<uint8_t>().swap(p.a.memory.bytes);
		p.a.memory.bytes.resize(MEMORY_BYTES, 0xdd);
		assert_success(p.a.engine->register_mem(p.a.exported(), DRAM, p.a.memory.md));
		std::vector<uint8_t> kept = p.a.memory.bytes;
		/* a note of an earlier round can only be there if it had ended before */
		move(p.a, p.b, WRITE, { { 0, 0, 5000 } }, nullptr);
		assert_true(kept == p.a.memory.bytes);
	}
}

static void
requests_are_made_and_freed_in_masses(void **)
{
	Pair p;

	for (uint32_t i = 0; i < 3000; i++) {
		Transfer r(p.a, "bert", i % 2 ? READ : WRITE, shuffled(1 + i % 7, 100, i));

		assert_success(r.prepared);
		if (i % 3)
			assert_status(r.post(), IN_PROG);
		if (i % 3 == 1)
			assert_success(r.wait());
	}
	for (int i = 0; i < 300; i++)
		assert_success(p.a.load(p.b)); /* the same bytes again: nothing changes */
	move(p.a, p.b, WRITE, { { 0, 0, 1000 } }, "after all");
}

/* ---- the end of a peer -------------------------------------------------------------- */

static void
whoever_has_gone_is_gone_for_all_requests(void **)
{
	File file(plugin_path);
	Agent a(file, "anna");

	for (int round = 0; round < 5; round++) {
		auto b = std::make_unique<Agent>(file, "bert");
		std::vector<std::unique_ptr<Transfer>> all;

		assert_success(a.load(*b));
		move(a, *b, WRITE, { { 0, 0, 1000 } }, "here");
		for (int i = 0; i < 4; i++)
			all.push_back(std::make_unique<Transfer>(
				a, "bert", i % 2 ? READ : WRITE,
				std::vector<Piece>{ { 0, 0, MEMORY_BYTES } }));
		for (int i = 0; i < 3; i++)
			assert_status(all[i]->post("last"), IN_PROG);
		b.reset();
		for (int i = 0; i < 3; i++) {
			Status rc = all[i]->wait();
			/* it took its memory back before it went, as NIXL's agent does */
			assert_true(rc == REMOTE_DISCONNECT || rc == SUCCESS || rc == BACKEND);
		}
		/* its farewell may still be on its way */
		Status rc = BACKEND;
		for (Deadline d; rc != REMOTE_DISCONNECT && !d.passed();) {
			rc = all[3]->post();
			if (rc == IN_PROG)
				rc = all[3]->wait();
		}
		assert_status(rc, REMOTE_DISCONNECT);
		assert_status(all[0]->post(), REMOTE_DISCONNECT);
		assert_status(a.engine->notify("bert", "anybody?"), REMOTE_DISCONNECT);
		a.forget("bert");
		/* all of them are released after the next bert has been loaded */
		Agent next(file, "bert");
		assert_success(a.load(next));
		move(a, next, READ, { { 0, 0, 1000 } }, "here again");
		all.clear();
		a.forget("bert");
	}
}

static void
whoever_never_answered_has_gone_too(void **)
{
	File file(plugin_path);
	Agent a(file, "anna");
	auto b = std::make_unique<Agent>(file, "bert");
	BlobDesc desc = b->exported();
	std::string info = b->info;

	b.reset();
	auto begin = std::chrono::steady_clock::now();
	assert_success(a.load("bert", info, desc));
	{
		Transfer r(a, "bert", WRITE, { { 0, 0, 1000 } });
		Status rc = r.prepared == SUCCESS ? r.post() : r.prepared;

		if (rc == IN_PROG)
			rc = r.wait();
		assert_status(rc, REMOTE_DISCONNECT);
	}
	print_message("# after %d ms\n", static_cast<int>(std::chrono::duration_cast<
		std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin).count()));
	a.forget("bert");
	/* its name is free for another */
	Agent next(file, "bert");
	assert_success(a.load(next));
	move(a, next, WRITE, { { 0, 0, 1000 } }, "here");
}

static void
an_active_request_is_not_posted_again(void **)
{
	File file(plugin_path);
	Agent a(file, "anna");
	PeerProcess b(plugin_path, "bert");

	b.signal(SIGSTOP); /* nothing ends before the handshake's deadline */
	assert_success(a.load("bert", b.info, b.desc));
	Transfer r(a, "bert", WRITE, { { 0, 0, 1000 } });
	assert_status(r.post("once"), IN_PROG);
	assert_status(r.post("twice"), REPOST_ACTIVE);
	b.signal(SIGCONT);
	assert_success(r.wait());
}

static void
whoever_is_silent_is_tried_again(void **)
{
	File file(plugin_path);
	Agent a(file, "anna", { { "TCPX_HANDSHAKE_MS", "300" } });
	PeerProcess b(plugin_path, "bert");
	std::vector<Piece> piece = { { 0, 0, 1000 } };

	b.signal(SIGSTOP); /* the kernel takes the connection, and nobody answers */
	assert_success(a.load("bert", b.info, b.desc));
	Transfer r(a, "bert", WRITE, piece);
	assert_success(r.prepared);
	for (int i = 0; i < 2; i++) {
		assert_status(r.post(), IN_PROG);
		assert_status(r.wait(), BACKEND);
	}
	b.signal(SIGCONT);
	Status rc = BACKEND;
	for (Deadline d; rc == BACKEND && !d.passed();) { /* by the same handle */
		rc = r.post("at last");
		if (rc == IN_PROG)
			rc = r.wait();
	}
	assert_success(rc);
}

/* Another process, killed while requests are in progress: it says nothing. */
static void
restart(int rounds)
{
	File file(plugin_path);
	Agent a(file, "anna");
	std::vector<Piece> all = { { 0, 0, MEMORY_BYTES } };

	for (int i = 0; i < rounds; i++) {
		PeerProcess b(plugin_path, "bert");

		assert_success(a.load("bert", b.info, b.desc));
		Transfer write(a, "bert", WRITE, all), read(a, "bert", READ, all);
		assert_success(write.prepared);
		assert_success(read.prepared);
		assert_status(write.post("note"), IN_PROG);
		assert_success(write.wait());
		std::vector<uint8_t> sent = a.memory.bytes;
		fill(a.memory, 7);
		assert_status(read.post(), IN_PROG);
		assert_success(read.wait());
		assert_true(a.memory.bytes == sent);

		assert_status(write.post(), IN_PROG);
		assert_status(read.post(), IN_PROG);
		b.kill();
		/* either had ended before, or it is told */
		Status rc = write.wait(), rc2 = read.wait();
		assert_true(rc == REMOTE_DISCONNECT || rc == SUCCESS);
		assert_true(rc2 == REMOTE_DISCONNECT || rc2 == SUCCESS);
		for (Deadline d; rc == SUCCESS && !d.passed();) {
			rc = write.post();
			if (rc == IN_PROG)
				rc = write.wait();
		}
		assert_status(rc, REMOTE_DISCONNECT);
		assert_status(read.post(), REMOTE_DISCONNECT);
		a.forget("bert");
	}
}

static void
a_killed_peer_is_replaced(void **)
{
	restart(5);
}

static int soak_rounds;

static size_t
entries(const char *path)
{
	size_t n = 0;

	for (auto &entry : std::filesystem::directory_iterator(path))
		n += !entry.path().empty();
	return n;
}

static long
resident_pages()
{
	long size, resident;

	std::ifstream("/proc/self/statm") >> size >> resident;
	return resident;
}

/* The same for long: no descriptor, thread or memory is left behind. */
static void
killed_peers_leave_nothing_behind(void **)
{
	File file(plugin_path); /* stays loaded */
	size_t fds, threads;
	long pages;

	restart(soak_rounds / 10);
	fds = entries("/proc/self/fd");
	threads = entries("/proc/self/task");
	pages = resident_pages();
	restart(soak_rounds);
	print_message("# %d rounds: %zu descriptors, %zu threads, %ld pages; before %zu, %zu, %ld\n",
		      soak_rounds, entries("/proc/self/fd"), entries("/proc/self/task"),
		      resident_pages(), fds, threads, pages);
	assert_int_equal(entries("/proc/self/fd"), fds);
	assert_in_range(entries("/proc/self/task"), 1, threads);
	assert_in_range(resident_pages(), 1, pages + 2048);
}

static int
soak(int rounds)
{
	const struct CMUnitTest test[] = { cmocka_unit_test(killed_peers_leave_nothing_behind) };

	soak_rounds = rounds;
	return cmocka_run_group_tests(test, nullptr, nullptr);
}

/* ---- threads ----------------------------------------------------------------------- */

struct Worker {
	std::vector<std::string> faults; /* only the main thread may leave a test */
	std::thread thread;
	void must(bool holds, const char *what)
	{
		if (!holds)
			faults.push_back(what);
	}
};

/* Writes its share of the memory and reads it back, again and again. */
static void
write_and_read(Worker &w, Pair &p, size_t share, size_t begin)
{
	std::vector<uint8_t> sent(p.a.memory.bytes.begin() + begin,
				  p.a.memory.bytes.begin() + begin + share);

	for (int i = 0; i < 40; i++) {
		std::vector<Piece> pieces = { { begin, begin, share / 2 },
					      { begin + share / 2, begin + share / 2, share / 2 } };
		Transfer write(p.a, "bert", WRITE, pieces), read(p.a, "bert", READ, pieces);

		w.must(write.prepared == SUCCESS && read.prepared == SUCCESS, "prepare");
		w.must(write.post("w") == IN_PROG && write.wait() == SUCCESS, "write");
		std::fill_n(p.a.memory.bytes.begin() + begin, share, 0);
		w.must(read.post() == IN_PROG && read.wait() == SUCCESS, "read");
		w.must(std::equal(sent.begin(), sent.end(), p.a.memory.bytes.begin() + begin),
		       "bytes");
		Transfer other(p.b, "anna", READ, pieces);
		w.must(other.post("r") == IN_PROG, "released at once");
	}
}

/* What vLLM's handshake does in a thread of its own. */
static void
add_and_unload(Worker &w, Pair &p, std::atomic<int> &working)
{
	while (working > 0) {
		Metadata *md = nullptr;

		w.must(p.a.engine->load_conn_info("bert", p.b.info) == SUCCESS, "load");
		w.must(p.a.engine->load_remote(p.b.exported(), DRAM, "bert", md) == SUCCESS, "load MD");
		w.must(p.a.engine->notify("bert", "n") == SUCCESS, "notify");
		w.must(p.a.engine->unload(md) == SUCCESS, "unload");
		(void)p.a.engine->disconnect("carl");
		std::this_thread::yield();
	}
}

static void
take_and_count(Worker &w, Agent &agent, std::atomic<int> &working, size_t *notes)
{
	bool last;

	do {
		Notifs got;

		last = working == 0;
		w.must(agent.engine->take_notifs(got) == SUCCESS, "take");
		for (auto &[sender, text] : got)
			*notes += text == "w";
		std::this_thread::yield();
	} while (!last);
}

static void
every_call_comes_from_every_thread(void **)
{
	constexpr int WRITERS = 3;
	constexpr size_t SHARE = 256 << 10;

	for (int sync = 0; sync < 3; sync++) { /* none, strict, rw; the first without progress thread */
		Pair p(sync);
		Worker w[WRITERS + 3];
		std::atomic<int> working{ WRITERS };
		size_t notes = 0, others = 0;

		for (int i = 0; i < WRITERS; i++)
			w[i].thread = std::thread([&, i] {
				write_and_read(w[i], p, SHARE, i * SHARE);
				working--;
			});
		w[WRITERS].thread = std::thread([&] { add_and_unload(w[WRITERS], p, working); });
		w[WRITERS + 1].thread = std::thread([&] {
			take_and_count(w[WRITERS + 1], p.b, working, &notes);
		});
		w[WRITERS + 2].thread = std::thread([&] {
			take_and_count(w[WRITERS + 2], p.a, working, &others);
		});
		for (Worker &worker : w)
			worker.thread.join();
		for (Worker &worker : w)
			for (const std::string &fault : worker.faults)
				fail_msg("%s", fault.c_str());
		assert_int_equal(notes, WRITERS * 40);
	}
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_outlives_the_knowledge_of_its_peer),
		cmocka_unit_test(an_active_request_is_released_and_its_memory_freed),
		cmocka_unit_test(requests_are_made_and_freed_in_masses),
		cmocka_unit_test(whoever_has_gone_is_gone_for_all_requests),
		cmocka_unit_test(whoever_never_answered_has_gone_too),
		cmocka_unit_test(an_active_request_is_not_posted_again),
		cmocka_unit_test(whoever_is_silent_is_tried_again),
		cmocka_unit_test(a_killed_peer_is_replaced),
		cmocka_unit_test(every_call_comes_from_every_thread),
	};

	if (argc == 5 && !strcmp(argv[2], "peer"))
		return PeerProcess::serve(argv[1], argv[3], strtoul(argv[4], nullptr, 10));
	if (argc < 2)
		return 2;
	plugin_path = argv[1];
	if (argc == 4 && !strcmp(argv[2], "restart"))
		return soak(atoi(argv[3]));
	if (argc > 2)
		cmocka_set_test_filter(argv[2]);
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
