/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages and terminal output of the tool. Colour and progress reach a
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

/* The library's last failure in this thread, not yet shown: the command that it ends mostly
 * reports it in its own line. */
static char held[512];

static bool limited;

void
tool_log_limit(bool on)
{
	limited = on;
}

/* Within the limit, and without waiting for a reader. */
static void
put_now(int level, enum tool_colour colour, const char *head, const char *text)
{
	char line[1024];

	tool_progress_clear();
	snprintf(line, sizeof(line), "%s%s:%s %s", tool_paint(stderr, colour), head,
		 tool_paint(stderr, TOOL_PLAIN), text);
	tcpx_log_put(level, line);
}

static void
warn(const char *text)
{
	if (limited) {
		put_now(TCPX_LOG_WARN, TOOL_YELLOW, "warning", text);
		return;
	}
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
		put_now(level, TOOL_YELLOW, "warning", text); /* it must not wait */
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
	char text[4096], *rest = text, *line;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (held[0] && strstr(text, held))
		held[0] = '\0'; /* once is enough */
	tool_log_flush();
	tool_progress_clear();
	while ((line = strsep(&rest, "\n"))) { /* it may quote a peer, or a file */
		tcpx_text_show(line, strlen(line) + 1, line);
		if (limited) {
			put_now(TCPX_LOG_ERROR, TOOL_RED, command, line);
			continue;
		}
		if (line == text)
			fprintf(stderr, "%s%s%s: ", tool_paint(stderr, TOOL_RED), command,
				tool_paint(stderr, TOOL_PLAIN));
		fprintf(stderr, "%s\n", line);
	}
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
