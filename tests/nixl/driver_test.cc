/* SPDX-License-Identifier: Apache-2.0 */
/* The NIXL plugin, driven as NIXL's agent drives it.
 * Usage: nixl_driver PLUGIN [TEST] */
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "pair.h"

using namespace nixlabi;

static size_t
no_more_notes(Agent &agent)
{
	Notifs rest;

	assert_success(agent.engine->take_notifs(rest));
	return rest.size();
}

/* ---- the file ---------------------------------------------------------------------- */

static void
the_file_tells_what_it_is(void **)
{
	File first(plugin_path), again(plugin_path);

	assert_ptr_equal(first.plugin, again.plugin);
	assert_string_equal(first.plugin->name(), "TCPX");
	assert_true(strlen(first.plugin->version()) > 0);
	assert_true(first.plugin->mems() == Mems({ DRAM, VRAM }));
	Params options = first.plugin->options();
	assert_int_equal(options.count("TCPX_NICS"), 1);
	assert_int_equal(options.count("num_workers"), 0);
	/* what is listed may come back as it is, and sets nothing */
	Agent a(first, "anna", options);
}

static void
under_the_name_of_ucx_it_lists_its_options(void **)
{
	char folder[] = "/tmp/tcpx-nixl-XXXXXX";

	assert_non_null(mkdtemp(folder));
	std::string alias = std::string(folder) + "/libplugin_UCX.so";
	std::ofstream(alias, std::ios::binary) << std::ifstream(plugin_path, std::ios::binary).rdbuf();
	{
		File file(alias);
		Params options = file.plugin->options();

		assert_string_equal(file.plugin->name(), "UCX");
		assert_string_equal(options["ucx_error_handling_mode"].c_str(), "peer");
		for (const char *key : { "num_workers", "num_threads", "split_batch_size",
					 "engine_config", "device_list" })
			assert_int_equal(options.count(key), 1);
	}
	unlink(alias.c_str());
	rmdir(folder);
}

/* What the plugin writes to standard error meanwhile. */
template<class Call> static std::string
said(Call call)
{
	FILE *file = tmpfile();
	int saved = dup(2);
	std::string text(4096, '\0');

	dup2(fileno(file), 2);
	call();
	dup2(saved, 2);
	close(saved);
	rewind(file);
	text.resize(fread(text.data(), 1, text.size(), file));
	fclose(file);
	return text;
}

static size_t
times(const std::string &text, const std::string &what)
{
	size_t n = 0;

	for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
		n++;
	return n;
}

static void
parameters_of_others_cost_one_warning(void **)
{
	File file(plugin_path);
	std::string text = said([&] {
		Agent a(file, "anna", { { "num_workers", "8" }, { "device_list", "mlx5_0" },
					{ "empty", "" } });
	});

	assert_int_equal(times(text, "have no effect: device_list num_workers\n"), 1);
	assert_int_equal(times(text, "\n"), 1);
}

static void
a_wrong_setting_is_no_engine(void **)
{
	File file(plugin_path);
	Params params = { { "TCPX_CHANNELS", "many" } };
	InitParams init = { "anna", "TCPX", &params, false, 0, 0, false };
	std::string text = said([&] {
		Engine *engine = file.plugin->create(&init);

		assert_non_null(engine);
		assert_true(engine->init_error);
		file.plugin->destroy(engine);
	});

	assert_int_equal(times(text, "TCPX_CHANNELS"), 1);
}

/* ---- moving bytes ------------------------------------------------------------------ */

static void
every_byte_arrives_where_it_belongs(void **)
{
	Pair p;
	std::vector<Piece> neighbours, across;

	for (size_t i = 0; i < 64; i++) {
		neighbours.push_back({ i * 5000, 4096 + i * 5000, 5000 });
		across.push_back({ i * 6000, (63 - i) * 6000, 6000 }); /* dense on one side only */
	}
	for (Op op : { WRITE, READ }) {
		move(p.a, p.b, op, { { 0, 0, MEMORY_BYTES } }, "all");
		move(p.a, p.b, op, { { 1, MEMORY_BYTES - 1, 1 } }, "one");
		move(p.a, p.b, op, { { 100, 4000, 3000 } }, nullptr);
		move(p.a, p.b, op, neighbours, "neighbours");
		move(p.a, p.b, op, across, nullptr);
		move(p.a, p.b, op, shuffled(400, 7987, 1), "shuffled");
		move(p.b, p.a, op, shuffled(2000, 300, 2), "small ones");
	}
	assert_int_equal(no_more_notes(p.a) + no_more_notes(p.b), 0);
}

