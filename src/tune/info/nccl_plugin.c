/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/info/nccl_plugin.h"

#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hints.h"
#include "base/parse.h"
#include "net/plugin/nccl_net.h"
#include "tool/tool.h"
#include "tune/info/child.h"

#define OLDEST 6 /* tables that NCCL 2.19 and newer ask for are v6 to v12 */
#define NEWEST 12

#define TYPO 2 /* letters; three make "tcpx-emu" of our name */

#define REASON "no engine: " /* of our plugin's warnings the one that ends its init() */

/* ---- in the child ---- */

/* NCCL takes a path, and a name like libX.so, as they are. */
static bool
is_file_name(const char *name)
{
	size_t len = strlen(name);

	return strchr(name, '/') ||
	       (!strncmp(name, "lib", 3) && len > 3 && !strcmp(name + len - 3, ".so"));
}

static void *
open_as_nccl(const char *name)
{
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	char file[300];

	if (library || is_file_name(name))
		return library;
	snprintf(file, sizeof(file), "libnccl-net-%.250s.so", name);
	return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

static void
look(const char *name, struct nccl_plugin *p)
{
	struct link_map *map = NULL;
	void *library = open_as_nccl(name);
	const char *text = library ? NULL : dlerror();
	char symbol[32];

	*p = (struct nccl_plugin){ .loads = library != NULL };
	snprintf(p->name, sizeof(p->name), "%s", name);
	if (!library) {
		snprintf(p->why, sizeof(p->why), "%s", text ? text : "it cannot be loaded");
		return;
	}
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

/* A logger has no argument: its lines go to this child's stderr, which is a file then. */
static void
log_warning(enum nccl_log_level level, unsigned long subsys, const char *file, int line,
	    const char *fmt, ...)
{
	va_list ap;

	if (level != NCCL_LOG_WARN)
		return;
	va_start(ap, fmt);
	vdprintf(STDERR_FILENO, fmt, ap);
	va_end(ap);
	dprintf(STDERR_FILENO, "\n");
}

/* Its last line, or the one that has the reason. */
static void
read_reason(int fd, char *why, size_t cap)
{
	FILE *f = fdopen(fd, "r");
	char line[600];
	bool found = false;

	if (!f)
		return;
	rewind(f);
	while (!found && fgets(line, sizeof(line), f)) {
		const char *at = strstr(line, REASON);

		found = at != NULL;
		at = at ? at + strlen(REASON) : line;
		snprintf(why, cap, "%.*s", (int)strcspn(at, "\n"), at);
	}
	fclose(f);
}

/* All versions of our file have a table v8. */
static void
start(struct nccl_plugin *p)
{
	void *library = open_as_nccl(p->name);
	const struct nccl_net_v8 *table = library ? dlsym(library, "ncclNetPlugin_v8") : NULL;
	int fd = memfd_create("said", MFD_CLOEXEC), count = 0;
	enum nccl_result result;

	if (!table || fd < 0 || dup2(fd, STDERR_FILENO) < 0) {
		snprintf(p->why, sizeof(p->why), "its init() could not be called");
		return;
	}
	result = table->init(log_warning);
	if (result == NCCL_OK)
		result = table->devices(&count);
	p->starts = result == NCCL_OK && count > 0;
	if (!p->starts) {
		snprintf(p->why, sizeof(p->why), "its init() ends with %d", (int)result);
		read_reason(fd, p->why, sizeof(p->why));
	}
}

static void
ask(const char *value, void *out)
{
	struct nccl_plugin *chosen = out, p;
	char *list = strdup(value), *rest = list, *name, before[sizeof(p.before)] = "";
	struct tcpx_hints files;

	if (tcpx_hints_read(&files, environ) || tcpx_hints_export(&files))
		return;
	while (list && !chosen->ours && (name = strsep(&rest, ",")) != NULL) {
		if (!*name)
			continue;
		look(name, &p);
		if (p.ours || !*chosen->name ||
		    (nccl_plugin_meant(name) && !nccl_plugin_meant(chosen->name)))
			*chosen = p;
		if (p.ours)
			snprintf(chosen->before, sizeof(chosen->before), "%s", before);
		else if (p.newest && !*before)
			snprintf(before, sizeof(before), "%s", name);
	}
	free(list);
	if (chosen->ours)
		start(chosen);
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
nccl_plugin_meant(const char *name)
{
	const char *slash = strrchr(name, '/');
	char file[512];

	snprintf(file, sizeof(file), "%s/%s", name, NCCL_PLUGIN);
	if (access(file, F_OK) == 0)
		return true;
	if (slash)
		name = slash + 1;
	return (strcasestr(name, "tcpx") && strcasestr(name, "p2p")) ||
	       tcpx_word_distance(name, NCCL_PLUGIN_NAME) <= TYPO;
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
