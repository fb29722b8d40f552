/* SPDX-License-Identifier: Apache-2.0 */
/* An engine's beginning and end, its memory and its peers. */
#include "nixl/engine.h"

#include <cerrno>
#include <mutex>

#include "nixl/guard.h"
#include "nixl/params.h"
#include "nixl/region.h"

using namespace nixlabi;

/* Bytes of a blob, by the size that the call asks for. */
template<class Call> static int
fetch_blob(std::string &out, Call call)
{
	size_t len = 0;
	int rc = call(nullptr, &len);

	if (rc != -ENOBUFS && rc != 0)
		return rc;
	out.resize(len);
	rc = call(out.data(), &len);
	if (rc == 0)
		out.resize(len);
	return rc;
}

/* ---- beginning and end ------------------------------------------------------------- */

/* NIXL's log has the code alone, and the library is silent unless TCPX_DEBUG asks. */
static void
say_why(const std::string &agent)
{
	char why[400];

	tcpx_last_error(nullptr, why, sizeof(why));
	tcpx_nixl_warn("no engine for %s: %s", agent.c_str(), why);
}

static int
open_engine(const InitParams &p, const Params &listed, const std::string &name, tcpx_engine **out)
{
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	std::vector<std::string> settings = tcpx_nixl_settings(*p.params, listed);
	std::vector<const char *> text;

	for (const std::string &setting : settings)
		text.push_back(setting.c_str());
	text.push_back(nullptr);
	opts.name = name.c_str();
	opts.settings = text.data();
	return tcpx_open(&opts, out);
}

TcpxNixlEngine::TcpxNixlEngine(const InitParams &p, const Params &listed) : Engine(p), notes(p.agent)
{
	int rc = open_engine(p, listed, notes.engine_name(), &tcpx);

	if (rc == 0)
		rc = fetch_blob(own_info, [&](void *buf, size_t *len) {
			return tcpx_metadata(tcpx, buf, len);
		});
	if (rc)
		say_why(p.agent);
	init_error = rc != 0;
}

TcpxNixlEngine::~TcpxNixlEngine()
{
	notes.clear();
	tcpx_close(tcpx); /* peers go with it */
}

Mems
TcpxNixlEngine::mems() const
{
	return { DRAM, VRAM };
}

/* ---- memory ---------------------------------------------------------------------- */

static const char EMPTY_BLOB[] = "TCPX: no bytes";

static int
register_region(tcpx_engine *e, const BlobDesc &desc, Mem mem, uint64_t *id)
{
	int gpu = -1, rc;

	rc = tcpx_mem_register(e, reinterpret_cast<void *>(desc.addr), desc.len,
			       TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE, id);
	if (rc || mem != VRAM)
		return rc;
	rc = tcpx_mem_place(e, *id, &gpu);
	if (rc == 0 && gpu >= 0)
		return 0;
	tcpx_nixl_warn("VRAM at %#llx is not memory of a GPU that this process uses",
		       static_cast<unsigned long long>(desc.addr));
	(void)tcpx_mem_deregister(e, *id);
	return -ENOTSUP;
}

Status
TcpxNixlEngine::register_mem(const BlobDesc &desc, const Mem &mem, Metadata *&out)
{
	return tcpx_nixl_guard("registerMem", [&] {
		auto region = std::make_unique<TcpxNixlRegion>(desc.addr);
		int rc = -ENOTSUP;

		if (mem == DRAM || mem == VRAM)
			rc = desc.len ? register_region(tcpx, desc, mem, &region->id) : 0;
		if (rc == 0)
			out = region.release();
		return rc;
	});
}

static int
give_back(tcpx_engine *e, Metadata *md)
{
	std::unique_ptr<TcpxNixlRegion> region(static_cast<TcpxNixlRegion *>(md));

	if (!region)
		return -EINVAL;
	return region->is_empty() ? 0 : tcpx_mem_deregister(e, region->id);
}

Status
TcpxNixlEngine::deregister_mem(Metadata *md)
{
	return tcpx_nixl_guard("deregisterMem", [&] {
		return give_back(tcpx, md);
	});
}

static int
export_region(tcpx_engine *e, const Metadata *md, std::string &out)
{
	auto region = static_cast<const TcpxNixlRegion *>(md);

	if (!region->is_empty())
		return fetch_blob(out, [&](void *buf, size_t *len) {
			return tcpx_mem_export(e, region->id, buf, len);
		});
	out = EMPTY_BLOB;
	return 0;
}

