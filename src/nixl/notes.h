/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NIXL's notifications have any length and their senders any name; a note of the library has at
 * most TCPX_NOTE_MAX bytes, an engine's name TCPX_NAME_MAX - 1. What does not fit travels in parts,
 * each with a head, and is joined here.
 */
#ifndef NIXL_NOTES_H
#define NIXL_NOTES_H

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "nixl/abi.h"

class TcpxNixlNotes {
public:
	explicit TcpxNixlNotes(const std::string &agent);

	/* What the engine is called: the agent's name, or its beginning and a hash. */
	const std::string &engine_name() const { return short_name; }

	/* Whether @text is a note as it is. */
	bool fits(const std::string &text) const;
	/* The notes that @text becomes. The caller sends all of them, the last one last: that one
	 * may be the note of a transfer. Empty: it is too long. */
	std::vector<std::string> parts(const std::string &text) const;

	/* A note that has come. Adds what is whole to @out. */
	void take(const char *sender, const char *data, size_t len, nixlabi::Notifs &out);

private:
	struct Joining {
		std::string sender;
		uint64_t nonce, number;
		size_t missing;
		std::string body;
	};
	std::list<Joining>::iterator find(const char *sender, uint64_t nonce, uint64_t number,
					  size_t total);

	std::string long_name; /* empty, if the engine has the agent's name */
	std::string short_name;
	uint64_t own_nonce;
	mutable std::atomic<uint64_t> next{ 0 };
	std::atomic<bool> warned{ false }; /* of a damaged one */
	std::mutex lock;
	std::list<Joining> joining; /* oldest first */
	size_t joining_bytes = 0;
};

#endif
