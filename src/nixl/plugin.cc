/* SPDX-License-Identifier: Apache-2.0 */
/* The two functions that NIXL's core looks up in the file, and the table that one returns. */
#include <dlfcn.h>

#include <cstring>
#include <new>

#include "nixl/engine.h"
#include "nixl/params.h"
#include "nixl/say.h"

using namespace nixlabi;

/* NAME of libplugin_NAME.so, as which the file was loaded: some callers know UCX alone. */
static std::string
own_name()
{
	static const char prefix[] = "libplugin_";
	Dl_info info = {};
	std::string name = "TCPX";
	const char *file;

	if (!dladdr(reinterpret_cast<void *>(own_name), &info) || !info.dli_fname)
		return name;
	file = std::strrchr(info.dli_fname, '/');
	file = file ? file + 1 : info.dli_fname;
	if (std::strncmp(file, prefix, sizeof(prefix) - 1) == 0)
		name = file + sizeof(prefix) - 1;
	return name.substr(0, name.find('.'));
}

static Engine *
create(const InitParams *params)
{
	try {
		return new TcpxNixlEngine(*params, tcpx_nixl_options(own_name()));
	} catch (...) {
		tcpx_nixl_warn("no engine: out of memory");
		return nullptr;
	}
}

static void
destroy(Engine *engine)
{
	delete engine;
}

static const char *
name()
{
	static const std::string own = own_name();

	return own.c_str();
}

static Params
options()
{
	return tcpx_nixl_options(own_name());
}

static Mems
mems()
{
	return { DRAM, VRAM };
}

extern "C" {

__attribute__((visibility("default"))) Plugin *
nixl_plugin_init()
{
	static Plugin plugin = { API_VERSION, create, destroy, name, tcpx_version, options, mems };

	return &plugin;
}

/* The file may be initialised again: nothing was begun. */
__attribute__((visibility("default"))) void
nixl_plugin_fini()
{
}
}
