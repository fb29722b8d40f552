/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of the plugin share: two agents, and moves whose every byte is compared. */
#ifndef TESTS_NIXL_PAIR_H
#define TESTS_NIXL_PAIR_H

#include "agent.h"

extern std::string plugin_path;

/* Two agents that know each other. */
struct Pair {
	File file{ plugin_path };
	Agent a, b;
	explicit Pair(int sync = 0);
};

/* A second region of an agent, which its peer knows. */
struct Second {
	Second(Agent &owner, Agent &peer);
	~Second();
	nixlabi::BlobDesc exported() const;
	/* Turns a place of the owner's first region into the same offset of this one. */
	void move(nixlabi::MetaDesc &d, nixlabi::Metadata *md) const;

	Agent &owner, &peer;
	Memory memory;
	nixlabi::Metadata *far = nullptr; /* the peer's */
};

/* @count pieces, none overlapping, in any order on both sides. */
std::vector<Piece> shuffled(size_t count, size_t len, uint32_t seed);
/* Moves the pieces and compares every byte of both memories with what they must be. */
void move(Agent &from, Agent &to, nixlabi::Op op, const std::vector<Piece> &pieces, const char *note);

#endif
