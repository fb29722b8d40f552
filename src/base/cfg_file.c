/* SPDX-License-Identifier: Apache-2.0 */
/* Reading files of settings, a line of bounded length at a time. */
#include "base/cfg_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/settings.h"

#define LINE_BYTES   (TCPX_SETTING_TEXT_MAX + 128) /* a value, its name, blanks */
#define SOURCE_BYTES 320
#define BLANKS       " \t\r\n\v\f"

/* Cuts blanks off both ends, in place. */
static char *
trim(char *text)
{
	size_t len;

	text += strspn(text, BLANKS);
	for (len = strlen(text); len && strchr(BLANKS, text[len - 1]); len--)
		text[len - 1] = '\0';
	return text;
}

static void
comment_cut(char *line)
{
	for (char *p = line; *p; p++)
		if (*p == '#' && (p == line || strchr(BLANKS, p[-1]))) {
			*p = '\0';
			return;
		}
}

static int
line_read(char *line, const char *source, tcpx_cfg_line_fn fn, void *arg)
{
	char *equals;

	comment_cut(line);
	line = trim(line);
	if (!*line)
		return 0;
	equals = strchr(line, '=');
	if (!equals || equals == line)
		return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG,
				 "%s: \"%.80s\" is not of the form NAME=value", source,
				 line);
	*equals = '\0';
	return fn(arg, trim(line), trim(equals + 1), source);
}

static int
stream_read(FILE *file, const char *path, tcpx_cfg_line_fn fn, void *arg)
{
	char line[LINE_BYTES];
	char source[SOURCE_BYTES];
	int rc = 0;

	for (unsigned n = 1; !rc && fgets(line, sizeof(line), file); n++) {
		snprintf(source, sizeof(source), "%.280s line %u", path, n);
		if (!strchr(line, '\n') && !feof(file))
			return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG,
					 "%s: longer than %d bytes, or not text", source,
					 LINE_BYTES - 2);
		rc = line_read(line, source, fn, arg);
	}
	if (!rc && ferror(file))
		rc = tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG, "read %s: %s", path,
			       tcpx_err_text(-errno));
	return rc;
}

static int
check_owner(int fd, const char *path, enum tcpx_cfg_place place)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return tcpx_fail_errno(TCPX_SUB_INIT, "stat of %s", path);
	if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode)) /* /dev/null is everybody's */
		return 0;
	if (place != TCPX_CFG_ETC && st.st_uid != 0 && st.st_uid != geteuid())
		return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG, "%s is of user %u: allowed is a file of user "
				 "%u, which this process runs as, or of root; TCPX_CONF_FILE names another, and "
				 "empty none", path, (unsigned)st.st_uid, (unsigned)geteuid());
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG, "%s has mode %04o, and others may write to it: "
				 "chmod go-w %s", path, (unsigned)st.st_mode & 07777u, path);
	return 0;
}

int
tcpx_cfg_file_read(const char *path, enum tcpx_cfg_place place, tcpx_cfg_line_fn fn, void *arg)
{
	/* O_NONBLOCK: the path may be a FIFO */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	FILE *file;
	int rc;

	if (fd < 0 && place != TCPX_CFG_NAMED && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0)
		return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG, "open %s: %s", path,
				 tcpx_err_text(-errno));
	rc = check_owner(fd, path, place);
	file = rc ? NULL : fdopen(fd, "r");
	if (!file) {
		rc = rc ? rc : tcpx_fail_errno(TCPX_SUB_INIT, "open %s", path);
		close(fd);
		return rc;
	}
	rc = stream_read(file, path, fn, arg);
	fclose(file);
	return rc;
}
