/* SPDX-License-Identifier: Apache-2.0 */
/* Notifications in parts: whatever comes, from whom, and when. */
#include <algorithm>
#include <string>
#include <vector>

extern "C" {
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
}

#include "nixl/notes.h"

using nixlabi::Notifs;

static int handles; /* held by notes under test */
static char peers[64]; /* each place is one */

static std::vector<std::string>
parts_of(const TcpxNixlNotes &from, const std::string &text)
{
	std::vector<std::string> all;

	for (TcpxNixlNotes::Parts rest = from.split(text); !rest.is_done(); rest.step())
		all.push_back(rest.first());
	assert_int_equal(all.size(), from.count(text));
	return all;
}

static void
give_back(tcpx_peer *)
{
	handles--;
}

static Notifs
take(TcpxNixlNotes &at, const std::string &part, int peer = 0, uint64_t now_ms = 0)
{
	TcpxNixlNotes::Peer from(nullptr, give_back);
	Notifs out;

	if (TcpxNixlNotes::is_one_of_several(part.data(), part.size())) {
		from.reset(reinterpret_cast<tcpx_peer *>(&peers[peer]));
		handles++;
	}
	at.take(std::move(from), "anna", part.data(), part.size(), now_ms, out);
	return out;
}

/* All but the last give nothing. Returns what that gives. */
static Notifs
take_all(TcpxNixlNotes &at, const std::vector<std::string> &parts, int peer = 0, size_t first = 0)
{
	for (size_t i = first; i + 1 < parts.size(); i++)
		assert_true(take(at, parts[i], peer).empty());
	return take(at, parts.back(), peer);
}

static void
parts_of_each_peer_are_joined(void **)
{
	TcpxNixlNotes anna("anna"), long_name(std::string(300, 'n')), bert("bert");
	std::string text(50000, 'x'), other(40000, 'y');
	auto parts = parts_of(anna, text), between = parts_of(long_name, other);

	for (size_t i = 0; i + 1 < parts.size(); i++) {
		assert_true(take(bert, parts[i], 1).empty());
		if (i + 1 < between.size())
			assert_true(take(bert, between[i], 2).empty());
		assert_true(take(bert, "short", 1) == Notifs({ { "anna", "short" } }));
	}
	assert_int_equal(handles, 2);
	assert_true(take(bert, parts.back(), 1) == Notifs({ { "anna", text } }));
	assert_true(take(bert, between.back(), 2) == Notifs({ { std::string(300, 'n'), other } }));
	assert_int_equal(handles, 0);
	assert_int_equal(bert.kept(), 0);
	/* one part alone is whole */
	assert_true(take(bert, parts_of(long_name, "text")[0]) ==
		    Notifs({ { std::string(300, 'n'), "text" } }));
}

/* Anybody may claim a name, and has seen the nonce of whoever has written to him. */
static void
parts_of_two_peers_do_not_mix(void **)
{
	TcpxNixlNotes anna("anna"), bert("bert");
	std::string text(20000, 'x');
	auto parts = parts_of(anna, text);

	assert_int_equal(parts.size(), 3);
	assert_true(take(bert, parts[0], 1).empty());
	assert_true(take(bert, parts[1], 2).empty());
	assert_true(take(bert, parts[2], 2).empty());
	assert_true(take(bert, parts[0], 3).empty());
	assert_true(take_all(bert, parts, 1, 1) == Notifs({ { "anna", text } }));
	bert.clear();
	assert_int_equal(handles, 0);
}

/* A sender that found no room in the middle has said so to its caller. */
static void
the_next_notification_ends_one_that_was_refused(void **)
{
	TcpxNixlNotes anna("anna"), bert("bert");
	std::string text(20000, 'x');
	auto refused = parts_of(anna, std::string(20000, 'y')), next = parts_of(anna, text);

	assert_true(take(bert, refused[0]).empty());
	assert_true(take(bert, refused[1]).empty());
	assert_true(take_all(bert, next) == Notifs({ { "anna", text } }));
	assert_true(take(bert, refused[2]).empty());
	assert_int_equal(bert.kept(), 0);
	assert_int_equal(handles, 0);
}

