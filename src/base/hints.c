/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hints.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#define ETC_FILE    "/etc/nccl.conf"
#define HOME_FILE   ".nccl.conf"
#define TEXT_MAX    1023 /* bytes of a name or a value; NCCL cuts longer ones */
#define LINES_MAX   65536
#define NAMES_MAX   16   /* MAX_IFS of NCCL */
#define NAME_BYTES  46   /* of an entry of TCPX_NICS; no interface's name is as long */

const char *
tcpx_env_find(char *const *env, const char *name)
{
	size_t len = strlen(name);

	for (; env && *env; env++)
		if (!strncmp(*env, name, len) && (*env)[len] == '=')
			return *env + len + 1;
	return NULL;
}

/* ---- files ---- */

static int
keep(struct tcpx_hints *h, const char *name, const char *value, const char *file, unsigned line)
{
	struct tcpx_hint *more = reallocarray(h->at, h->count + 1, sizeof(*more)), *to;
	char source[PATH_MAX + TEXT_MAX + 32];

	if (!more)
		return -ENOMEM;
	h->at = more;
	to = &more[h->count++];
	snprintf(source, sizeof(source), "%s (%s line %u)", name, file, line);
	*to = (struct tcpx_hint){ strdup(name), strdup(value), strdup(source) };
	return to->name && to->value && to->source ? 0 : -ENOMEM;
}

/* Reads a line without its end; of a longer one the beginning. False: there is none. */
static bool
line_read(FILE *f, char *line, size_t cap)
{
	int c = fgetc(f);
	size_t len = 0;

	if (c == EOF)
		return false;
	for (; c != EOF && c != '\n'; c = fgetc(f))
		if (len + 1 < cap)
			line[len++] = (char)c;
	line[len] = '\0';
	return true;
}

static int
lines_add(struct tcpx_hints *h, FILE *f, const char *file)
{
	char line[2 * TEXT_MAX + 2];
	int rc = 0;

	for (unsigned n = 1; rc == 0 && n <= LINES_MAX && line_read(f, line, sizeof(line)); n++) {
		char *equals = strchr(line, '=');

		if (*line == '#' || !equals || equals == line)
			continue;
		*equals++ = '\0';
		line[strnlen(line, TEXT_MAX)] = '\0';
		equals[strnlen(equals, TEXT_MAX)] = '\0';
		rc = keep(h, line, equals, file, n);
	}
	return rc;
}

int
tcpx_hints_add(struct tcpx_hints *h, const char *file)
{
	/* O_NONBLOCK: the path may be a FIFO, which is no file of settings */
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc;
	struct stat st;
	FILE *f = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? fdopen(fd, "r") : NULL;

	if (!f) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	rc = lines_add(h, f, file);
	fclose(f);
	return rc;
}

/* Writes the path of ~/.nccl.conf; false: the user has no home. NCCL asks the password
 * file, which may be slow; HOME says the same wherever nobody has changed it. */
static bool
home_file(char *const *env, char *path, size_t cap)
{
	const char *home = tcpx_env_find(env, "HOME");

	return home && *home && (size_t)snprintf(path, cap, "%s/" HOME_FILE, home) < cap;
}

int
tcpx_hints_read(struct tcpx_hints *h, char *const *env)
{
	/* a setuid program has more rights than who has started it, and named the file */
	bool theirs = env && !getauxval(AT_SECURE);
	const char *named = theirs ? tcpx_env_find(env, "NCCL_CONF_FILE") : NULL;
	char home[PATH_MAX];
	int rc = 0;

	*h = (struct tcpx_hints){ 0 };
	if (named && *named)
		rc = tcpx_hints_add(h, named);
	else if (theirs && home_file(env, home, sizeof(home)))
		rc = tcpx_hints_add(h, home);
	if (rc == 0)
		rc = tcpx_hints_add(h, ETC_FILE);
	if (rc)
		tcpx_hints_free(h);
	return rc;
}

void
tcpx_hints_free(struct tcpx_hints *h)
{
	for (size_t i = 0; i < h->count; i++) {
		free(h->at[i].name);
		free(h->at[i].value);
		free(h->at[i].source);
	}
	free(h->at);
	*h = (struct tcpx_hints){ 0 };
}

const char *
tcpx_hints_find(const struct tcpx_hints *h, char *const *env, const char *name,
		const char **source)
{
	const char *value = tcpx_env_find(env, name);

	*source = name;
	for (size_t i = 0; h && !value && i < h->count; i++) {
		if (strcmp(h->at[i].name, name) != 0)
			continue;
		value = h->at[i].value;
		*source = h->at[i].source;
	}
	return value;
}

int
tcpx_hints_export(const struct tcpx_hints *h)
{
	for (size_t i = 0; i < h->count; i++)
		if (setenv(h->at[i].name, h->at[i].value, 0))
			return -ENOMEM;
	return 0;
}

/* ---- lists of NICs ---- */

const char *
tcpx_hint_nics(const char *list, char *out, size_t cap)
{
	const char *at = list + (*list == '^');
	int signs = (int)(at - list) + (*at == '=');
	size_t len = 0;

	*out = '\0';
	at = list + signs;
	for (unsigned count = 0; list[0] && list[1] && count < NAMES_MAX; at += strcspn(at, ",")) {
		int name;
		bool skipped;

		at += strspn(at, ",");
		name = (int)strcspn(at, ":,");
		skipped = !count && at != list + signs;
		if (!*at || len + (size_t)name + 5 > cap)
			break;
		if (!name)
			continue;
		/* "/", which no NIC's name has, keeps the name's sign from being one of the
		 * list */
		len += (size_t)snprintf(out + len, cap - len, "%s%.*s%s%.*s", count ? "," : "",
					count ? 0 : signs, list, skipped && strchr("^=", *at) ? "/" : "",
					name < NAME_BYTES ? name : NAME_BYTES, at);
		count++;
	}
	return out;
}
