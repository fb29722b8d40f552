/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/info/nccl_log.h"

#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_BYTES 4096

/* The text behind @mark, up to a blank; false: the line has none. */
static bool
word_after(const char *line, const char *mark, char *out, size_t cap)
{
	const char *at = strstr(line, mark);

	if (!at)
		return false;
	at += strlen(mark);
	snprintf(out, cap, "%.*s", (int)strcspn(at, " \t\r\n,"), at);
	return *out != '\0';
}

/*
 * What NCCL 2.19 to 2.30 writes of a plugin that is not taken: net.cc, plugin/plugin_open.cc, plugin/net.cc
 * and bootstrap.cc. The heaviest line has the reason, and of equal ones the last: NCCL first tries
 * other names, and goes on afterwards. Behind "NET/Plugin" the loader's own words may stand.
 */
enum { HARMLESS, VAGUE, MISSING, LOADER, OURS };

static const struct {
	const char *text;
	int weight;
} lines[] = {
	{ "NCCL WARN NET/tcpx-p2p", OURS },
	{ "Failed to initialize NET plugin tcpx-p2p", LOADER },
	{ "External network plugin", LOADER },
	{ "no socket interface found", LOADER },
	{ "NET/Plugin: Could not find:", MISSING },
	{ "NET/Plugin: No plugin found", MISSING },
	{ "NET/Plugin: Most recent plugin load returned", VAGUE },
	{ "NET/Plugin: Failed to find ncclNetPlugin_v", VAGUE },
	{ "Failed to initialize any NET plugin", VAGUE },
	{ "Error: network ", VAGUE },
	{ "NET/Plugin: Failed to find ncclCollNetPlugin", HARMLESS },
	{ "NET/Plugin: Loaded ", HARMLESS },
	{ "NET/Plugin: Plugin name set by env", HARMLESS },
	{ "NET/Plugin: Using internal", HARMLESS },
	{ "NET/Plugin", LOADER },
};

static int
weigh(const char *line)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (strstr(line, lines[i].text))
			return lines[i].weight;
	return HARMLESS;
}

/* Behind NCCL's own head. */
static const char *
message(const char *line)
{
	const char *at = strstr(line, "NCCL WARN ");

	at = at ? at : strstr(line, "NCCL INFO ");
	return at ? at + strlen("NCCL WARN ") : line;
}

static void
take_line(struct nccl_log *log, const char *line)
{
	const char *text = message(line);
	char word[sizeof(log->version)];
	int weight = weigh(line);

	if (word_after(line, "NCCL version ", word, sizeof(word)))
		snprintf(log->version, sizeof(log->version), "%s", word);
	if (word_after(line, "Using network ", word, sizeof(word))) {
		char *to = *log->net ? log->other : log->net;

		if (strcmp(word, log->net))
			snprintf(to, sizeof(log->net), "%s", word);
	}
	if (weight && weight >= log->weight) {
		log->weight = weight;
		snprintf(log->said, sizeof(log->said), "%.*s", (int)strcspn(text, "\r\n"), text);
	}
}

/* Of the files that match, the one that was written last. */
static void
newest(const char *pattern, char *path, size_t cap)
{
	struct stat st, best = { 0 };
	glob_t found;

	snprintf(path, cap, "%s", pattern);
	if (glob(pattern, 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		if (stat(found.gl_pathv[i], &st) ||
		    (i && (st.st_mtim.tv_sec < best.st_mtim.tv_sec ||
			   (st.st_mtim.tv_sec == best.st_mtim.tv_sec &&
			    st.st_mtim.tv_nsec < best.st_mtim.tv_nsec))))
			continue;
		best = st;
		snprintf(path, cap, "%s", found.gl_pathv[i]);
	}
	globfree(&found);
}

/* As NCCL's debug.cc does; %p may be any process's. */
static void
expand(const char *pattern, char *out, size_t cap)
{
	char host[256] = "", other[3] = "%";
	size_t at = 0;

	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = '\0';
	while (*pattern && at + 1 < cap) {
		const char *text = other;

		if (*pattern != '%' || !pattern[1]) {
			out[at++] = *pattern++;
			continue;
		}
		other[1] = pattern[1] == '%' ? '\0' : pattern[1];
		if (pattern[1] == 'h' || pattern[1] == 'p')
			text = pattern[1] == 'h' ? host : "*";
		at += (size_t)snprintf(out + at, cap - at, "%s", text);
		at = at < cap ? at : cap - 1;
		pattern += 2;
	}
	out[at] = '\0';
}

int
nccl_log_read(const char *pattern, struct nccl_log *out)
{
	char expanded[sizeof(out->path)], *line = malloc(LINE_BYTES);
	FILE *f;

	*out = (struct nccl_log){ 0 };
	if (!line)
		return -ENOMEM;
	expand(pattern, expanded, sizeof(expanded));
	newest(expanded, out->path, sizeof(out->path));
	f = fopen(out->path, "re");
	if (!f) {
		free(line);
		return -errno;
	}
	while (fgets(line, LINE_BYTES, f))
		take_line(out, line);
	fclose(f);
	free(line);
	return 0;
}
