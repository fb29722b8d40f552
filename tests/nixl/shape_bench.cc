/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What vLLM's connector asks of a plugin, at the plugin's entry points: a list of 40,064 blocks
 * of 7,987 bytes on average, in no order, READ with a note from another process; beside the same
 * bytes as one block, in turns. Usage: nixl_shape_bench PLUGIN [ROUNDS]
 */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "agent.h"
#include "peer.h"

using namespace nixlabi;

constexpr size_t COUNT = 40064, MEAN = 7987;

using Clock = std::chrono::steady_clock;

static double
since(Clock::time_point begin)
{
	return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

static std::vector<Piece>
blocks(size_t *total)
{
	std::mt19937 random(1);
	std::vector<Piece> all(COUNT);
	std::vector<size_t> order(COUNT), len(COUNT);
	size_t at = 0;

	for (size_t i = 0; i < COUNT; i++) {
		order[i] = i;
		len[i] = MEAN - 1000 + random() % 2001;
	}
	for (size_t i = 0; i < COUNT; i++) {
		all[i].mine = at;
		all[i].len = len[i];
		at += len[i];
	}
	*total = at;
	std::shuffle(order.begin(), order.end(), random);
	at = 0;
	for (size_t i : order) {
		all[i].theirs = at;
		at += all[i].len;
	}
	std::shuffle(all.begin(), all.end(), random);
	return all;
}

static double
median(std::vector<double> v)
{
	std::sort(v.begin(), v.end());
	return v[v.size() / 2];
}

static void
line(const char *what, const std::vector<double> &v)
{
	std::printf("%-34s %9.3f [%.3f..%.3f]\n", what, median(v), *std::min_element(v.begin(), v.end()),
		    *std::max_element(v.begin(), v.end()));
}

int
main(int argc, char **argv)
{
	if (argc == 5 && !std::strcmp(argv[2], "peer"))
		return PeerProcess::serve(argv[1], argv[3], std::strtoul(argv[4], nullptr, 10));
	if (argc < 2)
		return 2;
	int rounds = argc > 2 ? std::atoi(argv[2]) : 7;
	size_t total;
	std::vector<Piece> pieces = blocks(&total);
	File file(argv[1]);
	Agent a(file, "anna", {}, total);
	PeerProcess b(argv[1], "bert", total);
	std::vector<double> make, post, post2, release, scattered, whole, ratio;

	assert_success(a.load("bert", b.info, b.desc));
	Transfer one(a, "bert", READ, { { 0, 0, total } });
	assert_status(one.post("warm"), IN_PROG);
	assert_success(one.wait());
	std::vector<uint8_t> source = a.memory.bytes;
	for (int i = 0; i < rounds; i++) {
		Transfer many(a, "bert", READ, pieces);
		assert_success(many.from.engine->release(many.handle));
		many.handle = nullptr;
		auto begin = Clock::now();
		assert_success(a.engine->prepare(READ, many.local, many.remote, "bert", many.handle,
						 nullptr));
		make.push_back(since(begin));
		begin = Clock::now();
		assert_status(many.post("request:1"), IN_PROG);
		post.push_back(since(begin));
		assert_success(many.wait());
		begin = Clock::now();
		assert_status(many.post("request:1"), IN_PROG);
		post2.push_back(since(begin));
		assert_success(many.wait());
		double ms = since(begin);
		for (const Piece &p : pieces)
			if (std::memcmp(&a.memory.bytes[p.mine], &source[p.theirs], p.len))
				fail_msg("wrong bytes");
		begin = Clock::now();
		assert_status(one.post("request:2"), IN_PROG);
		assert_success(one.wait());
		double ms1 = since(begin);
		begin = Clock::now();
		many.release();
		release.push_back(since(begin));
		scattered.push_back(total / ms / 1e6);
		whole.push_back(total / ms1 / 1e6);
		ratio.push_back(ms1 / ms);
	}
	std::printf("%zu blocks, %zu bytes, %d rounds: median [min..max]\n", COUNT, total, rounds);
	line("prepXfer, ms", make);
	line("first postXfer, ms", post);
	line("second postXfer, ms", post2);
	line("releaseReqH, ms", release);
	line("blocks, GB/s", scattered);
	line("one block, GB/s", whole);
	line("blocks / one block", ratio);
	return 0;
}