/* A part that comes without those before it, or twice, makes no text. */
static void
parts_out_of_order_make_nothing(void **)
{
	TcpxNixlNotes anna("anna"), bert("bert");
	auto parts = parts_of(anna, std::string(30000, 'x'));
	static const int orders[][4] = {
		{ 0, 2, 3, 3 }, { 1, 2, 3, 0 }, { 0, 1, 1, 3 }, { 3, 2, 1, 0 }
	};

	assert_int_equal(parts.size(), 4);
	for (const auto &order : orders) {
		for (int i : order)
			assert_true(take(bert, parts[i]).empty());
		bert.clear();
	}
	assert_int_equal(take_all(bert, parts).size(), 1);
}

static void
what_is_damaged_is_dropped(void **)
{
	TcpxNixlNotes anna("anna"), bert("bert");
	std::string part = parts_of(anna, std::string(100, 'x'))[0];

	for (size_t len = 8; len <= 32; len++) /* no byte beside the head */
		assert_true(take(bert, part.substr(0, len)).empty());
	for (size_t at : { 24, 25, 26, 27, 28, 31 }) { /* bytes of the whole; offset */
		std::string wrong = part;

		wrong[at] = static_cast<char>(0xff);
		assert_true(take(bert, wrong, static_cast<int>(at)).empty());
	}
	bert.clear();
	std::string name = part; /* a name longer than the body */
	name[32] = name[33] = static_cast<char>(0xff);
	assert_int_equal(take(bert, name).size(), 1);
	/* a whole of another size than its first part said */
	auto parts = parts_of(anna, std::string(20000, 'x'));
	parts[1][24] = static_cast<char>(parts[1][24] + 1);
	for (const std::string &one : parts)
		assert_true(take(bert, one).empty());
	bert.clear();
	assert_int_equal(handles, 0);
}

/* A byte that claims to begin 4 MiB. */
static void
memory_grows_with_the_bytes_that_came(void **)
{
	TcpxNixlNotes anna("anna"), bert("bert");
	std::string text(4 << 20, 'z');
	auto parts = parts_of(anna, text);
	size_t came = 0;

	assert_true(take(bert, parts[0].substr(0, 33)).empty());
	assert_in_range(bert.kept(), 1, 8192);
	for (size_t i = 0; i + 1 < parts.size(); i++) {
		assert_true(take(bert, parts[i]).empty());
		came += parts[i].size();
		assert_in_range(bert.kept(), came / 2, came + 8192);
	}
	assert_true(take(bert, parts.back())[0].second == text);
	assert_int_equal(bert.kept(), 0);
}

static void
twenty_agents_at_once_lose_nothing(void **)
{
	TcpxNixlNotes anna("anna"), bert("bert");
	std::string text(4 << 20, 'z');
	auto parts = parts_of(anna, text);

	for (const std::string &part : parts)
		for (int peer = 0; peer < 20; peer++) {
			Notifs got = take(bert, part, peer);

			assert_int_equal(got.size(), &part == &parts.back());
			assert_true(got.empty() || got[0].second == text);
		}
}

/* The one that needs more than there is goes, and those that need none of it go on. */
static void
all_that_is_being_joined_has_one_limit(void **)
{
	TcpxNixlNotes anna("anna"), bert("bert", 200000);
	std::string text(40000, 'x');
	auto parts = parts_of(anna, text);
	int whole = 0;

	for (int peer = 0; peer < 30; peer++) { /* each of 12 KiB */
		assert_true(take(bert, parts[0], peer).empty());
		assert_in_range(bert.kept(), 1, 200000);
	}
	for (size_t i = 1; i < parts.size(); i++)
		for (int peer = 0; peer < 30; peer++) {
			whole += static_cast<int>(take(bert, parts[i], peer).size());
			assert_in_range(bert.kept(), 0, 200000);
		}
	assert_in_range(whole, 3, 29);
	assert_int_equal(bert.kept(), 0);
	assert_int_equal(handles, 0);
}

