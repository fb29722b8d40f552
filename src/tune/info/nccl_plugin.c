/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/info/nccl_plugin.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/tool.h"
#include "tune/info/child.h"

#define OLDEST 6 /* tables that NCCL 2.19 and newer ask for are v6 to v12 */
#define NEWEST 12

/* ---- in the child ---- */

static void *
open_as_nccl(const char *value)
{
	void *library = dlopen(value, RTLD_NOW | RTLD_LOCAL);
	char name[300];

	if (library || strchr(value, '/'))
		return library;
	snprintf(name, sizeof(name), "libnccl-net-%.250s.so", value);
	return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

static void
ask(const char *value, void *out)
{
	struct nccl_plugin *p = out;
	struct link_map *map = NULL;
	void *library = open_as_nccl(value);
	const char *text = library ? NULL : dlerror();
	char symbol[32];

	if (!library) {
		snprintf(p->why, sizeof(p->why), "%s", text ? text : "it cannot be loaded");
		return;
	}
	p->loads = true;
	p->ours = dlsym(library, "tcpx_nccl_plugin") != NULL;
	if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map->l_name)
		snprintf(p->path, sizeof(p->path), "%s", map->l_name);
	for (int v = OLDEST; v <= NEWEST; v++) {
		snprintf(symbol, sizeof(symbol), "ncclNetPlugin_v%d", v);
		if (!dlsym(library, symbol))
			continue;
		p->oldest = p->oldest ? p->oldest : v;
		p->newest = v;
	}
}

/* ---- in the tool ---- */

void
nccl_plugin_ask(const char *value, struct nccl_plugin *out)
{
	char why[sizeof(out->why)];

	*out = (struct nccl_plugin){ 0 };
	if (machine_child(ask, value, out, sizeof(*out), why, sizeof(why)))
		return;
	*out = (struct nccl_plugin){ 0 };
	snprintf(out->why, sizeof(out->why), "%s", why);
}

bool
nccl_plugin_file(char *file, size_t cap)
{
	/* of a build, of `make install` and the packages, from the program's folder */
	static const char *const places[] = { "src/nccl/", "../lib/x86_64-linux-gnu/",
					      "../lib/aarch64-linux-gnu/", "../lib64/", "../lib/" };
	char own[400], path[512], *slash;
	ssize_t len = readlink("/proc/self/exe", own, sizeof(own) - 1);

	own[len > 0 ? len : 0] = '\0';
	slash = strrchr(own, '/');
	if (!slash)
		return false;
	slash[1] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		char *real;

		snprintf(path, sizeof(path), "%s%s%s", own, places[i], NCCL_PLUGIN);
		real = realpath(path, NULL);
		if (!real)
			continue;
		snprintf(file, cap, "%s", real);
		free(real);
		return true;
	}
	return false;
}
