/* SPDX-License-Identifier: Apache-2.0 */
#include "agent.h"

#include <dlfcn.h>
#include <sched.h>

#include <cstdio>

using namespace nixlabi;

File::File(const std::string &path)
{
	handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!handle)
		fail_msg("%s", dlerror());
	auto init = reinterpret_cast<Plugin *(*)()>(dlsym(handle, "nixl_plugin_init"));
	assert_non_null(init);
	plugin = init();
	assert_non_null(plugin);
	assert_int_equal(plugin->api_version, API_VERSION);
}

File::~File()
{
	reinterpret_cast<void (*)()>(dlsym(handle, "nixl_plugin_fini"))();
	dlclose(handle);
}

Agent::Agent(const File &from, const std::string &own, const Params &more, size_t bytes,
	     int sync)
	: file(from), name(own)
{
	Params params = more;
	InitParams init = { own, "TCPX", &params, sync != 0, 0, sync, false };

	params.emplace("TCPX_NICS", "127.0.1.1");
	if (bytes == MEMORY_BYTES) {
		params.emplace("TCPX_CHANNELS", "2");
		params.emplace("TCPX_THREADS", "1");
	}
	params.emplace("TCPX_STATS", "off");
	engine = file.plugin->create(&init);
	assert_non_null(engine);
	assert_false(engine->init_error);
	assert_true(engine->supports_remote() && engine->supports_notif());
	assert_success(engine->conn_info(info));
	assert_true(engine->supports_local());
	assert_success(engine->connect(name));
	assert_string_equal(engine->type.c_str(), "TCPX");

	memory.bytes.resize(bytes);
	fill(memory, static_cast<uint32_t>(std::hash<std::string>()(own)));
	assert_success(engine->register_mem(exported(), DRAM, memory.md));
	assert_success(engine->load_local(memory.md, memory.local));
	assert_success(engine->public_data(memory.md, memory.blob));
	theirs[name] = { memory.local, exported().addr };
}

Agent::~Agent()
{
	if (memory.md)
		assert_success(engine->deregister_mem(memory.md));
	for (auto &[other, remote] : theirs)
		assert_success(engine->unload(remote.md));
	file.plugin->destroy(engine);
}

BlobDesc
Agent::exported() const
{
	BlobDesc d;

	d.addr = reinterpret_cast<uintptr_t>(memory.bytes.data());
	d.len = memory.bytes.size();
	d.dev = 0;
	d.blob = memory.blob;
	return d;
}

Status
Agent::load(const std::string &other, const std::string &conn, const BlobDesc &desc)
{
	Metadata *md = nullptr;
	Status rc = engine->load_conn_info(other, conn);

	if (rc == SUCCESS)
		rc = engine->load_remote(desc, DRAM, other, md);
	if (rc == SUCCESS) {
		if (theirs.count(other))
			assert_success(engine->unload(theirs[other].md));
		theirs[other] = { md, desc.addr };
	}
	return rc;
}

Status
Agent::load(const Agent &other)
{
	return load(other.name, other.info, other.exported());
}

void
Agent::forget(const std::string &other)
{
	auto found = theirs.find(other);

	if (found != theirs.end()) {
		assert_success(engine->unload(found->second.md));
		theirs.erase(found);
	}
	assert_success(engine->disconnect(other));
}

Transfer::Transfer(Agent &agent, const std::string &target, Op o, const std::vector<Piece> &pieces)
	: from(agent), to(target), op(o), local{ nullptr, DRAM, {} }, remote{ nullptr, DRAM, {} }
{
	auto mine = reinterpret_cast<uintptr_t>(from.memory.bytes.data());
	const Agent::Remote &far = from.theirs.at(to);

	for (const Piece &p : pieces) {
		MetaDesc l, r;

		l.addr = mine + p.mine;
		r.addr = far.addr + p.theirs;
		l.len = r.len = p.len;
		l.dev = r.dev = 0;
		l.metadata = from.memory.md;
		r.metadata = far.md;
		local.at.push_back(l);
		remote.at.push_back(r);
	}
	prepared = from.engine->prepare(op, local, remote, to, handle, nullptr);
}

Transfer::~Transfer()
{
	release();
}

void
Transfer::release()
{
	if (handle)
		assert_success(from.engine->release(handle));
	handle = nullptr;
}

Status
Transfer::post_bytes(const std::string &note)
{
	PostArgs args;

	args.note = note;
	args.has_note = true;
	return from.engine->post(op, local, remote, to, handle, &args);
}

Status
Transfer::post(const char *note)
{
	PostArgs none;

	return note ? post_bytes(note) : from.engine->post(op, local, remote, to, handle, &none);
}

Status
Transfer::wait()
{
	Status rc = IN_PROG;

	for (Deadline d; rc == IN_PROG && !d.passed();) {
		rc = from.engine->check(handle);
		if (rc == IN_PROG)
			sched_yield();
	}
	return rc;
}

Notifs
take_notes(Agent &agent, size_t count)
{
	Notifs all, some;

	for (Deadline d; all.size() < count && !d.passed(); sched_yield()) {
		some.clear();
		assert_success(agent.engine->take_notifs(some));
		all.insert(all.end(), some.begin(), some.end());
	}
	assert_int_equal(all.size(), count);
	return all;
}

void
fill(Memory &memory, uint32_t seed)
{
	uint64_t x = seed * 2654435761u + 1;

	for (uint8_t &byte : memory.bytes) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		byte = static_cast<uint8_t>(x >> 24);
	}
}
