/* SPDX-License-Identifier: Apache-2.0 */
/* The noted signal, and the end of the wait that it allows. */
#include "measure/job/stop.h"

#include <signal.h>
#include <stddef.h>

#include "base/clock.h"

#define GRACE_NS (2 * TCPX_SEC) /* for what is under way to end in order */

static volatile sig_atomic_t asked; /* the only variable that the handler sets */
static uint64_t limit_ns;

static const int signals[] = { SIGINT, SIGTERM };

static void
set_all(const struct sigaction *action)
{
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], action, NULL);
}

static void
on_signal(int number)
{
	const struct sigaction usual = { .sa_handler = SIG_DFL };

	asked = number;
	set_all(&usual);
}

void
perf_stop_watch(void)
{
	const struct sigaction action = { .sa_handler = on_signal };

	set_all(&action);
}

int
perf_stop_asked(void)
{
	return asked;
}

uint64_t
perf_stop_limit(uint64_t until_ns)
{
	if (!asked)
		return until_ns;
	if (!limit_ns)
		limit_ns = tcpx_clock_now(&tcpx_clock_system) + GRACE_NS;
	return until_ns < limit_ns ? until_ns : limit_ns;
}
