/* SPDX-License-Identifier: Apache-2.0 */
/* An engine of the plugin: what it keeps of the library's, by the counters of the one below it; and
 * what becomes of notifications that find no room. */
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "agent.h"
#include "nixl/engine.h"

using namespace nixlabi;

static tcpx_engine *opened; /* the latest */

extern "C" {
int __real_tcpx_open(const struct tcpx_engine_opts *opts, tcpx_engine **engine);
int __wrap_tcpx_open(const struct tcpx_engine_opts *opts, tcpx_engine **engine);
}

int
__wrap_tcpx_open(const struct tcpx_engine_opts *opts, tcpx_engine **engine)
{
	int rc = __real_tcpx_open(opts, engine);

	opened = *engine;
	return rc;
}

struct Side {
	Params params = { { "TCPX_NICS", "127.0.1.1" }, { "TCPX_CHANNELS", "2" }, { "TCPX_THREADS", "1" },
			  { "TCPX_STATS", "off" }, { "TCPX_LINGER_MS", "0" } };
	std::string name;
	TcpxNixlEngine engine;
	tcpx_engine *below;
	explicit Side(const char *called, const Params &more = {})
		: name(called), engine({ called, "TCPX", with(more), false, 0, 0, false }, {}),
		  below(opened)
	{
		assert_false(engine.init_error);
	}
	Params *with(const Params &more)
	{
		params.insert(more.begin(), more.end());
		return &params;
	}
	void knows(const Side &other)
	{
		std::string info;

		assert_success(other.engine.conn_info(info));
		assert_success(engine.load_conn_info(other.name, info));
	}
	Notifs take()
	{
		Notifs some;

		assert_success(engine.take_notifs(some));
		return some;
	}
	struct tcpx_counters now() const
	{
		struct tcpx_counters counters = {};

		counters.struct_size = sizeof(counters);
		assert_int_equal(tcpx_query(below, &counters), 0);
		return counters;
	}
};

static void
memory_that_is_refused_is_not_kept(void **)
{
	Side a("anna");
	std::vector<uint8_t> bytes(4096);
	Metadata *md = nullptr;
	BlobDesc desc;

	desc.addr = reinterpret_cast<uintptr_t>(bytes.data());
	desc.len = bytes.size();
	desc.dev = 0;
	assert_status(a.engine.register_mem(desc, VRAM, md), NOT_SUPPORTED); /* it is the host's */
	assert_int_equal(a.now().regions, 0);
	assert_success(a.engine.register_mem(desc, DRAM, md));
	assert_int_equal(a.now().regions, 1);
	assert_success(a.engine.deregister_mem(md));
	assert_int_equal(a.now().regions, 0);
}

static void
sessions_fall_to(const Side &side, uint32_t count)
{
	for (Deadline d; side.now().sessions != count && !d.passed();)
		sched_yield();
	assert_int_equal(side.now().sessions, count);
}

/* NIXL loads an agent's metadata again when some of it has changed, and drops it once. */
static void
a_peer_that_was_loaded_twice_is_dropped_once(void **)
{
	Side a("anna"), b("bert");
	std::string info;
	Notifs notes;

	assert_success(b.engine.conn_info(info));
	for (int i = 0; i < 2; i++)
		assert_success(a.engine.load_conn_info("bert", info));
	assert_success(a.engine.notify("bert", "hello"));
	for (Deadline d; notes.empty() && !d.passed(); sched_yield())
		assert_success(b.engine.take_notifs(notes));
	assert_int_equal(notes.size(), 1);
	assert_int_equal(a.now().sessions, 1);
	assert_success(a.engine.disconnect("bert"));
	sessions_fall_to(a, 0);
	sessions_fall_to(b, 0);
}

/* ---- requests -------------------------------------------------------------------- */

/* A region of one side, and as the other knows it. */
struct Region {
	Side &owner, &peer;
	Metadata *near = nullptr, *far = nullptr;
	MetaDesc mine, theirs;
	Region(Side &of, Side &to, void *at, size_t len) : owner(of), peer(to)
	{
		BlobDesc desc;

		desc.addr = mine.addr = theirs.addr = reinterpret_cast<uintptr_t>(at);
		desc.len = mine.len = theirs.len = len;
		desc.dev = mine.dev = theirs.dev = 0;
		assert_success(owner.engine.register_mem(desc, DRAM, near));
		assert_success(owner.engine.public_data(near, desc.blob));
		assert_true(!desc.blob.empty());
		assert_success(peer.engine.load_remote(desc, DRAM, owner.name, far));
		mine.metadata = near;
		theirs.metadata = far;
	}
	~Region()
	{
		assert_success(peer.engine.unload(far));
		assert_success(owner.engine.deregister_mem(near));
	}
};