Status
TcpxNixlEngine::public_data(const Metadata *md, std::string &out) const
{
	return tcpx_nixl_guard("getPublicData", [&] { return export_region(tcpx, md, out); });
}

static int
import_region(tcpx_engine *e, const std::string &blob, Metadata *&out)
{
	auto region = std::make_unique<TcpxNixlRegion>(0);
	uint64_t base = 0, len;
	int rc = 0;

	if (blob != EMPTY_BLOB)
		rc = tcpx_mem_import(e, blob.data(), blob.size(), &region->id);
	if (rc == 0 && !region->is_empty())
		rc = tcpx_mem_query(e, region->id, &base, &len);
	if (rc)
		return rc;
	region->base = base;
	out = region.release();
	return 0;
}

Status
TcpxNixlEngine::load_remote(const BlobDesc &desc, const Mem &, const std::string &agent,
			    Metadata *&out)
{
	return tcpx_nixl_guard("loadRemoteMD", [&] {
		{
			std::shared_lock<std::shared_mutex> lock(peers_lock);

			if (peers.count(agent) == 0)
				return -ENOENT;
		}
		return import_region(tcpx, desc.blob, out);
	});
}

/* A region as the target of a transfer to ourselves. */
Status
TcpxNixlEngine::load_local(Metadata *in, Metadata *&out)
{
	return tcpx_nixl_guard("loadLocalMD", [&] {
		std::string blob;
		int rc = export_region(tcpx, in, blob);

		return rc ? rc : import_region(tcpx, blob, out);
	});
}

Status
TcpxNixlEngine::unload(Metadata *md)
{
	return tcpx_nixl_guard("unloadMD", [&] {
		return give_back(tcpx, md);
	});
}

/* ---- peers ----------------------------------------------------------------------- */

Status
TcpxNixlEngine::conn_info(std::string &out) const
{
	return tcpx_nixl_guard("getConnInfo", [&] {
		out = own_info;
		return 0;
	});
}

/* Replaces an incarnation by the one that is loaded. Connecting goes on in the background. */
int
TcpxNixlEngine::add_peer(const std::string &agent, const std::string &info) const
{
	std::unique_lock<std::shared_mutex> lock(peers_lock);
	tcpx_peer *fresh = nullptr;
	int rc = tcpx_peer_add(tcpx, info.data(), info.size(), &fresh);

	if (rc)
		return rc;
	Known &known = peers[agent];
	tcpx_peer_free(known.peer);
	known = { fresh, info };
	return 0;
}

Status
TcpxNixlEngine::load_conn_info(const std::string &agent, const std::string &info)
{
	return tcpx_nixl_guard("loadRemoteConnInfo", [&] { return add_peer(agent, info); });
}

/* The agent is its own first peer; its connections are made when they are first used. */
Status
TcpxNixlEngine::connect(const std::string &name)
{
	return tcpx_nixl_guard("connect", [&] {
		std::shared_lock<std::shared_mutex> lock(peers_lock);

		return name == agent || peers.count(name) ? 0 : -ENOENT;
	});
}

/* Its requests may still be there: they hold what they need themselves. */
Status
TcpxNixlEngine::disconnect(const std::string &name)
{
	return tcpx_nixl_guard("disconnect", [&] {
		std::unique_lock<std::shared_mutex> lock(peers_lock);
		auto found = peers.find(name);

		if (found == peers.end())
			return name == agent ? 0 : -ENOENT;
		tcpx_peer_free(found->second.peer);
		peers.erase(found);
		return 0;
	});
}

/* Nobody answered in time. That may change, and NIXL does not load the same metadata again. */
static bool
gave_up(tcpx_peer *peer)
{
	struct tcpx_peer_info info = {};

	info.struct_size = sizeof(info);
	return tcpx_peer_query(peer, &info) == 0 && info.status == TCPX_ETIMEDOUT;
}

int
TcpxNixlEngine::with_peer(const std::string &name, int (*call)(tcpx_peer *, void *), void *arg) const
{
	for (int look = 0; look < 2; look++) {
		std::string info = own_info;
		{
			std::shared_lock<std::shared_mutex> lock(peers_lock);
			auto found = peers.find(name);

			if (found != peers.end() && (look > 0 || !gave_up(found->second.peer)))
				return call(found->second.peer, arg);
			if (found == peers.end() && name != agent)
				break;
			if (found != peers.end())
				info = found->second.info;
		}
		int rc = add_peer(name, info);
		if (rc)
			return rc;
	}
	return -ENOENT;
}
