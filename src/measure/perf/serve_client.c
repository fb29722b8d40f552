/* SPDX-License-Identifier: Apache-2.0 */
/* A client of `tcpx serve`: whether it is here, words to it and about it, the end of its
 * run. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "base/clock.h"
#include "measure/perf/events.h"
#include "measure/perf/serve.h"
#include "tool/tool.h"

bool
client_is_here(const struct client *g)
{
	struct tcpx_peer_info info = { .struct_size = offsetof(struct tcpx_peer_info, channels_tx) }; /* and quickly */

	return !tcpx_peer_query(g->peer, &info) && !info.status;
}

int
client_say(struct client *g, const char *type, json_t *msg)
{
	if (client_is_here(g))
		return job_send(g->peer, type, msg);
	json_decref(msg);
	return TCPX_EPEERGONE;
}

void
client_stop_run(struct client *g)
{
	g->run.on = false;
	thread_release(&g->placed);
	for (uint64_t i = 0; i < JOB_DEPTH_MAX; i++) {
		tcpx_xfer_free(g->recv[i]);
		tcpx_xfer_free(g->send[i]);
		g->recv[i] = g->send[i] = NULL;
	}
}

void
client_fail(struct serve *s, struct client *g, const char *what, int rc)
{
	char last[256], text[384];

	tcpx_err_last(last, sizeof(last));
	snprintf(text, sizeof(text), "%s: %s%s%s (%s)", what, tcpx_strerror(rc), last[0] ? ": " : "",
		 last, tcpx_strerror_name(rc));
	tool_fail(TOOL_FINDING, "tcpx serve", "client %s: %s", g->shown, text);
	events_put(s->events, g->had_job ? "error" : "refused",
		   json_pack("{s:s, s:s}", "peer", g->shown, "text", text));
	s->refused += !g->had_job;
	g->failed = true;
	client_stop_run(g);
	if (client_say(g, "error", json_pack("{s:s}", "text", text)))
		return; /* it has gone: serve_sweep() drops it */
}

void
serve_print(struct serve *s, const char *fmt, ...)
{
	uint64_t now_ns = tcpx_clock_now(&tcpx_clock_system);
	va_list ap;

	if (s->quiet)
		return;
	s->line_ns = now_ns;
	if (!tcpx_log_limit_pass(&s->lines, true, now_ns))
		return;
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	fflush(stdout);
}

void
serve_print_more(struct serve *s, bool last)
{
	uint64_t now_ns = tcpx_clock_now(&tcpx_clock_system), span_ns;
	uint64_t count = tcpx_log_limit_summary(&s->lines, last, now_ns, &span_ns);

	if (!count)
		return;
	printf("%" PRIu64 " more lines about clients in %" PRIu64 " ms\n", count, (uint64_t)(span_ns / TCPX_MS));
	fflush(stdout);
}