/* Senders that keep the memory full, and begin anew whenever they lose: one that needs less than an equal share gets
 * all of it through. */
static void
those_that_fill_the_memory_lose_to_one_that_needs_little(void **)
{
	enum { HOSTILE = 32, HONEST = 60, AGAIN = 8 };
	TcpxNixlNotes anna("anna"), bert("bert", 1 << 20);
	std::string much(1 << 20, 'x'), little(16000, 'y');
	auto long_ones = parts_of(anna, much), honest = parts_of(anna, little);
	size_t at[HOSTILE] = { 0 };
	int came = 0;

	for (int round = 0; round < 400; round++) {
		for (int peer = 0; peer < HOSTILE; peer++) {
			take(bert, long_ones[at[peer]], peer);
			at[peer] = (at[peer] + 1) % AGAIN;
		}
		for (const std::string &part : honest)
			came += static_cast<int>(take(bert, part, HONEST).size());
		assert_in_range(bert.kept(), 0, 1 << 20);
	}
	assert_int_equal(came, 400);
	bert.clear();
	assert_int_equal(handles, 0);
}

static bool
first_has_gone(tcpx_peer *peer)
{
	return peer == reinterpret_cast<tcpx_peer *>(&peers[1]);
}

static bool
all_have_gone(tcpx_peer *)
{
	return true;
}

/* A sender goes on in its next call, whenever that is. */
static void
whoever_is_here_may_be_silent(void **)
{
	TcpxNixlNotes anna("anna"), bert("bert");
	std::string text(20000, 'x');
	auto parts = parts_of(anna, text);

	for (int peer = 1; peer <= 3; peer++)
		assert_true(take(bert, parts[0], peer, 1000).empty());
	bert.expire(30999, first_has_gone);
	assert_int_equal(handles, 3);
	bert.expire(32000, first_has_gone);
	assert_int_equal(handles, 2);
	bert.expire(3600000, first_has_gone);
	assert_int_equal(handles, 2);
	assert_true(take(bert, parts[1], 2, 3600000).empty());
	assert_true(take(bert, parts[2], 2, 3600000) == Notifs({ { "anna", text } }));
	bert.expire(3601000, all_have_gone);
	assert_int_equal(handles, 0);
	assert_int_equal(bert.kept(), 0);
}

static void
whoever_has_been_silent_makes_room_for_others(void **)
{
	TcpxNixlNotes anna("anna"), bert("bert", 200000);
	auto parts = parts_of(anna, std::string(40000, 'x'));

	for (int peer = 0; peer < 16; peer++)
		assert_true(take(bert, parts[0], peer, 1000).empty());
	for (size_t i = 0; i + 1 < parts.size(); i++)
		assert_true(take(bert, parts[i], 20, 31000).empty());
	assert_int_equal(take(bert, parts.back(), 20, 31000).size(), 1);
	assert_true(bert.joins());
	assert_true(take(bert, parts[1], 15, 31000).empty()); /* the last to begin is there still */
	bert.expire(60999, all_have_gone);
	assert_int_equal(handles, 1);
	bert.expire(61999, all_have_gone);
	assert_int_equal(handles, 0);
	assert_false(bert.joins());
}

int
main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_of_each_peer_are_joined),
		cmocka_unit_test(parts_of_two_peers_do_not_mix),
		cmocka_unit_test(the_next_notification_ends_one_that_was_refused),
		cmocka_unit_test(parts_out_of_order_make_nothing),
		cmocka_unit_test(what_is_damaged_is_dropped),
		cmocka_unit_test(memory_grows_with_the_bytes_that_came),
		cmocka_unit_test(twenty_agents_at_once_lose_nothing),
		cmocka_unit_test(all_that_is_being_joined_has_one_limit),
		cmocka_unit_test(those_that_fill_the_memory_lose_to_one_that_needs_little),
		cmocka_unit_test(whoever_is_here_may_be_silent),
		cmocka_unit_test(whoever_has_been_silent_makes_room_for_others),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
