/* SPDX-License-Identifier: Apache-2.0 */
/* An agent as NIXL's core has it: it loads the plugin by its C functions and calls the
 * engine's virtual functions in the same order. Nothing of NIXL is here. */
#ifndef TESTS_NIXL_AGENT_H
#define TESTS_NIXL_AGENT_H

#include <chrono>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <setjmp.h>
#include <string>
#include <vector>

extern "C" {
#include <cmocka.h>
}

#include "nixl/abi.h"

#define assert_status(call, want) assert_int_equal(static_cast<int>(call), static_cast<int>(want))
#define assert_success(call)      assert_status(call, nixlabi::SUCCESS)

/* A hang guard, no measure. */
struct Deadline {
	std::chrono::steady_clock::time_point end =
		std::chrono::steady_clock::now() + std::chrono::seconds(60);
	bool passed() const { return std::chrono::steady_clock::now() > end; }
};

/* The plugin file, loaded as NIXL does. */
struct File {
	explicit File(const std::string &path);
	~File();
	void *handle;
	nixlabi::Plugin *plugin;
};

/* A buffer, registered by its agent. */
struct Memory {
	std::vector<uint8_t> bytes;
	nixlabi::Metadata *md = nullptr, *local = nullptr; /* local: as a target of ourselves */
	std::string blob;
};

constexpr size_t MEMORY_BYTES = 4 << 20;

struct Agent {
	/* @more: parameters beside those that tests need */
	Agent(const File &file, const std::string &name, const nixlabi::Params &more = {},
	      size_t bytes = MEMORY_BYTES, int sync = 0);
	~Agent(); /* what NIXL's agent does: no disconnect */
	/* As nixlAgent::loadRemoteMD() for one backend and one region: sets theirs[name]. */
	nixlabi::Status load(const Agent &other);
	nixlabi::Status load(const std::string &other, const std::string &info,
			     const nixlabi::BlobDesc &desc);
	/* What the agent does at REMOTE_DISCONNECT, and at remove_remote_agent(). */
	void forget(const std::string &other);
	nixlabi::BlobDesc exported() const;

	const File &file;
	std::string name, info;
	nixlabi::Engine *engine;
	Memory memory;
	struct Remote {
		nixlabi::Metadata *md;
		uintptr_t addr;
	};
	std::map<std::string, Remote> theirs;
};

struct Piece {
	size_t mine, theirs, len; /* offsets into the memories of both */
};

/* A prepared request. */
struct Transfer {
	Transfer(Agent &from, const std::string &to, nixlabi::Op op, const std::vector<Piece> &pieces);
	~Transfer();
	nixlabi::Status post(const char *note = nullptr);
	nixlabi::Status post_bytes(const std::string &note);
	nixlabi::Status wait(); /* checks until it has ended */
	void release();

	Agent &from;
	std::string to;
	nixlabi::Op op;
	nixlabi::MetaList local, remote;
	nixlabi::Request *handle = nullptr;
	nixlabi::Status prepared;
};

/* Takes notes until @count have come. */
nixlabi::Notifs take_notes(Agent &agent, size_t count);
/* Makes the bytes of a memory differ from every other's. */
void fill(Memory &memory, uint32_t seed);

#endif
