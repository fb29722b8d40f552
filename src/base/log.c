/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log sink, with its relay the only mutable global of the library. Whether a line is wanted
 * costs two relaxed loads. sink.lock is held for reading while a line is delivered, so a replaced
 * sink is never called again. Nothing that waits happens under it but a program's own function.
 */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/log_file.h"
#include "base/log_limit.h"
#include "base/log_relay.h"
#include "base/text.h"

#define LINE_MAX_BYTES 1024
#define HOST_BYTES     65
#define TOLD_MAX       64
#define SUBSYS_ALL     ((1u << TCPX_SUBSYS_COUNT) - 1)

static const struct {
	const char *name;
	enum tcpx_level level;
} levels[] = {
	{ "AUTO", TCPX_LOG_NONE }, /* as it is */
	{ "NONE", TCPX_LOG_NONE },   { "VERSION", TCPX_LOG_NONE },
	{ "ERROR", TCPX_LOG_ERROR }, { "WARN", TCPX_LOG_WARN },
	{ "INFO", TCPX_LOG_INFO },   { "DEBUG", TCPX_LOG_DEBUG },
	{ "TRACE", TCPX_LOG_TRACE },
};

static const char *const level_name[] = {
	[TCPX_LOG_NONE] = "NONE", [TCPX_LOG_ERROR] = "ERROR", [TCPX_LOG_WARN] = "WARN",
	[TCPX_LOG_INFO] = "INFO", [TCPX_LOG_DEBUG] = "DEBUG", [TCPX_LOG_TRACE] = "TRACE",
};

static const char *const subsys_name[TCPX_SUBSYS_COUNT] = {
	[TCPX_SUB_INIT] = "INIT", [TCPX_SUB_NET] = "NET",   [TCPX_SUB_BOOT] = "BOOT",
	[TCPX_SUB_CHAN] = "CHAN", [TCPX_SUB_XFER] = "XFER", [TCPX_SUB_DEV] = "DEV",
	[TCPX_SUB_HOST] = "HOST", [TCPX_SUB_TOOL] = "TOOL",
};

static struct {
	atomic_uint level;
	atomic_uint subsys; /* one bit for each subsystem whose INFO and below is wanted */
	pthread_rwlock_t lock;
	/* guarded by lock */
	tcpx_log_fn fn; /* a program's own; NULL: relayed, or to fd */
	void *arg;
	bool relayed;
	int fd; /* stderr, or a file of our own */
	bool level_set;
	uint32_t told[TOLD_MAX]; /* hashes of the lines of tcpx_log_once() */
	unsigned told_count;
	pthread_mutex_t out_lock; /* lines leave in the order of their passing */
	struct tcpx_log_limit limit; /* guarded by out_lock */
	atomic_bool owes;            /* limit.left_out > 0 */
} sink = {
	.level = TCPX_LOG_NONE,
	.subsys = SUBSYS_ALL,
	.lock = PTHREAD_RWLOCK_INITIALIZER,
	.out_lock = PTHREAD_MUTEX_INITIALIZER,
	.fd = STDERR_FILENO,
};

static void
sink_replace(tcpx_log_fn fn, void *arg, bool relayed, int fd)
{
	bool asked = fn || relayed || fd != STDERR_FILENO;
	int old;

	pthread_rwlock_wrlock(&sink.lock);
	old = sink.fd;
	sink.fn = fn;
	sink.arg = arg;
	sink.relayed = relayed;
	sink.fd = fd;
	sink.told_count = 0;
	sink.limit = (struct tcpx_log_limit){ .left_out = 0 };
	atomic_store(&sink.owes, false);
	if (!sink.level_set) /* who asks for lines gets warnings; stderr is not ours */
		atomic_store(&sink.level, asked ? TCPX_LOG_WARN : TCPX_LOG_NONE);
	pthread_rwlock_unlock(&sink.lock);
	if (old != STDERR_FILENO)
		close(old);
	if (!relayed)
		tcpx_relay_set(NULL, NULL);
}

void
tcpx_log_sink(tcpx_log_fn fn, void *arg)
{
	sink_replace(fn, arg, false, STDERR_FILENO);
}

void
tcpx_log_relay(tcpx_log_fn fn, void *arg)
{
	tcpx_relay_set(fn, arg);
	sink_replace(NULL, NULL, true, STDERR_FILENO);
}


bool
tcpx_log_on(enum tcpx_level level, enum tcpx_subsys subsys)
{
	if (level > atomic_load_explicit(&sink.level, memory_order_relaxed))
		return false;
	if (level <= TCPX_LOG_WARN)
		return true;
	return atomic_load_explicit(&sink.subsys, memory_order_relaxed) >> subsys & 1;
}

