/* SPDX-License-Identifier: Apache-2.0 */
/* Finding libhwloc. */
#include "tune/plan/hwloc_api.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "tool/tool.h"

#define SYMBOL(name, result, params) { "hwloc_" #name, offsetof(struct hwloc_api, name) },

static const struct wanted {
	const char *symbol;
	size_t offset; /* of the pointer in struct hwloc_api */
} wanted[] = { HWLOC_SYMBOLS(SYMBOL) };

static int
find_symbols(const char *command, struct hwloc_api *api)
{
	unsigned version;

	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		void *address = dlsym(api->library, wanted[i].symbol);

		if (!address)
			return tool_fail(TOOL_DENIED, command, "%s has no %s", HWLOC_LIBRARY,
					 wanted[i].symbol);
		memcpy((char *)api + wanted[i].offset, &address, sizeof(address));
	}
	version = api->get_api_version();
	return version >> 16 == 2 ? TOOL_OK
		: tool_fail(TOOL_DENIED, command, "%s has version 0x%x of its interface; 2 is "
			    "understood", HWLOC_LIBRARY, version);
}

int
hwloc_api_load(const char *command, struct hwloc_api *api)
{
	int rc;

	api->library = dlopen(HWLOC_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!api->library) {
		const char *why = dlerror();

		return tool_fail(TOOL_DENIED, command, "texts of hwloc are read by its library (%s); "
				 "install the package %s", why ? why : HWLOC_LIBRARY,
				 HWLOC_PACKAGE);
	}
	rc = find_symbols(command, api);
	if (rc)
		hwloc_api_unload(api);
	return rc;
}

void
hwloc_api_unload(struct hwloc_api *api)
{
	dlclose(api->library);
	memset(api, 0, sizeof(*api));
}
