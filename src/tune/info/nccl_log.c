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

/* A line of a plugin that could not be found, loaded or used: the part behind NCCL's own head. */
static bool
is_refusal(const char *line)
{
	return (strstr(line, "NET/Plugin") || strstr(line, "NET/tcpx-p2p")) &&
	       (strcasestr(line, "not find") || strcasestr(line, "failed") ||
		strcasestr(line, "unable") || strstr(line, "NCCL WARN"));
}

static void
take_line(struct nccl_log *log, const char *line)
{
	const char *at = strstr(line, "NET/");
	char word[sizeof(log->version)];

	if (word_after(line, "NCCL version ", word, sizeof(word)))
		snprintf(log->version, sizeof(log->version), "%s", word);
	if (word_after(line, "Using network ", word, sizeof(word)))
		snprintf(log->net, sizeof(log->net), "%s", word);
	if (at && is_refusal(line))
		snprintf(log->said, sizeof(log->said), "%.*s", (int)strcspn(at, "\r\n"), at);
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

static void
expand(const char *pattern, char *out, size_t cap)
{
	char host[256] = "";
	size_t at = 0;

	gethostname(host, sizeof(host) - 1);
	for (; *pattern && at + 1 < cap; pattern++) {
		const char *text = !strncmp(pattern, "%h", 2)   ? host
				   : !strncmp(pattern, "%p", 2) ? "*"
								: NULL;

		at += (size_t)snprintf(out + at, cap - at, "%s%.1s", text ? text : "",
				       text ? "" : pattern);
		at = at < cap ? at : cap - 1;
		pattern += text != NULL;
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
