/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding engines: directories, their sockets, and each engine's answer. All are asked
 * before any answer is waited for, so an engine that hangs costs its time once.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/stats_port.h"
#include "measure/top/top.h"

#define ENGINES_MAX 1024 /* asked at the same time */
#define DIRS_MAX    64   /* remembered, since one directory may have several names */
#define DRAFT_S     60   /* age in seconds of a stale socket without its final name */

struct asked {
	int conn;
	char path[TCPX_STATS_PATH];
};

struct search {
	const struct top_where *where;
	json_t *engines, *silent;
	struct asked asked[ENGINES_MAX];
	unsigned count;
	struct {
		dev_t dev;
		ino_t ino;
	} seen[DIRS_MAX];
	unsigned seen_count;
};

static void
silent(struct search *s, const char *path, const char *why)
{
	json_array_append_new(s->silent, json_pack("{s:s, s:s}", "path", path, "why", why));
}

static void
remove_old_draft(int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(st.st_mode) &&
	    st.st_ctime < time(NULL) - DRAFT_S)
		unlinkat(dir, name, 0);
}

static void
ask(struct search *s, const char *dir, int dir_fd, const char *name)
{
	struct asked *a = &s->asked[s->count];
	int n = snprintf(a->path, sizeof(a->path), "%s/%s", dir, name);

	if (n < 0 || n >= (int)sizeof(a->path) || s->count == ENGINES_MAX)
		return;
	a->conn = tcpx_stats_ask(a->path);
	if (a->conn >= 0)
		s->count++;
	else if (a->conn == -ECONNREFUSED) /* a socket gets its name when it listens, so
					    * this engine is dead */
		unlinkat(dir_fd, name, 0);
	else if (a->conn != -ENOENT)
		silent(s, a->path, strerror(-a->conn));
}

static bool
seen_before(struct search *s, const struct stat *st)
{
	unsigned i;

	for (i = 0; i < s->seen_count; i++)
		if (s->seen[i].dev == st->st_dev && s->seen[i].ino == st->st_ino)
			return true;
	if (i < DIRS_MAX) {
		s->seen[i].dev = st->st_dev;
		s->seen[i].ino = st->st_ino;
		s->seen_count++;
	}
	return false;
}

/* Only the owner may put sockets there, and the owner must be us, unless we are root.
 * Returns the reason against it, "" for a directory already searched, or NULL. */
static const char *
distrust(struct search *s, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return strerror(errno);
	if (seen_before(s, &st))
		return "";
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return "others may write to it";
	return st.st_uid == geteuid() || geteuid() == 0 ? NULL : "it belongs to another user";
}

static void
search_dir(struct search *s, const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const char *why = fd < 0 ? (errno == ENOENT ? NULL : strerror(errno)) : distrust(s, fd);
	struct dirent *entry;
	int64_t pid;
	bool draft;
	DIR *d;

	if (why && *why)
		silent(s, dir, why);
	d = fd >= 0 && !why ? fdopendir(fd) : NULL;
	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(d))) {
		pid = tcpx_stats_name(entry->d_name, &draft);
		if (!pid || (s->where->pid && pid != s->where->pid))
			continue;
		if (draft)
			remove_old_draft(dirfd(d), entry->d_name);
		else
			ask(s, dir, dirfd(d), entry->d_name);
	}
	closedir(d);
}

static void
search_pattern(struct search *s, const char *pattern)
{
	glob_t found;
	size_t k;

	if (glob(pattern, 0, NULL, &found) == 0)
		for (k = 0; k < found.gl_pathc; k++)
			search_dir(s, found.gl_pathv[k]);
	globfree(&found);
}

/* Searches the usual directories of this user's engines, for any environment; root searches
 * those of all users. */
static void
search_usual(struct search *s)
{
	char dir[TCPX_STATS_PATH];
	unsigned i;

	for (i = 0; tcpx_stats_candidate(i, dir); i++)
		if (dir[0])
			search_dir(s, dir);
	if (geteuid() == 0) {
		search_pattern(s, "/run/user/[0-9]*/tcpx");
		search_pattern(s, "/tmp/tcpx-[0-9]*");
		return;
	}
	snprintf(dir, sizeof(dir), "/run/user/%u/tcpx", (unsigned)geteuid());
	search_dir(s, dir);
}

static void
take(struct search *s, const struct asked *a, uint64_t end_ns)
{
	uint64_t now_ns = tcpx_clock_now(&tcpx_clock_system);
	int left_ms = now_ns < end_ns ? (int)((end_ns - now_ns) / TCPX_MS) : 0;
	json_t *engine;
	char *text;
	size_t len;
	int rc;

	rc = tcpx_stats_take(a->conn, left_ms, &text, &len);
	if (rc < 0) {
		silent(s, a->path, rc == -ETIMEDOUT ? "no answer: is the process stopped?" :
		       rc == -EACCES ? "hung up: is it closing, or another user's?" : strerror(-rc));
		return;
	}
	engine = json_loadb(text, len, 0, NULL);
	free(text);
	if (json_is_object(engine) && top_number(engine, "schema") == TOP_SCHEMA)
		json_array_append(s->engines, engine);
	else
		silent(s, a->path, engine ? "it speaks another version's language" :
					    "its answer is no JSON");
	json_decref(engine);
}

json_t *
top_look(const struct top_where *where)
{
	struct search *s = calloc(1, sizeof(*s));
	json_t *doc = NULL;
	uint64_t end_ns;
	unsigned i;

	if (!s)
		return NULL;
	s->where = where;
	s->engines = json_array();
	s->silent = json_array();
	end_ns = tcpx_clock_now(&tcpx_clock_system) + (uint64_t)where->patience_ms * TCPX_MS;
	if (where->dir)
		search_dir(s, where->dir);
	else
		search_usual(s);
	for (i = 0; i < s->count; i++)
		take(s, &s->asked[i], end_ns);
	doc = json_pack("{s:i, s:o, s:o}", "schema", TOP_SCHEMA, "engines", s->engines, "silent",
			s->silent);
	free(s);
	return doc;
}
