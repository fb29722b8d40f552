/* SPDX-License-Identifier: Apache-2.0 */
/* Looks through Python's folders of packages and those of libraries; asks a plugin. */
#include "tune/doctor/nixl.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/io.h"
#include "tool/tool.h"
#include "tune/facts/text.h"
#include "tune/info/child.h"

#define NAMES_BYTES (256u << 10)
#define WHEEL_END ".mesonpy.libs"

/* The beginning of what nixl_plugin_init() returns; docs/nixl.md has the versions. */
struct table {
	int api_version;
	void (*create)(void);
	void (*destroy)(void);
	const char *(*name)(void);
	const char *(*version)(void);
};

enum { API_VERSION = 1 };

struct search {
	const struct machine *m;
	struct nixl_place *out;
	unsigned count;
	char *names; /* of a directory */
};

static bool
has(const struct machine *m, const char *dir, const char *file)
{
	char path[768], byte[2];
	int rc;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	rc = tcpx_host_text_read(m->root, path, byte, sizeof(byte));
	return rc >= 0 || rc == -EFBIG || rc == -EACCES;
}

/* Programs that ask for UCX alone get our plugin from a link of that name. */
static const char *
our_file(const struct machine *m, const char *dir)
{
	static const char alias[] = "libplugin_UCX.so";
	char path[768], target[TCPX_IO_PATH];

	if (has(m, dir, NIXL_PLUGIN))
		return NIXL_PLUGIN;
	snprintf(path, sizeof(path), "%s/%s", dir, alias);
	if (tcpx_io_realpath(m->root, path, target) < 0 || !strstr(target, "/" NIXL_PLUGIN))
		return "";
	return alias;
}

/* A folder that is named twice counts once. */
static void
add(struct search *s, const char *dir, const char *package, size_t package_len)
{
	struct nixl_place *p = &s->out[s->count];

	for (unsigned i = 0; i < s->count; i++)
		if (!strcmp(s->out[i].dir, dir))
			return;
	if (s->count == NIXL_PLACES)
		return;
	snprintf(p->dir, sizeof(p->dir), "%s", dir);
	snprintf(p->package, sizeof(p->package), "%.*s", (int)package_len, package);
	snprintf(p->file, sizeof(p->file), "%s", our_file(s->m, dir));
	p->is_there = tcpx_io_is_dir(s->m->root, dir);
	s->count++;
}

/* ".nixl_cu12.mesonpy.libs/plugins" of a folder of packages. */
static void
look_packages(struct search *s, const char *dir)
{
	char plugins[512];

	if (tcpx_host_names_read(s->m->root, dir, s->names, NAMES_BYTES) < 0)
		return;
	for (const char *name = s->names; *name; name += strlen(name) + 1) {
		size_t len = strlen(name), end = strlen(WHEEL_END);

		if (strncmp(name, ".nixl", 5) || len <= end || strcmp(name + len - end, WHEEL_END))
			continue;
		snprintf(plugins, sizeof(plugins), "%.400s/%.64s/plugins", dir, name);
		add(s, plugins, name + 1, len - end - 1);
	}
}

/* lib/python3.11/site-packages and the like below a prefix. */
static void
look_prefix(struct search *s, const char *prefix)
{
	static const char *const kinds[] = { "site-packages", "dist-packages" };
	char lib[300], dir[400], *names = malloc(NAMES_BYTES);

	snprintf(lib, sizeof(lib), "%.250s/lib", prefix);
	if (names && tcpx_host_names_read(s->m->root, lib, names, NAMES_BYTES) >= 0)
		for (const char *name = names; *name; name += strlen(name) + 1)
			for (size_t i = 0; !strncmp(name, "python3", 7) && i < ARRAY_LEN(kinds); i++) {
				snprintf(dir, sizeof(dir), "%s/%.64s/%s", lib, name, kinds[i]);
				look_packages(s, dir);
			}
	free(names);
}