static void
neighbours_of_two_regions_stay_apart(void **)
{
	Pair p;
	Second mine(p.a, p.b), theirs(p.b, p.a);
	uint32_t seed = 1;

	for (Op op : { WRITE, READ })
		for (int sides : { 1, 2, 3 }) {
			/* the second piece begins where the first ends, in another region */
			Transfer r(p.a, "bert", op, { { 0, 0, 5000 }, { 5000, 5000, 3000 } });

			r.release();
			if (sides & 1)
				mine.move(r.local.at[1], mine.memory.md);
			if (sides & 2)
				theirs.move(r.remote.at[1], theirs.far);
			assert_success(p.a.engine->prepare(op, r.local, r.remote, "bert", r.handle,
							   nullptr));
			for (Memory *m : { &p.a.memory, &mine.memory, &p.b.memory, &theirs.memory })
				fill(*m, seed++);
			assert_status(r.post(), IN_PROG);
			assert_success(r.wait());
			for (size_t k = 0; k < r.local.at.size(); k++)
				assert_memory_equal(r.local.at[k].addr, r.remote.at[k].addr,
						    r.local.at[k].len);
		}
}

static void
one_agent_is_its_own_peer(void **)
{
	File file(plugin_path);
	Agent a(file, "anna");
	size_t half = MEMORY_BYTES / 2;

	assert_success(a.engine->notify("anna", "to myself"));
	assert_string_equal(take_notes(a, 1)[0].second.c_str(), "to myself");
	for (Op op : { WRITE, READ }) {
		move(a, a, op, { { 0, half, half } }, "half");
		move(a, a, op, { { 8, half + 1000, 4000 }, { 9000, half + 6000, 500 } }, nullptr);
	}
	assert_success(a.engine->disconnect("anna"));
	move(a, a, WRITE, { { 0, half, 100 } }, nullptr);
}

static void
a_request_is_posted_again_and_each_note_comes_once(void **)
{
	Pair p;

	for (Op op : { WRITE, READ }) {
		Transfer r(p.a, "bert", op, shuffled(20, 5000, 3));
		Notifs got;

		assert_success(r.prepared);
		for (int i = 0; i < 60; i++) {
			fill(op == WRITE ? p.a.memory : p.b.memory, 100 + i);
			if (i % 3 == 0)
				assert_status(r.post(), IN_PROG);
			else
				assert_status(r.post_bytes(i % 3 == 1 ? "" : std::to_string(i)), IN_PROG);
			assert_success(r.wait());
			for (size_t k = 0; k < r.local.at.size(); k++)
				assert_memory_equal(r.local.at[k].addr, r.remote.at[k].addr, 5000);
		}
		got = take_notes(p.b, 40);
		for (int i = 0, n = 0; i < 60; i++)
			if (i % 3)
				assert_true(got[n++].second == (i % 3 == 1 ? "" : std::to_string(i)));
		assert_int_equal(no_more_notes(p.b), 0);
	}
}

static void
notes_are_bytes_and_their_senders_need_not_be_known(void **)
{
	File file(plugin_path);
	Agent a(file, "anna"), b(file, "bert");
	std::string binary("\0\1\377 \0", 5), large(8192, 'x');
	std::vector<std::string> sent = { binary, "", large }, got;

	assert_success(a.load(b)); /* bert knows nothing of anna */
	for (const std::string &text : sent)
		assert_success(a.engine->notify("bert", text));
	for (auto &[sender, text] : take_notes(b, 3)) {
		assert_string_equal(sender.c_str(), "anna");
		got.push_back(text);
	}
	std::sort(sent.begin(), sent.end());
	std::sort(got.begin(), got.end());
	assert_true(sent == got);
}

/* Longer than a note of the library, and what looks like a part of such a one. */
static std::vector<std::string>
notes_in_parts()
{
	std::string text(1 << 20, 0), part("\0TCPXN1\n", 8);

	for (size_t i = 0; i < text.size(); i++)
		text[i] = static_cast<char>(i * i >> 5);
	return { text, text.substr(0, 8193), text.substr(7, 100000), part, part + text.substr(0, 9000) };
}

static void
notes_have_any_length(void **)
{
	Pair p;

	assert_status(p.a.engine->notify("bert", std::string((4 << 20) + 1, 'x')), INVALID_PARAM);
	for (const std::string &text : notes_in_parts()) {
		Transfer r(p.a, "bert", WRITE, shuffled(20, 5000, 4));

		for (int i = 0; i < 2; i++) {
			fill(p.a.memory, 7 + i);
			assert_status(r.post_bytes(text), IN_PROG);
			assert_success(r.wait());
			assert_success(p.a.engine->notify("bert", text));
			for (auto &[sender, got] : take_notes(p.b, 2)) {
				assert_string_equal(sender.c_str(), "anna");
				assert_true(got == text);
			}
			for (size_t k = 0; k < r.local.at.size(); k++)
				assert_memory_equal(r.local.at[k].addr, r.remote.at[k].addr, 5000);
		}
	}
	assert_int_equal(no_more_notes(p.b), 0);
}