struct Move {
	const Side &from, &to;
	Op op;
	MetaList local, remote;
	Request *handle = nullptr;
	Status prepared;
	Move(const Side &f, const Side &t, Op o, std::vector<MetaDesc> mine,
	     std::vector<MetaDesc> theirs)
		: from(f), to(t), op(o), local{ nullptr, DRAM, std::move(mine) },
		  remote{ nullptr, DRAM, std::move(theirs) },
		  prepared(f.engine.prepare(o, local, remote, t.name, handle, nullptr))
	{
	}
	~Move()
	{
		if (handle)
			assert_success(from.engine.release(handle));
	}
	Status post(const std::string &note)
	{
		PostArgs args;

		args.note = note;
		args.has_note = true;
		return from.engine.post(op, local, remote, to.name, handle, &args);
	}
	Status wait()
	{
		Status rc = IN_PROG;

		for (Deadline d; rc == IN_PROG && !d.passed(); sched_yield())
			rc = from.engine.check(handle);
		return rc;
	}
};

/* Two that know each other, with a region each. */
struct Two {
	Side a, b;
	std::vector<uint8_t> near = std::vector<uint8_t>(4096, 1), far = std::vector<uint8_t>(4096);
	Region *from, *to;
	explicit Two(const Params &more = {}) : a("anna", more), b("bert", more)
	{
		a.knows(b);
		b.knows(a);
		from = new Region(a, b, near.data(), near.size());
		to = new Region(b, a, far.data(), far.size());
	}
	~Two()
	{
		delete from;
		delete to;
	}
	Move write() { return { a, b, WRITE, { from->mine }, { to->theirs } }; }
	/* Notifications that bert takes, until @count have come; anna calls whenever he has taken some. */
	Notifs take(size_t count)
	{
		Notifs all;

		for (Deadline d; all.size() < count && !d.passed(); sched_yield()) {
			Notifs some = b.take();

			all.insert(all.end(), some.begin(), some.end());
			assert_true(a.take().empty());
		}
		assert_int_equal(all.size(), count);
		assert_true(b.take().empty());
		return all;
	}
};

/* An empty tensor has no address. */
static void
memory_of_no_bytes_can_be_registered_and_named(void **)
{
	Two two;
	Region none(two.a, two.b, nullptr, 0), nothing(two.b, two.a, nullptr, 0);
	MetaDesc wrong = nothing.theirs;
	Metadata *own = nullptr;

	{
		Move m(two.a, two.b, WRITE, { none.mine, two.from->mine, none.mine },
		       { two.to->theirs, nothing.theirs, nothing.theirs });

		assert_success(m.prepared);
		assert_status(m.post("some"), IN_PROG);
		assert_success(m.wait());
		assert_true(two.far == two.near);
		assert_string_equal(two.take(1)[0].second.c_str(), "some");
	}
	for (Op op : { READ, WRITE }) {
		Move m(two.a, two.b, op, { none.mine }, { nothing.theirs });

		assert_success(m.prepared);
		for (const std::string &note : { std::string("none"), std::string(100000, 'n') }) {
			assert_success(m.post(note));
			assert_true(two.take(1)[0].second == note);
		}
	}
	wrong.len = 10;
	Move m(two.a, two.b, WRITE, { none.mine }, { wrong });
	assert_true(m.prepared < 0);
	Move uneven(two.a, two.b, WRITE, { two.from->mine }, { nothing.theirs });
	assert_status(uneven.prepared, INVALID_PARAM);
	assert_success(two.a.engine.load_local(none.near, own));
	assert_success(two.a.engine.unload(own));
	assert_int_equal(two.a.now().regions, 2);
}

/* ---- notifications --------------------------------------------------------------- */

/* Bert takes none meanwhile: the number of those that were accepted. */
static size_t
notify_until_refused(const Side &from, size_t len)
{
	for (size_t i = 0; i < 10000; i++) {
		Status rc = from.engine.notify("bert", std::string(len, static_cast<char>(i)));

		if (rc != SUCCESS) {
			assert_status(rc, BACKEND);
			assert_status(from.engine.notify("bert", std::string(len, 'x')), BACKEND);
			return i;
		}
	}
	fail_msg("10000 notifications of %zu bytes, and none was refused", len);
	return 0;
}

static void
a_notification_is_refused_or_comes_whole(void **)
{
	for (size_t len : { 3u << 20, 100000u, 8000u }) {
		Two two(Params{ { "TCPX_NOTE_LIMIT", "16" } });

		for (int round = 0; round < 2; round++) {
			size_t count = notify_until_refused(two.a, len), i = 0;

			for (const auto &[sender, text] : two.take(count)) {
				assert_string_equal(sender.c_str(), "anna");
				assert_true(text == std::string(len, static_cast<char>(i++)));
			}
		}
	}
}

