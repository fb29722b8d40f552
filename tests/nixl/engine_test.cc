/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine of the plugin keeps of the library's: by the counters of the one below it. */
#include <sched.h>

#include "agent.h"
#include "nixl/engine.h"

using namespace nixlabi;

static tcpx_engine *opened; /* the latest */

extern "C" {
int __real_tcpx_open(const struct tcpx_engine_opts *opts, tcpx_engine **engine);
int __wrap_tcpx_open(const struct tcpx_engine_opts *opts, tcpx_engine **engine);
}

int
__wrap_tcpx_open(const struct tcpx_engine_opts *opts, tcpx_engine **engine)
{
	int rc = __real_tcpx_open(opts, engine);

	opened = *engine;
	return rc;
}

struct Side {
	Params params = { { "TCPX_NICS", "127.0.1.1" }, { "TCPX_CHANNELS", "2" }, { "TCPX_THREADS", "1" },
			  { "TCPX_STATS", "off" }, { "TCPX_LINGER_MS", "0" } };
	TcpxNixlEngine engine;
	tcpx_engine *below;
	explicit Side(const char *name)
		: engine({ name, "TCPX", &params, false, 0, 0, false }, {}), below(opened)
	{
		assert_false(engine.init_error);
	}
	struct tcpx_counters now() const
	{
		struct tcpx_counters counters = {};

		counters.struct_size = sizeof(counters);
		assert_int_equal(tcpx_query(below, &counters), 0);
		return counters;
	}
};

static void
memory_that_is_refused_is_not_kept(void **)
{
	Side a("anna");
	std::vector<uint8_t> bytes(4096);
	Metadata *md = nullptr;
	BlobDesc desc;

	desc.addr = reinterpret_cast<uintptr_t>(bytes.data());
	desc.len = bytes.size();
	desc.dev = 0;
	assert_status(a.engine.register_mem(desc, VRAM, md), NOT_SUPPORTED); /* it is the host's */
	assert_int_equal(a.now().regions, 0);
	assert_success(a.engine.register_mem(desc, DRAM, md));
	assert_int_equal(a.now().regions, 1);
	assert_success(a.engine.deregister_mem(md));
	assert_int_equal(a.now().regions, 0);
}

static void
sessions_fall_to(const Side &side, uint32_t count)
{
	for (Deadline d; side.now().sessions != count && !d.passed();)
		sched_yield();
	assert_int_equal(side.now().sessions, count);
}

/* NIXL loads an agent's metadata again when some of it has changed, and drops it once. */
static void
a_peer_that_was_loaded_twice_is_dropped_once(void **)
{
	Side a("anna"), b("bert");
	std::string info;
	Notifs notes;

	assert_success(b.engine.conn_info(info));
	for (int i = 0; i < 2; i++)
		assert_success(a.engine.load_conn_info("bert", info));
	assert_success(a.engine.notify("bert", "hello"));
	for (Deadline d; notes.empty() && !d.passed(); sched_yield())
		assert_success(b.engine.take_notifs(notes));
	assert_int_equal(notes.size(), 1);
	assert_int_equal(a.now().sessions, 1);
	assert_success(a.engine.disconnect("bert"));
	sessions_fall_to(a, 0);
	sessions_fall_to(b, 0);
}

int
main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_that_is_refused_is_not_kept),
		cmocka_unit_test(a_peer_that_was_loaded_twice_is_dropped_once),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