/* The host's short name, the start of every line. */
static void
host_read(char host[HOST_BYTES])
{
	if (gethostname(host, HOST_BYTES) < 0)
		host[0] = '\0';
	host[HOST_BYTES - 1] = '\0';
	host[strcspn(host, ".")] = '\0';
}

/* "host:pid:tid TCPX LEVEL SUBSYS ", the start of every line. */
static void
line_begin(char line[LINE_MAX_BYTES], enum tcpx_level level, enum tcpx_subsys subsys)
{
	char host[HOST_BYTES];

	host_read(host);
	snprintf(line, LINE_MAX_BYTES, "%s:%d:%ld TCPX %s %s ", host, (int)getpid(),
		 syscall(SYS_gettid), level_name[level], subsys_name[subsys]);
}

/* One write() a line, so that lines of several processes do not mix. */
static bool
line_out(int level, const char *line)
{
	char text[LINE_MAX_BYTES + 1];
	int len;

	if (sink.relayed)
		return tcpx_relay_put(level, line);
	len = snprintf(text, sizeof(text), "%.*s\n", LINE_MAX_BYTES - 1, line);
	return tcpx_log_file_put(sink.fd, text, (size_t)len);
}

/* Under out_lock: what was left out, if a line about it may pass. */
static void
summary_out(bool last, uint64_t now_ns)
{
	char line[LINE_MAX_BYTES];
	uint64_t span_ns, count = tcpx_log_limit_summary(&sink.limit, last, now_ns, &span_ns);
	size_t len;

	if (!count)
		return;
	line_begin(line, TCPX_LOG_WARN, TCPX_SUB_INIT);
	len = strlen(line);
	snprintf(line + len, sizeof(line) - len, "%llu lines left out in %llu ms: at most %u pass "
		 "in a second, and none that would wait",
		 (unsigned long long)count, (unsigned long long)(span_ns / TCPX_MS), LOG_A_SECOND);
	if (!line_out(TCPX_LOG_WARN, line))
		tcpx_log_limit_lost(&sink.limit, count, now_ns - span_ns);
}

void
tcpx_log_put(int level, const char *line)
{
	bool all = atomic_load_explicit(&sink.level, memory_order_relaxed) >= TCPX_LOG_DEBUG;
	uint64_t now_ns;

	pthread_mutex_lock(&sink.out_lock);
	now_ns = tcpx_clock_now(&tcpx_clock_system);
	summary_out(false, now_ns);
	if ((all || tcpx_log_limit_pass(&sink.limit, level == TCPX_LOG_INFO, now_ns)) &&
	    !line_out(level, line))
		tcpx_log_limit_lost(&sink.limit, 1, now_ns);
	atomic_store_explicit(&sink.owes, sink.limit.left_out > 0, memory_order_relaxed);
	pthread_mutex_unlock(&sink.out_lock);
}

bool
tcpx_log_owes(void)
{
	return atomic_load_explicit(&sink.owes, memory_order_relaxed);
}

static void
tell(bool last)
{
	if (!tcpx_log_owes())
		return;
	pthread_rwlock_rdlock(&sink.lock);
	pthread_mutex_lock(&sink.out_lock);
	summary_out(last, tcpx_clock_now(&tcpx_clock_system));
	atomic_store_explicit(&sink.owes, sink.limit.left_out > 0, memory_order_relaxed);
	pthread_mutex_unlock(&sink.out_lock);
	pthread_rwlock_unlock(&sink.lock);
}

void
tcpx_log_tell(void)
{
	tell(false);
}

void
tcpx_log_hold(void)
{
	tcpx_relay_hold();
}

void
tcpx_log_release(void)
{
	tell(true);
	tcpx_relay_release();
}

static void
line_deliver(enum tcpx_level level, const char *line)
{
	tcpx_log_fn direct = NULL;
	void *arg = NULL;

	pthread_rwlock_rdlock(&sink.lock);
	if (sink.fn)
		sink.fn(sink.arg, level, line);
	else if (!sink.relayed || !tcpx_relay_direct(&direct, &arg))
		tcpx_log_put(level, line);
	pthread_rwlock_unlock(&sink.lock);
	if (direct)
		direct(arg, level, line); /* no engine is open: in the caller's thread, without a lock */
}

void
tcpx_log_write(enum tcpx_level level, enum tcpx_subsys subsys, const char *fmt, ...)
{
	char raw[LINE_MAX_BYTES], line[LINE_MAX_BYTES];
	int saved = errno;
	va_list args;
	size_t len;

	line_begin(raw, level, subsys);
	len = strlen(raw);
	va_start(args, fmt);
	vsnprintf(raw + len, sizeof(raw) - len, fmt, args);
	va_end(args);
	tcpx_text_escape(line, sizeof(line), raw);
	line_deliver(level, line);
	errno = saved;
}

