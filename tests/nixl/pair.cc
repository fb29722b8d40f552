/* SPDX-License-Identifier: Apache-2.0 */
#include "pair.h"

#include <algorithm>
#include <cstring>
#include <random>

using namespace nixlabi;

std::string plugin_path;

Pair::Pair(int sync)
	: a(file, "anna", {}, MEMORY_BYTES, sync), b(file, "bert", {}, MEMORY_BYTES, sync)
{
	assert_success(a.load(b));
	assert_success(b.load(a));
}

Second::Second(Agent &of, Agent &to) : owner(of), peer(to)
{
	memory.bytes.resize(MEMORY_BYTES);
	assert_success(owner.engine->register_mem(exported(), DRAM, memory.md));
	assert_success(owner.engine->public_data(memory.md, memory.blob));
	assert_success(peer.engine->load_remote(exported(), DRAM, owner.name, far));
}

Second::~Second()
{
	assert_success(peer.engine->unload(far));
	assert_success(owner.engine->deregister_mem(memory.md));
}

BlobDesc
Second::exported() const
{
	BlobDesc d = owner.exported();

	d.addr = reinterpret_cast<uintptr_t>(memory.bytes.data());
	d.blob = memory.blob;
	return d;
}

void
Second::move(MetaDesc &d, Metadata *md) const
{
	d.addr += exported().addr - owner.exported().addr;
	d.metadata = md;
}

std::vector<Piece>
shuffled(size_t count, size_t len, uint32_t seed)
{
	std::vector<size_t> mine(count), theirs(count);
	std::vector<Piece> pieces;
	std::mt19937 random(seed);

	for (size_t i = 0; i < count; i++)
		mine[i] = theirs[i] = i * (len + 8);
	std::shuffle(mine.begin(), mine.end(), random);
	std::shuffle(theirs.begin(), theirs.end(), random);
	for (size_t i = 0; i < count; i++)
		pieces.push_back({ mine[i], theirs[i], len });
	return pieces;
}

void
move(Agent &from, Agent &to, Op op, const std::vector<Piece> &pieces, const char *note)
{
	Agent &source = op == WRITE ? from : to, &target = op == WRITE ? to : from;
	std::vector<uint8_t> want;
	std::vector<uint8_t> kept = source.memory.bytes;
	Transfer r(from, to.name, op, pieces);

	assert_success(r.prepared);
	want = target.memory.bytes;
	for (const Piece &p : pieces)
		memcpy(&want[op == WRITE ? p.theirs : p.mine],
		       &kept[op == WRITE ? p.mine : p.theirs], p.len);
	assert_status(r.post(note), IN_PROG);
	assert_success(r.wait());
	assert_true(want == target.memory.bytes);
	if (&from != &to)
		assert_true(kept == source.memory.bytes);
	if (note) {
		Notifs got = take_notes(to, 1);
		assert_string_equal(got[0].first.c_str(), from.name.c_str());
		assert_string_equal(got[0].second.c_str(), note);
	}
}
