/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NIXL's notifications have any length and their senders any name; a note of the library has at
 * most TCPX_NOTE_MAX bytes, an engine's name TCPX_NAME_MAX - 1. What does not fit travels in parts,
 * each with a head, and is joined here.
 *
 * A sender sends the parts of one notification after the other, each in order. So a peer has at
 * most one that is being joined, in memory that grows with the bytes that have come.
 */
#ifndef NIXL_NOTES_H
#define NIXL_NOTES_H

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "nixl/abi.h"
#include "tcpx/tcpx.h"

class TcpxNixlNotes {
public:
	/* A handle of who has sent a note. NULL: nobody holds that peer any more. */
	using Peer = std::unique_ptr<tcpx_peer, void (*)(tcpx_peer *)>;

	/* @kept_max: bytes of memory for what is being joined, of all peers together. */
	explicit TcpxNixlNotes(const std::string &agent, size_t kept_max = 1u << 30);

	/* What the engine is called: the agent's name, or its beginning and a hash. */
	const std::string &engine_name() const { return short_name; }

	/* Whether @text is a note as it is. */
	bool fits(const std::string &text) const;
	/* How many parts a text that does not fit becomes; 0: it is too long, which is said. */
	size_t count(const std::string &text) const;
	/* These parts, one after the other. */
	struct Parts {
		std::string body;
		uint64_t nonce, number;
		size_t at;
		bool is_done() const { return at == body.size(); }
		/* The note that is to go. */
		std::string first() const;
		/* Goes on to the next note, as the first has gone. */
		void step();
	};
	Parts split(const std::string &text) const;

	/* Has that note siblings? Then take() needs its sender. */
	static bool is_one_of_several(const char *data, size_t len);
	/* A note that has come. Adds what is whole to @out. From here on: one thread at a time. */
	void take(Peer peer, const char *sender, const char *data, size_t len, uint64_t now_ms,
		  nixlabi::Notifs &out);
	/* Gives up what has not grown for long, of peers that have gone; those that are here send the rest in a
	 * later call. Everything that has come is taken before. */
	void expire(uint64_t now_ms, bool (*has_gone)(tcpx_peer *));
	/* Is something being joined? */
	bool joins() const { return !joining.empty(); }
	/* Bytes of memory for that. */
	size_t kept() const { return kept_bytes; }
	/* Drops all of it, and the handles. */
	void clear();

private:
	struct Head {
		uint64_t nonce, number;
		size_t total, at, bytes;
	};
	struct Joining {
		Peer peer;
		std::string sender;
		uint64_t nonce, number;
		size_t total;
		uint64_t grew_ms;
		std::string body;
		size_t cost() const;
	};
	using Place = std::list<Joining>::iterator;

	static bool read_head(const char *data, size_t len, Head &out);
	Place begin(Peer peer, const char *sender, const Head &h);
	Place find(const tcpx_peer *peer, const Head &h);
	void grow(Place j, const char *bytes, size_t len, uint64_t now_ms);
	std::string drop(Place j);
	void give_up(Place j, const char *why);

	std::string long_name; /* empty, if the engine has the agent's name */
	std::string short_name;
	uint64_t own_nonce;
	mutable std::atomic<uint64_t> next{ 0 };
	bool said_damaged = false, said_given_up = false;
	std::list<Joining> joining; /* the one that has not grown for longest first */
	std::unordered_map<const tcpx_peer *, Place> by_peer;
	std::set<std::pair<size_t, const tcpx_peer *>> by_size; /* by the bytes that have come */
	size_t kept_bytes = 0;
	uint64_t looked_ms = 0;
	const size_t kept_max;
};

#endif