static void
names_have_any_length(void **)
{
	File file(plugin_path);
	std::string name(300, 'n'), other = name + "x";
	Agent a(file, name), b(file, "bert"), c(file, other);

	for (Agent *from : { &a, &c }) {
		assert_success(from->load(b));
		assert_success(b.load(*from));
		move(*from, b, WRITE, { { 0, 64, 1000 } }, "short");
		move(b, *from, READ, { { 0, 64, 1000 } }, "from bert");
		for (const std::string &text : notes_in_parts()) {
			assert_success(from->engine->notify("bert", text));
			Notifs got = take_notes(b, 1);
			assert_true(got[0].first == from->name && got[0].second == text);
		}
	}
}

/* ---- memory of a GPU --------------------------------------------------------------- */

/* Memory of a GPU in software, or of a real one: FAKECUDA_LIBRARY=libcuda.so.1. */
struct GpuMemory {
	uint64_t at = 0;
	size_t len = MEMORY_BYTES;
	void *library;
	template<class... Words> int call(const char *name, Words... words)
	{
		return reinterpret_cast<int (*)(Words...)>(dlsym(library, name))(words...);
	}
	explicit GpuMemory(const char *path) : library(dlopen(path, RTLD_NOW))
	{
		void *context;

		assert_non_null(library);
		assert_int_equal(call("cuInit", 0u), 0);
		assert_int_equal(call("cuDevicePrimaryCtxRetain", &context, 0), 0);
		assert_int_equal(call("cuCtxPushCurrent_v2", context), 0);
		assert_int_equal(call("cuMemAlloc_v2", &at, len), 0);
	}
	void set(const uint8_t *bytes)
	{
		assert_int_equal(call("cuMemcpyHtoD_v2", at, bytes, len), 0);
	}
	std::vector<uint8_t> bytes()
	{
		std::vector<uint8_t> copy(len);

		assert_int_equal(call("cuMemcpyDtoH_v2", copy.data(), at, len), 0);
		return copy;
	}
	~GpuMemory()
	{
		void *context;

		assert_int_equal(call("cuMemFree_v2", at), 0);
		assert_int_equal(call("cuCtxPopCurrent_v2", &context), 0);
		assert_int_equal(call("cuDevicePrimaryCtxRelease_v2", 0), 0);
		dlclose(library);
	}
};

static void
memory_of_a_gpu_goes_both_ways(void **)
{
	const char *path = getenv("FAKECUDA_LIBRARY");
	size_t half = MEMORY_BYTES / 2;
	Metadata *md = nullptr;

	if (!path) {
		print_message("# skipped: FAKECUDA_LIBRARY is not set\n");
		skip();
	}
	GpuMemory gpu(path);
	File file(plugin_path);
	Agent a(file, "anna", { { "TCPX_CUDA_LIBRARY", path } }), b(file, "bert");
	BlobDesc desc = a.exported();
	desc.addr = gpu.at;

	assert_success(a.load(b));
	assert_success(a.engine->register_mem(desc, VRAM, md));
	for (Op op : { WRITE, READ }) {
		/* the pieces of host memory, once prepared, name the GPU's instead */
		Transfer r(a, "bert", op, { { 0, half, half }, { half, 0, half } });

		r.release();
		r.local.mem = VRAM;
		for (MetaDesc &d : r.local.at) {
			d.addr += desc.addr - a.exported().addr;
			d.metadata = md;
		}
		assert_success(a.engine->prepare(op, r.local, r.remote, "bert", r.handle, nullptr));
		if (op == WRITE)
			gpu.set(a.memory.bytes.data());
		else
			fill(b.memory, 99);
		assert_status(r.post("note"), IN_PROG);
		assert_success(r.wait());
		std::vector<uint8_t> moved = gpu.bytes();
		assert_memory_equal(&moved[0], &b.memory.bytes[half], half);
		assert_memory_equal(&moved[half], &b.memory.bytes[0], half);
		assert_int_equal(take_notes(b, 1).size(), 1);
	}
	assert_success(a.engine->deregister_mem(md));
}

/* ---- refusals ---------------------------------------------------------------------- */

