/* SPDX-License-Identifier: Apache-2.0 */
/* How many log lines may pass in a second. */
#include "base/log_limit.h"

#include "base/clock.h"

static void
turn(struct tcpx_log_limit *l, uint64_t now_ns)
{
	if (l->second_ns && now_ns - l->second_ns < TCPX_SEC)
		return;
	l->second_ns = now_ns;
	l->passed = 0;
}

bool
tcpx_log_limit_pass(struct tcpx_log_limit *l, bool info, uint64_t now_ns)
{
	turn(l, now_ns);
	if (info && l->start < LOG_AT_START) {
		l->start++;
		return true;
	}
	if (l->passed < LOG_A_SECOND - 1) {
		l->passed++;
		return true;
	}
	tcpx_log_limit_lost(l, 1, now_ns);
	return false;
}

uint64_t
tcpx_log_limit_summary(struct tcpx_log_limit *l, bool last, uint64_t now_ns, uint64_t *span_ns)
{
	uint64_t count = l->left_out;

	turn(l, now_ns);
	if (!count || l->passed >= (last ? LOG_A_SECOND : 1))
		return 0;
	l->passed++;
	l->left_out = 0;
	*span_ns = now_ns - l->since_ns;
	return count;
}

void
tcpx_log_limit_lost(struct tcpx_log_limit *l, uint64_t count, uint64_t now_ns)
{
	if (!l->left_out)
		l->since_ns = now_ns;
	l->left_out += count;
}