/* What this process's Python would look at. */
static void
look_environment(struct search *s)
{
	static const char *const prefixes[] = { "VIRTUAL_ENV", "CONDA_PREFIX" };
	const char *paths = getenv("PYTHONPATH"), *home = getenv("HOME");
	char dir[512];

	while (paths && *paths) {
		size_t len = strcspn(paths, ":");

		snprintf(dir, sizeof(dir), "%.*s", (int)len, paths);
		if (len)
			look_packages(s, dir);
		paths += len + (paths[len] == ':');
	}
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (getenv(prefixes[i]))
			look_prefix(s, getenv(prefixes[i]));
	if (home) {
		snprintf(dir, sizeof(dir), "%s/.local", home);
		look_prefix(s, dir);
	}
}

/* A libnixl.so has its plugins beside it. */
static void
look_library(struct search *s, const char *dir)
{
	char plugins[512];

	if (!has(s->m, dir, "libnixl.so"))
		return;
	snprintf(plugins, sizeof(plugins), "%.500s/plugins", dir);
	add(s, plugins, "libnixl.so", strlen("libnixl.so"));
}

static const char *const library_dirs[] = {
	"/usr/lib", "/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
	"/usr/local/lib", "/usr/local/lib64", "/usr/local/lib/x86_64-linux-gnu",
	"/usr/local/lib/aarch64-linux-gnu", "/usr/local/nixl/lib", "/usr/local/nixl/lib64",
	"/usr/local/nixl/lib/x86_64-linux-gnu", "/usr/local/nixl/lib/aarch64-linux-gnu",
	"/opt/nvidia/nvda_nixl/lib", "/opt/nvidia/nvda_nixl/lib64",
	"/opt/nvidia/nvda_nixl/lib/x86_64-linux-gnu", "/opt/nvidia/nvda_nixl/lib/aarch64-linux-gnu",
};

bool
nixl_installed(const struct machine *m, char *dir, size_t cap)
{
	for (size_t i = 0; i < ARRAY_LEN(library_dirs); i++) {
		snprintf(dir, cap, "%s/nixl", library_dirs[i]);
		if (has(m, dir, NIXL_PLUGIN))
			return true;
	}
	return false;
}

unsigned
nixl_places(const struct machine *m, struct nixl_place out[NIXL_PLACES])
{
	const char *named = m->here ? getenv("NIXL_PLUGIN_DIR") : NULL;
	struct search s = { .m = m, .out = out };

	if (named && *named) {
		add(&s, named, "NIXL_PLUGIN_DIR", strlen("NIXL_PLUGIN_DIR"));
		return s.count;
	}
	s.names = malloc(NAMES_BYTES);
	if (!s.names)
		return 0;
	if (m->here)
		look_environment(&s);
	look_prefix(&s, "/usr");
	look_prefix(&s, "/usr/local");
	for (size_t i = 0; i < ARRAY_LEN(library_dirs); i++)
		look_library(&s, library_dirs[i]);
	free(s.names);
	return s.count;
}

/* ---- in the child -------------------------------------------------------------------------- */

static void
ask(const char *file, void *out)
{
	struct nixl_answer *a = out;
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	const struct table *(*init)(void);
	const struct table *table;

	if (!library) {
		snprintf(a->why, sizeof(a->why), "%s", dlerror());
		return;
	}
	init = (const struct table *(*)(void))dlsym(library, "nixl_plugin_init");
	if (!init) {
		snprintf(a->why, sizeof(a->why), "it has no nixl_plugin_init()");
		return;
	}
	table = init();
	if (!table || table->api_version != API_VERSION) {
		snprintf(a->why, sizeof(a->why), "its interface is not version %d", API_VERSION);
		return;
	}
	snprintf(a->name, sizeof(a->name), "%s", table->name());
	snprintf(a->version, sizeof(a->version), "%s", table->version());
	a->loads = true;
}

void
nixl_ask(const char *file, struct nixl_answer *out)
{
	char why[sizeof(out->why)];

	*out = (struct nixl_answer){ 0 };
	if (machine_child(ask, file, out, sizeof(*out), why, sizeof(why)))
		return;
	*out = (struct nixl_answer){ 0 };
	snprintf(out->why, sizeof(out->why), "%s", why);
}
