/* SPDX-License-Identifier: Apache-2.0 */
/* How many log lines may pass in a second. */
#include "base/log_limit.h"

#include "base/clock.h"

/* Those that passed less than a second ago. A time may be older than those before it. */
static uint32_t
recent(const struct tcpx_log_limit *l, uint64_t now_ns)
{
	uint32_t known = l->passed < LOG_A_SECOND ? (uint32_t)l->passed : LOG_A_SECOND, count = 0;

	for (uint32_t i = 0; i < known; i++)
		count += l->at_ns[i] + TCPX_SEC > now_ns;
	return count;
}

static bool
pass(struct tcpx_log_limit *l, uint32_t most, uint64_t now_ns)
{
	if (recent(l, now_ns) >= most)
		return false;
	l->at_ns[l->passed++ % LOG_A_SECOND] = now_ns;
	return true;
}

bool
tcpx_log_limit_pass(struct tcpx_log_limit *l, bool info, uint64_t now_ns)
{
	if (info && l->start < LOG_AT_START) {
		l->start++;
		return true;
	}
	if (pass(l, LOG_A_SECOND - 1, now_ns))
		return true;
	tcpx_log_limit_lost(l, 1, now_ns);
	return false;
}

uint64_t
tcpx_log_limit_summary(struct tcpx_log_limit *l, bool last, uint64_t now_ns, uint64_t *span_ns)
{
	uint64_t count = l->left_out;

	if (!count || (!last && l->since_ns + TCPX_SEC > now_ns) || !pass(l, LOG_A_SECOND, now_ns))
		return 0;
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
