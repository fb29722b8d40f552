/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines in NCCL's manner. A process has one sink (the only mutable global of the
 * library): stderr by default, a file (TCPX_DEBUG_FILE, with %h host and %p pid), or the
 * caller's function. Until a level is set, the last two get WARN, and stderr nothing: it is
 * the application's. Levels by the reader's action: ERROR act now, WARN look soon, INFO
 * once per object, DEBUG per set-up event, TRACE per chunk. A descriptor and an application's
 * function get few lines a second (base/log_limit.h), and nobody waits for either; a line says how
 * many were left out.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

enum tcpx_level {
	TCPX_LOG_NONE,
	TCPX_LOG_ERROR,
	TCPX_LOG_WARN,
	TCPX_LOG_INFO,
	TCPX_LOG_DEBUG,
	TCPX_LOG_TRACE
};

enum tcpx_subsys {
	TCPX_SUB_INIT,  /* start, settings               */
	TCPX_SUB_NET,   /* providers, sockets            */
	TCPX_SUB_BOOT,  /* handshake, control stream     */
	TCPX_SUB_CHAN,  /* channels, windows, fences     */
	TCPX_SUB_XFER,  /* transfers, regions, notes     */
	TCPX_SUB_DEV,   /* device memory                 */
	TCPX_SUB_HOST,  /* the machine                   */
	TCPX_SUB_TOOL,  /* the command line tool         */
	TCPX_SUBSYS_COUNT
};

/* A caller's sink: one whole line without newline. Called from any thread. */
typedef void (*tcpx_log_fn)(void *arg, int level, const char *line);

/* Sets levels from the texts of TCPX_DEBUG, TCPX_DEBUG_SUBSYS, TCPX_DEBUG_FILE. NULL, ""
 * or "auto" leaves its part as it is; the first values are NONE, ALL and stderr. Returns 0, or
 * TCPX_ECONFIG naming the bad word: nothing has changed. */
int tcpx_log_setup(const char *level, const char *subsys, const char *file);
/* Replaces the sink by a program's own function, called at once for every line, whatever locks
 * the caller holds; fn NULL goes back to stderr. After the return the old sink is not called any
 * more, so a sink may not call this function. */
void tcpx_log_sink(tcpx_log_fn fn, void *arg);
/* The same for an application's function: within the limit, by a thread that holds no lock. It
 * may call all but this, tcpx_open() and tcpx_close(). */
void tcpx_log_relay(tcpx_log_fn fn, void *arg);
/* For a program's function: writes its words for a line to stderr as the log would, within the
 * limit and without waiting. */
void tcpx_log_put(int level, const char *line);
/* An engine begins, or has ended: then its lines are delivered. */
void tcpx_log_hold(void);
void tcpx_log_release(void);
/* Were lines left out that no line counts yet? Then tcpx_log_tell() is to be called after a
 * second. */
bool tcpx_log_owes(void);
void tcpx_log_tell(void);
/* Is this the first time that the sink is to have this text? For warnings about what every
 * engine of a process finds anew, as a mistyped setting. */
bool tcpx_log_once(const char *text);
bool tcpx_log_on(enum tcpx_level level, enum tcpx_subsys subsys);
void tcpx_log_write(enum tcpx_level level, enum tcpx_subsys subsys, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#define tcpx_log(level, subsys, ...)                                                   \
	do {                                                                           \
		if (tcpx_log_on(level, subsys))                                        \
			tcpx_log_write(level, subsys, __VA_ARGS__);                    \
	} while (0)
#define tcpx_warn(subsys, ...)  tcpx_log(TCPX_LOG_WARN, subsys, __VA_ARGS__)
#define tcpx_info(subsys, ...)  tcpx_log(TCPX_LOG_INFO, subsys, __VA_ARGS__)
#define tcpx_debug(subsys, ...) tcpx_log(TCPX_LOG_DEBUG, subsys, __VA_ARGS__)
#define tcpx_trace(subsys, ...) tcpx_log(TCPX_LOG_TRACE, subsys, __VA_ARGS__)

#endif