static void
what_is_wrong_has_its_code(void **)
{
	Pair p;
	Metadata *md = nullptr;
	BlobDesc desc = p.b.exported();
	nixlabi::Request *handle = nullptr;
	std::vector<Queried> answers;

	assert_true(p.a.info.size() >= 25 && p.a.info.size() <= 1024);
	assert_true(p.a.memory.blob.size() <= 64);
	assert_status(p.a.engine->load_remote(desc, DRAM, "carl", md), NOT_FOUND);
	assert_status(p.a.engine->load_conn_info("carl", "rubbish"), MISMATCH);
	assert_status(p.a.engine->load_conn_info("carl", ""), MISMATCH);
	assert_status(p.a.engine->connect("carl"), NOT_FOUND);
	assert_status(p.a.engine->notify("carl", "hello"), NOT_FOUND);
	desc.blob[desc.blob.size() / 2] ^= 1;
	assert_status(p.a.engine->load_remote(desc, DRAM, "bert", md), MISMATCH);
	assert_status(p.a.engine->register_mem(p.a.exported(), FILE_MEM, md), NOT_SUPPORTED);
	assert_status(p.a.engine->register_mem(p.a.exported(), VRAM, md), NOT_SUPPORTED);
	assert_null(md);
	assert_status(p.a.engine->query({}, answers), NOT_SUPPORTED);
	{
		Transfer far(p.a, "bert", READ, { { 0, MEMORY_BYTES - 10, 11 } });
		assert_status(far.prepared, INVALID_PARAM);
		Transfer before(p.a, "bert", READ, { { 0, static_cast<size_t>(-1), 1 } });
		assert_status(before.prepared, INVALID_PARAM);
	}
	Transfer fine(p.a, "bert", WRITE, { { 0, 0, 10 } });
	assert_status(p.a.engine->prepare(WRITE, fine.local, fine.remote, "carl", handle, nullptr),
		      NOT_FOUND);
	assert_null(handle);
	assert_success(p.a.engine->connect("bert"));
}

struct SecretFile {
	char path[32] = "/tmp/tcpx-nixl-XXXXXX";
	explicit SecretFile(const char *secret)
	{
		int fd = mkstemp(path); /* for its owner alone */

		assert_true(fd >= 0);
		assert_int_equal(write(fd, secret, strlen(secret)), strlen(secret));
		close(fd);
	}
	~SecretFile() { unlink(path); }
};

static void
only_those_with_the_secret_come_in(void **)
{
	SecretFile ours("sixteen bytes and more"), other("another one, also long");
	File file(plugin_path);
	void *ssl = dlopen("libssl.so.3", RTLD_NOW);

	if (!ssl) {
		print_message("# skipped: no libssl.so.3\n");
		skip();
	}
	dlclose(ssl);
	Agent a(file, "anna", { { "TCPX_SECRET_FILE", ours.path } });
	Agent b(file, "bert", { { "TCPX_SECRET_FILE", ours.path } });
	Agent eve(file, "eve", { { "TCPX_SECRET_FILE", other.path } }), none(file, "none");

	assert_success(a.load(b));
	move(a, b, WRITE, { { 0, 0, 100000 } }, "ours");
	for (Agent *stranger : { &eve, &none }) {
		assert_success(stranger->load(b));
		Transfer r(*stranger, "bert", READ, { { 0, 0, 1000 } });
		Status rc = r.post();
		assert_status(rc == IN_PROG ? r.wait() : rc, NOT_ALLOWED);
	}
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_file_tells_what_it_is),
		cmocka_unit_test(under_the_name_of_ucx_it_lists_its_options),
		cmocka_unit_test(parameters_of_others_cost_one_warning),
		cmocka_unit_test(a_wrong_setting_is_no_engine),
		cmocka_unit_test(every_byte_arrives_where_it_belongs),
		cmocka_unit_test(neighbours_of_two_regions_stay_apart),
		cmocka_unit_test(one_agent_is_its_own_peer),
		cmocka_unit_test(a_request_is_posted_again_and_each_note_comes_once),
		cmocka_unit_test(notes_are_bytes_and_their_senders_need_not_be_known),
		cmocka_unit_test(notes_have_any_length),
		cmocka_unit_test(names_have_any_length),
		cmocka_unit_test(memory_of_a_gpu_goes_both_ways),
		cmocka_unit_test(what_is_wrong_has_its_code),
		cmocka_unit_test(only_those_with_the_secret_come_in),
	};

	if (argc < 2)
		return 2;
	plugin_path = argv[1];
	if (argc > 2)
		cmocka_set_test_filter(argv[2]);
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
