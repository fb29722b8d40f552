/* SPDX-License-Identifier: Apache-2.0 */
/* Notifications in parts: whatever comes in whatever order. */
#include <algorithm>
#include <string>

extern "C" {
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
}

#include "nixl/notes.h"

using nixlabi::Notifs;

static Notifs
take(TcpxNixlNotes &at, const std::string &part, const char *sender = "anna")
{
	Notifs out;

	at.take(sender, part.data(), part.size(), out);
	return out;
}

static void
parts_come_in_any_order(void **)
{
	TcpxNixlNotes anna("anna"), bert("bert");
	std::string text(50000, 'x'), other(40000, 'y');
	auto parts = anna.parts(text), between = anna.parts(other);

	std::reverse(parts.begin(), parts.end());
	for (size_t i = 0; i + 1 < parts.size(); i++) {
		assert_true(take(bert, parts[i]).empty());
		if (i + 1 < between.size())
			assert_true(take(bert, between[i]).empty());
	}
	assert_true(take(bert, parts.back()) == Notifs({ { "anna", text } }));
	assert_true(take(bert, between.back()) == Notifs({ { "anna", other } }));
	assert_true(take(bert, "short") == Notifs({ { "anna", "short" } }));
}

static void
parts_of_two_senders_do_not_mix(void **)
{
	TcpxNixlNotes first("anna"), second("anna"), bert("bert");
	std::string text(10000, 'x'), other(10000, 'y');
	auto parts = first.parts(text), more = second.parts(other);

	assert_int_equal(parts.size(), 2);
	assert_true(take(bert, parts[0]).empty());
	assert_true(take(bert, parts[1], "carl").empty());
	assert_true(take(bert, more[1]).empty());
	assert_true(take(bert, parts[1]) == Notifs({ { "anna", text } }));
	assert_true(take(bert, more[0]) == Notifs({ { "anna", other } }));
}

static void
what_is_damaged_is_dropped(void **)
{
	TcpxNixlNotes anna("anna"), bert("bert");
	std::string part = anna.parts(std::string(100, 'x'))[0];

	for (size_t len = 8; len <= 32; len++) /* no byte beside the head */
		assert_true(take(bert, part.substr(0, len)).empty());
	/* bytes of the whole; offset. Each is a notification of its own, so none hides the next. */
	for (size_t at : { 24, 25, 26, 27, 28, 31 }) {
		std::string wrong = part;

		wrong[16] = static_cast<char>(at);
		wrong[at] = static_cast<char>(0xff);
		assert_true(take(bert, wrong).empty());
	}
	std::string other = part; /* of a whole of another size than its first part said */
	other[16] = 24;
	for (int i = 0; i < 2; i++)
		assert_true(take(bert, other).empty());
	std::string name = part; /* a name longer than the body */
	name[32] = name[33] = static_cast<char>(0xff);
	name[8] = static_cast<char>(~name[8]);
	assert_int_equal(take(bert, name).size(), 1);
}

/* A sender that ends in between leaves parts behind: they must not add up. */
static void
the_oldest_parts_are_given_up(void **)
{
	TcpxNixlNotes anna("anna"), bert("bert");
	auto lost = anna.parts(std::string(10000, 'x'));

	assert_true(take(bert, lost[0]).empty());
	for (int i = 0; i < 1024; i++)
		assert_true(take(bert, anna.parts(std::string(10000, 'y'))[0]).empty());
	assert_true(take(bert, lost[1]).empty());
	auto kept = anna.parts(std::string(4 << 20, 'z'));
	for (size_t i = 0; i + 1 < kept.size(); i++)
		assert_true(take(bert, kept[i]).empty());
	assert_int_equal(take(bert, kept.back())[0].second.size(), 4 << 20);
}

static void
a_note_of_two_parts_is_joined(TcpxNixlNotes &from, TcpxNixlNotes &at)
{
	auto parts = from.parts(std::string(10000, 'x'));

	assert_int_equal(parts.size(), 2);
	assert_true(take(at, parts[0]).empty());
	assert_int_equal(take(at, parts[1]).size(), 1);
}

/* What was given up, and what was joined, has no part in the 64 MiB that may wait. */
static void
room_for_parts_is_never_used_up(void **)
{
	TcpxNixlNotes anna("anna"), bert("bert"), carl("carl");
	auto large = anna.parts(std::string(4 << 20, 'z')), first = anna.parts(std::string(10000, 'y'));

	assert_true(take(bert, first[0]).empty());
	assert_true(take(carl, first[0]).empty());
	for (char i = 0; i < 18; i++) {
		for (size_t k = 0; k < large.size(); k++) {
			large[k][23] = i; /* of its number: each is a notification of its own */
			if (k == 0)
				assert_true(take(bert, large[k]).empty()); /* the rest never comes */
			assert_int_equal(take(carl, large[k]).size(), k + 1 == large.size());
		}
	}
	assert_true(take(bert, first[1]).empty());
	a_note_of_two_parts_is_joined(anna, bert);
	assert_int_equal(take(carl, first[1]).size(), 1);
}

int
main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_come_in_any_order),
		cmocka_unit_test(parts_of_two_senders_do_not_mix),
		cmocka_unit_test(what_is_damaged_is_dropped),
		cmocka_unit_test(the_oldest_parts_are_given_up),
		cmocka_unit_test(room_for_parts_is_never_used_up),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