bool
tcpx_log_once(const char *text)
{
	uint32_t hash = (uint32_t)tcpx_hash(0, text, strlen(text));
	bool first = true;

	pthread_rwlock_wrlock(&sink.lock);
	for (unsigned i = 0; i < sink.told_count; i++)
		first &= sink.told[i] != hash;
	if (first && sink.told_count < TOLD_MAX)
		sink.told[sink.told_count++] = hash;
	pthread_rwlock_unlock(&sink.lock);
	return first;
}

/* @level: index into levels */
static int
level_parse(const char *text, size_t *level)
{
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (!strcasecmp(text, levels[i].name)) {
			*level = i;
			return 0;
		}
	return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG,
			 "TCPX_DEBUG \"%.80s\": allowed are auto, NONE, VERSION, ERROR, "
			 "WARN, INFO, DEBUG, TRACE", text);
}

static unsigned
subsys_find(const char *word, size_t len)
{
	if (len == 3 && !strncasecmp(word, "ALL", len))
		return SUBSYS_ALL;
	for (unsigned i = 0; i < TCPX_SUBSYS_COUNT; i++)
		if (strlen(subsys_name[i]) == len && !strncasecmp(word, subsys_name[i], len))
			return 1u << i;
	return 0;
}

/* "NET,BOOT", "ALL", or "^XFER,DEV": all but these. */
static int
subsys_parse(const char *text, unsigned *mask)
{
	bool exclude = *text == '^';
	const char *word = text + exclude;
	unsigned named = 0;

	for (;;) {
		size_t len = strcspn(word, ",");
		unsigned bits = subsys_find(word, len);

		if (!bits)
			return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG,
					 "TCPX_DEBUG_SUBSYS: no subsystem \"%.*s\"; allowed "
					 "are INIT, NET, BOOT, CHAN, XFER, DEV, HOST, TOOL, "
					 "ALL, and ^ in front for all but these",
					 (int)(len < 64 ? len : 64), word);
		named |= bits;
		if (!word[len])
			break;
		word += len + 1;
	}
	*mask = exclude ? SUBSYS_ALL & ~named : named;
	return 0;
}

/* Expands %h host, %p pid, %% percent; other bytes stay. */
static bool
path_expand(const char *text, char path[PATH_MAX])
{
	char host[HOST_BYTES];
	char pid[16];
	size_t n = 0;

	host_read(host);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	for (; *text; text++) {
		char one[2] = { *text, '\0' };
		const char *piece = one;

		if (text[0] == '%' && text[1] && strchr("hp%", text[1])) {
			text++;
			piece = *text == 'h' ? host : *text == 'p' ? pid : "%";
		}
		if (strlen(piece) >= PATH_MAX - n)
			return false;
		strcpy(path + n, piece);
		n += strlen(piece);
	}
	return true;
}

static int
file_open(const char *text, int *fd)
{
	char path[PATH_MAX];

	if (!path_expand(text, path))
		return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG,
				 "TCPX_DEBUG_FILE: path is longer than %d bytes",
				 PATH_MAX - 1);
	*fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (*fd < 0)
		return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG, "TCPX_DEBUG_FILE: open %s: %s",
				 path, tcpx_err_text(-errno));
	return 0;
}

int
tcpx_log_setup(const char *level, const char *subsys, const char *file)
{
	unsigned mask = atomic_load(&sink.subsys);
	size_t at = SIZE_MAX;
	int fd = -1;
	int rc;

	if (level && *level && (rc = level_parse(level, &at)) != 0)
		return rc;
	if (subsys && *subsys && (rc = subsys_parse(subsys, &mask)) != 0)
		return rc;
	if (file && *file && (rc = file_open(file, &fd)) != 0)
		return rc;

	if (fd >= 0)
		sink_replace(NULL, NULL, false, fd);
	atomic_store(&sink.subsys, mask);
	if (at == SIZE_MAX || at == 0)
		return 0;
	pthread_rwlock_wrlock(&sink.lock);
	sink.level_set = true;
	atomic_store(&sink.level, levels[at].level);
	pthread_rwlock_unlock(&sink.lock);
	if (!strcmp(levels[at].name, "VERSION")) /* as NCCL does: this line and no other */
		tcpx_log_write(TCPX_LOG_INFO, TCPX_SUB_INIT,
			       "tcpx-p2p version " TCPX_VERSION);
	return 0;
}
