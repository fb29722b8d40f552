/* SPDX-License-Identifier: Apache-2.0 */
/* An agent's engine: NIXL's virtual functions over tcpx/tcpx.h. */
#ifndef NIXL_ENGINE_H
#define NIXL_ENGINE_H

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>

#include "nixl/abi.h"
#include "nixl/notes.h"
#include "tcpx/tcpx.h"

/*
 * NIXL may call from any thread at once, whatever its mode says: vLLM adds peers in one thread while
 * another posts. So everything here is constant after the constructor, or under a lock: taking,
 * rests_lock, peers_lock, in this order.
 */
class TcpxNixlEngine final : public nixlabi::Engine {
public:
	/* @listed: the options of the plugin under its file name. Sets init_error. */
	TcpxNixlEngine(const nixlabi::InitParams &p, const nixlabi::Params &listed);
	~TcpxNixlEngine() override;

	bool supports_remote() const override { return true; }
	bool supports_local() const override { return true; }
	bool supports_notif() const override { return true; }
	nixlabi::Mems mems() const override;

	nixlabi::Status register_mem(const nixlabi::BlobDesc &desc, const nixlabi::Mem &mem,
				     nixlabi::Metadata *&out) override;
	nixlabi::Status deregister_mem(nixlabi::Metadata *md) override;
	nixlabi::Status public_data(const nixlabi::Metadata *md, std::string &out) const override;
	nixlabi::Status load_remote(const nixlabi::BlobDesc &desc, const nixlabi::Mem &mem,
				    const std::string &agent, nixlabi::Metadata *&out) override;
	nixlabi::Status load_local(nixlabi::Metadata *in, nixlabi::Metadata *&out) override;
	nixlabi::Status unload(nixlabi::Metadata *md) override;

	nixlabi::Status conn_info(std::string &out) const override;
	nixlabi::Status load_conn_info(const std::string &agent, const std::string &info) override;
	nixlabi::Status connect(const std::string &agent) override;
	nixlabi::Status disconnect(const std::string &agent) override;

	nixlabi::Status prepare(const nixlabi::Op &op, const nixlabi::MetaList &local,
				const nixlabi::MetaList &remote, const std::string &agent,
				nixlabi::Request *&out, const nixlabi::PostArgs *args) const override;
	nixlabi::Status post(const nixlabi::Op &op, const nixlabi::MetaList &local,
			     const nixlabi::MetaList &remote, const std::string &agent,
			     nixlabi::Request *&request,
			     const nixlabi::PostArgs *args) const override;
	nixlabi::Status check(nixlabi::Request *request) const override;
	nixlabi::Status release(nixlabi::Request *request) const override;

	nixlabi::Status take_notifs(nixlabi::Notifs &out) override;
	nixlabi::Status notify(const std::string &agent, const std::string &message) const override;

private:
	int with_peer(const std::string &agent, int (*call)(tcpx_peer *, void *), void *arg) const;
	int add_peer(const std::string &agent, const std::string &info) const;
	/* Returns 0 if the peer's session is open. */
	static int status_of(tcpx_peer *peer, void *);
	int send_note(const std::string &agent, const std::string &note) const;
	int send_text(const std::string &agent, const std::string &text) const;
	int pack(const std::string &text, const std::string *&with, std::string &part) const;
	int send_parts(const std::string &agent, const std::string &text) const;
	void send_rests() const;
	bool a_rest_waits_for(const std::string &agent) const;
	size_t take_note(tcpx_note *taken, nixlabi::Notifs &out);
	int make(const nixlabi::Op &op, const nixlabi::MetaList &local,
		 const nixlabi::MetaList &remote, const std::string &agent, tcpx_xfer **out) const;
	int settle(nixlabi::Request *request) const;

	tcpx_engine *tcpx = nullptr;
	std::mutex taking;
	TcpxNixlNotes notes;
	std::string own_info; /* as conn_info() */
	mutable std::shared_mutex peers_lock;
	struct Known {
		tcpx_peer *peer = nullptr;
		std::string info;
	};
	mutable std::unordered_map<std::string, Known> peers; /* by NIXL's name */

	int go_on(const std::string &agent, TcpxNixlNotes::Parts &rest) const;
	/* Held while parts are sent: those of two notifications do not mix. */
	mutable std::mutex rests_lock;
	/* The parts that found no room, of a notification that has begun, by NIXL's name. */
	mutable std::unordered_map<std::string, TcpxNixlNotes::Parts> rests;
	mutable std::atomic<bool> rests_wait{ false };
	mutable uint64_t rests_tried_ms = 0;
};

#endif
