/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many log lines may pass: LOG_A_SECOND of ERROR, WARN and INFO together in any second, however
 * it is laid, the last of them for a summary: strangers fill neither a disk nor a terminal. The first
 * LOG_AT_START lines of INFO are beside that: an engine that starts says much at once. A caller
 * that asks for DEBUG or TRACE gets every line.
 */
#ifndef BASE_LOG_LIMIT_H
#define BASE_LOG_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#define LOG_A_SECOND 10u
#define LOG_AT_START 50u

/* Begin with a zeroed struct. */
struct tcpx_log_limit {
	uint64_t at_ns[LOG_A_SECOND]; /* when the newest lines passed, as a ring   */
	uint64_t passed;    /* summaries included                            */
	uint32_t start;     /* lines of INFO that passed beside it           */
	uint64_t left_out;  /* lines that no summary counts yet              */
	uint64_t since_ns;  /* of the first of them                          */
};

/* May a line pass now? @info: of that level. False: it counts as left out. */
bool tcpx_log_limit_pass(struct tcpx_log_limit *l, bool info, uint64_t now_ns);
/* Lines left out, if a summary of them may pass now, else 0: a second after the first of them, or
 * earlier if this is the @last chance. *span_ns: the time since the first. They count in
 * no other. */
uint64_t tcpx_log_limit_summary(struct tcpx_log_limit *l, bool last, uint64_t now_ns,
				uint64_t *span_ns);
/* A line that passed was lost on its way. */
void tcpx_log_limit_lost(struct tcpx_log_limit *l, uint64_t count, uint64_t now_ns);

#endif
