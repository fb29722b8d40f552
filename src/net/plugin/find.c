/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of plugins. The list and the second spelling follow NCCL (src/plugin/net.cc and
 * plugin_open.cc there). The last of the usual names is the place where Google's installer puts
 * its plugin.
 */
#include "net/plugin/find.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const usual[] = {
	"libnccl-net.so",
	"/usr/local/tcpx/lib64/libnccl-net-tcpx.so",
};

static void
add(struct plug_names *names, const char *head, const char *text, size_t len, const char *tail)
{
	if (names->count == PLUG_NAMES ||
	    strlen(head) + len + strlen(tail) >= PLUG_NAME_BYTES)
		return;
	snprintf(names->name[names->count++], PLUG_NAME_BYTES, "%s%.*s%s", head, (int)len, text,
		 tail);
}

static void
add_spellings(struct plug_names *names, const char *text, size_t len)
{
	bool library = len >= 6 && !memcmp(text, "lib", 3) && !memcmp(text + len - 3, ".so", 3);

	if (len == 0)
		return;
	add(names, "", text, len, "");
	if (!library && !memchr(text, '/', len))
		add(names, "libnccl-net-", text, len, ".so");
}

int
plug_names_init(struct plug_names *names, const char *path, const char *ours, const char *nccl)
{
	names->count = 0;
	if (path && *path) {
		names->source = "the given path";
		if (!strcasecmp(path, "none"))
			return -ENODEV;
		add_spellings(names, path, strlen(path));
		return 0;
	}
	if (ours && *ours) {
		names->source = "TCPX_PLUGIN_PATH";
		if (!strcasecmp(ours, "none"))
			return -ENODEV;
		add_spellings(names, ours, strlen(ours));
		return 0;
	}
	if (nccl && *nccl) {
		names->source = "NCCL_NET_PLUGIN";
		if (!strcasecmp(nccl, "none"))
			return -ENODEV;
		for (size_t len; *nccl; nccl += len + (nccl[len] == ',')) {
			len = strcspn(nccl, ",");
			add_spellings(names, nccl, len);
		}
		return 0;
	}
	names->source = "the usual places";
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		add(names, "", usual[i], strlen(usual[i]), "");
	return 0;
}

static bool
has_tcpx(const char *text)
{
	return text && strcasestr(text, "tcpx");
}

bool
plug_is_tcpx(const char *name, const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return has_tcpx(name) || has_tcpx(slash ? slash + 1 : path);
}

bool
plug_chunk_is_set(const char *text)
{
	char *end;
	long long value;

	if (!text || !*text)
		return false;
	errno = 0;
	value = strtoll(text, &end, 0);
	return errno == 0 && *end == '\0' && value > 0 && value <= INT_MAX;
}
