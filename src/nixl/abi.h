/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What passes between NIXL's core and a plugin, declared by us: NIXL 1.0.0 to 1.4.0 and today's main
 * lay these objects out alike. Names are ours; sizes, offsets, the order of the virtual functions
 * and the numbers of the codes are theirs. The assertions below hold them; the target
 * nixl-headers compares them with NIXL's headers.
 */
#ifndef NIXL_ABI_H
#define NIXL_ABI_H

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace nixlabi {

enum Mem { DRAM, VRAM, BLK, OBJ, FILE_MEM };
enum Op { READ, WRITE };

enum Status {
	IN_PROG = 1,
	SUCCESS = 0,
	NOT_POSTED = -1,
	INVALID_PARAM = -2,
	BACKEND = -3,
	NOT_FOUND = -4,
	MISMATCH = -5,
	NOT_ALLOWED = -6,
	REPOST_ACTIVE = -7,
	UNKNOWN = -8,
	NOT_SUPPORTED = -9,
	REMOTE_DISCONNECT = -10,
	CANCELED = -11
};

using Params = std::unordered_map<std::string, std::string>;
using Mems = std::vector<Mem>;
using Notifs = std::vector<std::pair<std::string, std::string>>; /* sender, message */
using Queried = std::optional<Params>;

/* ---- memory ---------------------------------------------------------------------- */

/* What a plugin keeps for a region. */
class Metadata {
public:
	explicit Metadata(bool priv) : is_private(priv) {}
	virtual ~Metadata() {}
	bool is_private;
};

struct Desc {
	uintptr_t addr;
	size_t len;
	uint64_t dev;
};

struct BlobDesc : Desc {
	std::string blob;
};

struct MetaDesc : Desc {
	Metadata *metadata;
};

/* A list has virtual functions, which a plugin has no need of. */
template<class T> struct List {
	void *table;
	Mem mem;
	std::vector<T> at;
};
using MetaList = List<MetaDesc>;
using BlobList = List<BlobDesc>;
struct RemoteMetaList;

/* ---- transfers ------------------------------------------------------------------- */

/* What a plugin keeps for a request. */
class Request {
public:
	virtual ~Request() {}
};

struct PostArgs {
	std::string note;
	bool has_note = false;
	std::string custom;
};

struct AgentArgs;
enum class Cost : int { ANALYTICAL };

/* ---- the engine ------------------------------------------------------------------ */

struct InitParams {
	std::string agent;
	std::string type; /* the name that the plugin was asked for by */
	Params *params;
	bool progress_thread;
	uint64_t progress_delay_us;
	int sync;
	bool telemetry;
};

class Engine {
public:
	explicit Engine(const InitParams &p)
		: type(p.type), params(*p.params), agent(p.agent), telemetry(p.telemetry) {}
	Engine(const Engine &) = delete;
	Engine &operator=(const Engine &) = delete;

	virtual ~Engine() {}
	virtual bool supports_remote() const = 0;
	virtual bool supports_local() const = 0;
	virtual bool supports_notif() const = 0;
	virtual Mems mems() const = 0;
	virtual Status register_mem(const BlobDesc &desc, const Mem &mem, Metadata *&out) = 0;
	virtual Status deregister_mem(Metadata *md) = 0;
	virtual Status connect(const std::string &agent) = 0;
	virtual Status disconnect(const std::string &agent) = 0;
	virtual Status unload(Metadata *md) = 0;
	virtual Status prepare(const Op &op, const MetaList &local, const MetaList &remote,
			       const std::string &agent, Request *&out, const PostArgs *args) const = 0;
	virtual Status post(const Op &op, const MetaList &local, const MetaList &remote,
			    const std::string &agent, Request *&request,
			    const PostArgs *args) const = 0;
	virtual Status check(Request *request) const = 0;
	virtual Status release(Request *request) const = 0;
	virtual Status view_remote(const RemoteMetaList &, void *&, const PostArgs *) const
	{
		return NOT_SUPPORTED;
	}
	virtual Status view_local(const MetaList &, void *&, const PostArgs *) const
	{
		return NOT_SUPPORTED;
	}
	virtual void release_view(void *) const {}
	virtual Status public_data(const Metadata *md, std::string &out) const = 0;
	virtual Status conn_info(std::string &out) const = 0;
	virtual Status load_conn_info(const std::string &agent, const std::string &info) = 0;
	virtual Status load_remote(const BlobDesc &desc, const Mem &mem, const std::string &agent,
				   Metadata *&out) = 0;
	virtual Status load_local(Metadata *in, Metadata *&out) = 0;
	virtual Status take_notifs(Notifs &out) = 0;
	virtual Status notify(const std::string &agent, const std::string &message) const = 0;
	virtual Status query(const BlobList &, std::vector<Queried> &) const
	{
		return NOT_SUPPORTED;
	}
	virtual Status estimate(const Op &, const MetaList &, const MetaList &, const std::string &,
				Request *const &, std::chrono::microseconds &,
				std::chrono::microseconds &, Cost &, const AgentArgs *) const
	{
		return NOT_SUPPORTED;
	}
	/* Places of functions that a later core may call behind these: each answers. */
	virtual Status later_0() const { return NOT_SUPPORTED; }
	virtual Status later_1() const { return NOT_SUPPORTED; }
	virtual Status later_2() const { return NOT_SUPPORTED; }
	virtual Status later_3() const { return NOT_SUPPORTED; }

	/* Read by the core. Telemetry events differ between versions: no one is ever made. */
	std::string type;
	Params params;
	std::vector<char> telemetry_events;
	std::mutex telemetry_lock;
	bool init_error = false;
	const std::string agent;
	const bool telemetry;
};

struct Plugin {
	int api_version;
	Engine *(*create)(const InitParams *params);
	void (*destroy)(Engine *engine);
	const char *(*name)();
	const char *(*version)();
	Params (*options)();
	Mems (*mems)();
};

constexpr int API_VERSION = 1;

/* ---- sizes and offsets ----------------------------------------------------------- */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof" /* not standard layout; single inheritance */
static_assert(sizeof(Engine) == 208 && offsetof(Engine, type) == 8 &&
	      offsetof(Engine, params) == 40 && offsetof(Engine, telemetry_events) == 96 &&
	      offsetof(Engine, telemetry_lock) == 120 && offsetof(Engine, init_error) == 160 &&
	      offsetof(Engine, agent) == 168 && offsetof(Engine, telemetry) == 200,
	      "nixlBackendEngine");
static_assert(sizeof(InitParams) == 96 && offsetof(InitParams, agent) == 0 &&
	      offsetof(InitParams, type) == 32 && offsetof(InitParams, params) == 64 &&
	      offsetof(InitParams, progress_thread) == 72 &&
	      offsetof(InitParams, progress_delay_us) == 80 && offsetof(InitParams, sync) == 88 &&
	      offsetof(InitParams, telemetry) == 92, "nixlBackendInitParams");
static_assert(sizeof(Plugin) == 56 && offsetof(Plugin, create) == 8 &&
	      offsetof(Plugin, destroy) == 16 && offsetof(Plugin, name) == 24 &&
	      offsetof(Plugin, version) == 32 && offsetof(Plugin, options) == 40 &&
	      offsetof(Plugin, mems) == 48, "nixlBackendPlugin");
static_assert(sizeof(PostArgs) == 72 && offsetof(PostArgs, note) == 0 &&
	      offsetof(PostArgs, has_note) == 32 && offsetof(PostArgs, custom) == 40,
	      "nixlBackendOptionalArgs");
static_assert(sizeof(Desc) == 24 && offsetof(Desc, addr) == 0 && offsetof(Desc, len) == 8 &&
	      offsetof(Desc, dev) == 16, "nixlBasicDesc");
static_assert(sizeof(BlobDesc) == 56 && offsetof(BlobDesc, blob) == 24, "nixlBlobDesc");
static_assert(sizeof(MetaDesc) == 32 && offsetof(MetaDesc, metadata) == 24, "nixlMetaDesc");
static_assert(sizeof(MetaList) == 40 && offsetof(MetaList, mem) == 8 &&
	      offsetof(MetaList, at) == 16 && sizeof(BlobList) == 40, "nixlDescList");
static_assert(sizeof(Metadata) == 16 && offsetof(Metadata, is_private) == 8, "nixlBackendMD");
static_assert(sizeof(Request) == 8, "nixlBackendReqH");
static_assert(sizeof(Notifs) == 24 && sizeof(Params) == 56 && sizeof(Mems) == 24,
	      "containers of libstdc++'s present ABI");
#pragma GCC diagnostic pop

} /* namespace nixlabi */

#endif