/* The bytes are there, and the request ends when its note, of any length, may go. */
static void
a_note_of_a_transfer_waits_for_room(void **)
{
	for (size_t len : { 3u << 20, 20u }) {
		Two two(Params{ { "TCPX_NOTE_LIMIT", "16" } });
		Move m = two.write();
		size_t count = notify_until_refused(two.a, 8000);
		std::string note(len, 'n');

		Status rc = m.post(note);
		while (two.b.now().bytes_rx < two.far.size())
			assert_status(two.a.engine.check(m.handle), IN_PROG);
		for (int i = 0; i < 100; i++)
			assert_status(two.a.engine.check(m.handle), IN_PROG);
		assert_status(m.post("again"), REPOST_ACTIVE);
		Notifs all;
		for (Deadline d; (rc == IN_PROG || all.size() <= count) && !d.passed();) {
			Notifs some = two.b.take();

			all.insert(all.end(), some.begin(), some.end());
			rc = rc == IN_PROG ? two.a.engine.check(m.handle) : rc;
		}
		assert_success(rc);
		assert_int_equal(all.size(), count + 1);
		Notifs::value_type want("anna", note);
		assert_int_equal(std::count(all.begin(), all.end(), want), 1);
		assert_true(two.far == two.near);
		assert_status(m.post("again"), IN_PROG);
		assert_success(m.wait());
		assert_string_equal(two.take(1)[0].second.c_str(), "again");
	}
}

/* The peer is there: nothing of it is to be forgotten. */
static void
a_note_that_never_finds_room_costs_its_request_alone(void **)
{
	Two two(Params{ { "TCPX_NOTE_LIMIT", "1" }, { "TCPX_STALL_MS", "1000" } });
	Move m = two.write();
	size_t count = notify_until_refused(two.a, 8000);

	assert_status(m.post("lost"), IN_PROG);
	assert_status(m.wait(), BACKEND);
	assert_true(two.far == two.near);
	two.take(count);
	assert_status(m.post("here"), IN_PROG);
	assert_success(m.wait());
	assert_string_equal(two.take(1)[0].second.c_str(), "here");
}

static void
one_call_takes_a_share(void **)
{
	Two two;
	size_t calls = 0;

	for (int i = 0; i < 3000; i++)
		assert_success(two.a.engine.notify("bert", "n"));
	for (int i = 0; i < 10; i++)
		assert_success(two.a.engine.notify("bert", std::string(1 << 20, 'x')));
	while (two.b.now().notes_rx < 3000 + 10 * 129)
		sched_yield();
	for (size_t got = 0; got < 3010; calls++) {
		Notifs some = two.b.take();
		size_t bytes = 0;

		for (const auto &note : some)
			bytes += note.second.size();
		assert_in_range(some.size(), 0, 1024);
		assert_in_range(bytes, 0, 2 << 20);
		got += some.size();
	}
	assert_in_range(calls, 13, 40);
}

/* The sender has gone before the first of the parts is taken. */
static void
a_notification_outlives_its_sender(void **)
{
	Side b("bert");
	std::string text(100000, 'x');
	Notifs got;
	{
		Side a("anna");

		a.knows(b);
		assert_success(a.engine.notify("bert", text));
		while (b.now().notes_rx < 13)
			sched_yield();
	}
	sessions_fall_to(b, 0);
	for (Deadline d; got.empty() && !d.passed();)
		got = b.take();
	assert_true(got == Notifs({ { "anna", text } }));
}

/* ---- processes and versions ------------------------------------------------------- */

static void
a_forked_child_is_told(void **)
{
	Two two;
	Move m = two.write();
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		Notifs out;

		_exit(m.post("child") != BACKEND || two.a.engine.take_notifs(out) != BACKEND);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_status(m.post("parent"), IN_PROG);
	assert_success(m.wait());
	assert_string_equal(two.take(1)[0].second.c_str(), "parent");
}

/* A core that knows functions behind the last of ours calls them by their places in the table. */
static void
functions_of_a_later_core_are_not_supported(void **)
{
	using Later = Status (*)(const Engine *, const std::string &, std::string &);
	Side a("anna");
	const Engine *engine = &a.engine;
	std::string text;
	auto last = &Engine::estimate;
	long place;
	Later *table;

	memcpy(&place, &last, sizeof(place)); /* in bytes; some ABIs add 1 */
	memcpy(&table, engine, sizeof(table));
	table += static_cast<size_t>(place) / sizeof(*table);
	for (size_t i = 1; i <= 4; i++)
		assert_status(table[i](engine, "x", text), NOT_SUPPORTED);
}

int
main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_that_is_refused_is_not_kept),
		cmocka_unit_test(a_peer_that_was_loaded_twice_is_dropped_once),
		cmocka_unit_test(memory_of_no_bytes_can_be_registered_and_named),
		cmocka_unit_test(a_notification_is_refused_or_comes_whole),
		cmocka_unit_test(a_note_of_a_transfer_waits_for_room),
		cmocka_unit_test(a_note_that_never_finds_room_costs_its_request_alone),
		cmocka_unit_test(one_call_takes_a_share),
		cmocka_unit_test(a_notification_outlives_its_sender),
		cmocka_unit_test(a_forked_child_is_told),
		cmocka_unit_test(functions_of_a_later_core_are_not_supported),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
