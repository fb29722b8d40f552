/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's logger, and the messages that end the process. */
#include "emu/say.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static nccl_logger sink;
static bool strict;
static atomic_flag ending = ATOMIC_FLAG_INIT;

void
emu_say_to(nccl_logger logger)
{
	sink = logger;
}

void
emu_say_strict(bool on)
{
	strict = on;
}

/* Also on stderr, when the process is about to end. */
static void
say(enum nccl_log_level level, bool last, const char *name, const char *fmt, va_list ap)
{
	char text[480], line[560];

	vsnprintf(text, sizeof(text), fmt, ap);
	snprintf(line, sizeof(line), name ? "NET/TCPX-EMU [%s] %s" : "NET/TCPX-EMU %s%s",
		 name ? name : "", text);
	if (sink)
		sink(level, level == NCCL_LOG_WARN ? NCCL_SUBSYS_ALL : NCCL_SUBSYS_NET, __func__, 0,
		     "%s", line);
	if (!sink || last)
		fprintf(stderr, "%s%s\n", last ? "\n" : "", line);
}

void
emu_info(const char *fmt, ...)
{
	va_list ap;

	if (!sink)
		return;
	va_start(ap, fmt);
	say(NCCL_LOG_INFO, false, NULL, fmt, ap);
	va_end(ap);
}

void
emu_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(NCCL_LOG_WARN, false, NULL, fmt, ap);
	va_end(ap);
}

enum nccl_result
emu_refuse(const char *name, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(NCCL_LOG_WARN, false, name, fmt, ap);
	va_end(ap);
	return NCCL_INTERNAL_ERROR;
}

enum nccl_result
emu_misuse(const char *name, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(NCCL_LOG_WARN, strict, name, fmt, ap);
	va_end(ap);
	if (strict)
		abort();
	return NCCL_INTERNAL_ERROR;
}

void
emu_last_word(const char *name, const char *fmt, ...)
{
	char text[480];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "NET/TCPX-EMU [%s] %s\n", name, text);
}

void
emu_fatal(const char *name, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(NCCL_LOG_WARN, true, name, fmt, ap);
	va_end(ap);
	/* in this thread, with all others at work, as the real plugin; and no two at once */
	while (atomic_flag_test_and_set(&ending))
		pause();
	exit(1);
}
