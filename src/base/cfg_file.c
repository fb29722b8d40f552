/* SPDX-License-Identifier: Apache-2.0 */
/* Reading files of settings, a line of bounded length at a time. */
#include "base/cfg_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
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

int
tcpx_cfg_file_read(const char *path, bool needed, tcpx_cfg_line_fn fn, void *arg)
{
	/* O_NONBLOCK: the path may be a FIFO */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	FILE *file;
	int rc;

	if (fd < 0 && !needed && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0)
		return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG, "open %s: %s", path,
				 tcpx_err_text(-errno));
	file = fdopen(fd, "r");
	if (!file) {
		rc = tcpx_fail_errno(TCPX_SUB_INIT, "open %s", path);
		close(fd);
		return rc;
	}
	rc = stream_read(file, path, fn, arg);
	fclose(file);
	return rc;
}
