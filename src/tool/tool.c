/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages, terminal output and JSON files of the tool. Colour and progress reach a
 * terminal only, so pipes and logs stay clean.
 */
#include "tool/tool.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/parse.h"
#include "base/text.h"
#include "tool/output.h"

/* The library's last failure in this thread, not yet shown: the command that it ends mostly
 * reports it in its own line. */
static char held[512];

static void
warn(const char *text)
{
	tool_progress_clear();
	fprintf(stderr, "%swarning:%s %s\n", tool_paint(stderr, TOOL_YELLOW),
		tool_paint(stderr, TOOL_PLAIN), text);
}

void
tool_log_flush(void)
{
	if (held[0])
		warn(held);
	held[0] = '\0';
}

/* Of an I/O thread, which must not wait for a reader. */
static void
warn_now(int level, const char *text)
{
	char line[1024];

	tool_progress_clear();
	snprintf(line, sizeof(line), "%swarning:%s %s", tool_paint(stderr, TOOL_YELLOW),
		 tool_paint(stderr, TOOL_PLAIN), text);
	tcpx_log_put(level, line);
}

static void
tell(void *arg, int level, const char *line)
{
	char last[sizeof(held)], shown[sizeof(held)];
	const char *text = line;
	size_t len;

	if (tcpx_log_on(TCPX_LOG_INFO, TCPX_SUB_TOOL)) {
		tcpx_log_put(level, line);
		return;
	}
	for (int words = 4; words > 0 && *text; words--) /* host:pid:tid TCPX WARN INIT */
		text += strcspn(text, " ") + (text[strcspn(text, " ")] != '\0');
	if (gettid() != getpid()) {
		warn_now(level, text);
		return;
	}
	tcpx_err_last(last, sizeof(last));
	tcpx_text_escape(shown, sizeof(shown), last);
	len = strlen(shown);
	if (!len || strncmp(text, shown, len)) {
		warn(text);
		return;
	}
	len = strlen(last);
	tool_log_flush();
	memcpy(held, last, len + 1);
}

void
tool_log_start(void)
{
	(void)tcpx_log_setup("WARN", NULL, NULL);
	tcpx_log_sink(tell, NULL);
}

int
tool_fail(int code, const char *command, const char *fmt, ...)
{
	char text[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (held[0] && strstr(text, held))
		held[0] = '\0'; /* once is enough */
	tool_log_flush();
	tool_progress_clear();
	fprintf(stderr, "%s%s%s: %s\n", tool_paint(stderr, TOOL_RED), command,
		tool_paint(stderr, TOOL_PLAIN), text);
	return code;
}

int
tool_fail_last(int code, const char *command, const char *what)
{
	char last[sizeof(held)];

	tcpx_err_last(last, sizeof(last));
	return tool_fail(code, command, "%s: %s", what, last);
}

int
tool_usage(const char *command, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return tool_fail(TOOL_USAGE, command, "%s\nsee %s --help", text, command);
}

void *
tool_need(void *memory)
{
	if (!memory) {
		tool_fail(TOOL_FINDING, "tcpx", "out of memory");
		exit(TOOL_FINDING);
	}
	return memory;
}

const char *
tool_paint(FILE *f, enum tool_colour colour)
{
	static const char *const sequence[] = {
		[TOOL_PLAIN] = "\033[0m", [TOOL_BOLD] = "\033[1m",   [TOOL_DIM] = "\033[2m",
		[TOOL_RED] = "\033[31m",  [TOOL_GREEN] = "\033[32m", [TOOL_YELLOW] = "\033[33m",
		[TOOL_REVERSED] = "\033[7m",
	};
	const char *no_color = getenv("NO_COLOR");

	if ((no_color && *no_color) || !isatty(fileno(f)))
		return "";
	return sequence[colour];
}

void
tool_progress(const char *fmt, ...)
{
	va_list ap;

	if (!isatty(STDERR_FILENO))
		return;
	fputs("\r\033[K", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fflush(stderr);
}

void
tool_progress_clear(void)
{
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

int
tool_writable(const char *command, const char *option, const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	char folder[4096] = ".";
	struct stat st;

	if (!path || !strcmp(path, "-"))
		return TOOL_OK;
	if (stat(path, &st)) { /* it has to be made */
		if (slash)
			snprintf(folder, sizeof(folder), "%.*s",
				 slash == path ? 1 : (int)(slash - path), path);
		path = errno == ENOENT ? folder : path;
	} else if (S_ISDIR(st.st_mode)) {
		return tool_fail(TOOL_USAGE, command, "%s %s: %s", option, path, strerror(EISDIR));
	}
	if (access(path, path == folder ? W_OK | X_OK : W_OK))
		return tool_fail(TOOL_USAGE, command, "%s: cannot write to %s: %s", option, path,
				 strerror(errno));
	return TOOL_OK;
}

int
tool_json_save(const json_t *root, size_t flags, const char *path)
{
	struct output out;
	int rc = output_open(&out, path);

	if (rc < 0)
		return rc;
	return output_close(&out, json_dumpf(root, out.f, flags) < 0 ||
				  fputc('\n', out.f) == EOF);
}

int
tool_json_write(const json_t *root, const char *path)
{
	int rc = tool_json_save(root, JSON_INDENT(2) | JSON_REAL_PRECISION(12), path);

	return rc < 0 ? output_refused("tcpx", path, rc) : TOOL_OK;
}

int
tool_json_put(const char *command, json_t *root, const char *path)
{
	int rc = root ? tool_json_write(root, path)
		      : tool_fail(TOOL_DENIED, command, "no memory for the JSON text");

	json_decref(root);
	return rc;
}

char *
tool_cpu_list(const struct tcpx_cpuset *set)
{
	size_t len = tcpx_cpuset_format(set, NULL, 0) + 1;
	char *list = tool_need(malloc(len));

	tcpx_cpuset_format(set, list, len);
	return list;
}

json_t *
tool_json_cpus(const struct tcpx_cpuset *set)
{
	char *list = tool_cpu_list(set);
	json_t *json = json_string(list);

	free(list);
	return json;
}

const char *
tool_nearest(const char *word, const void *names, size_t count, size_t stride)
{
	size_t least = strlen(word) / 2 + 1; /* a larger distance is no typo */
	const char *best = NULL;

	for (size_t i = 0; i < count; i++) {
		const char *name = *(const char *const *)((const char *)names + i * stride);
		unsigned distance = tcpx_word_distance(word, name);

		if (distance < least) {
			least = distance;
			best = name;
		}
	}
	return best;
}
