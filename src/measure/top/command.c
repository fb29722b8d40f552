/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcpx top: running engines, periodically. A terminal gets a screen with keys, any other
 * output one view after the other.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cfg.h"
#include "base/clock.h"
#include "tool/opt.h"
#include "tool/output.h"
#include "tool/json_file.h"
#include "tool/tool.h"
#include "measure/top/top.h"
#include "measure/top/terminal.h"

#define NAME        "tcpx top"
#define PATIENCE_MS 5000

struct wish {
	const char *json, *prometheus;
	struct top_where where;
	uint64_t interval_ns;
	bool once;
};
#define S struct wish

/* ---- writing ---- */

static int
write_prometheus(const json_t *doc, const char *path)
{
	struct tcpx_text t = { .at = NULL };
	char *text;
	int rc;

	top_prometheus(&t, doc);
	if (tcpx_text_detach(&t, &text) < 0)
		return tool_fail(TOOL_DENIED, NAME, "no memory for the text");
	rc = output_text(path, text, strlen(text));
	free(text);
	return rc < 0 ? output_refused(NAME, path, rc) : TOOL_OK;
}

/* ---- one view after the other ---- */

static int
view(const struct wish *w, const json_t *doc)
{
	struct tcpx_text t = { .at = NULL };
	char *text;

	if (!json_array_size(top_list(doc, "engines")))
		tcpx_text_add(&t, "no engine is running\n");
	else
		top_format(&t, doc);
	if (tcpx_text_detach(&t, &text) < 0)
		return tool_fail(TOOL_DENIED, NAME, "no memory for the text");
	printf("%s%s", text, w->once ? "" : "\n");
	fflush(stdout);
	free(text);
	return ferror(stdout) ? TOOL_DENIED : TOOL_OK;
}

/* Stdout has other texts, or a service wants the file alone: no view. */
static bool
no_view(const struct wish *w)
{
	return (w->json && !strcmp(w->json, "-")) || (w->prometheus && !w->json) ||
	       (w->prometheus && !strcmp(w->prometheus, "-"));
}

static int
write_files(const void *wish, const json_t *doc)
{
	const struct wish *w = wish;
	int rc = TOOL_OK;

	if (w->json)
		rc = tool_json_write(NAME, doc, w->json);
	if (rc == TOOL_OK && w->prometheus)
		rc = write_prometheus(doc, w->prometheus);
	return rc;
}

static int
show(const struct wish *w, const json_t *doc)
{
	int rc = write_files(w, doc);

	return rc == TOOL_OK && !no_view(w) ? view(w, doc) : rc;
}

/* ---- looking ---- */

static void
sleep_until(uint64_t at_ns)
{
	struct timespec ts = { (time_t)(at_ns / TCPX_SEC), (long)(at_ns % TCPX_SEC) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

static int
nobody(const struct wish *w, const json_t *doc)
{
	json_t *o;
	size_t i;

	json_array_foreach(top_list(doc, "silent"), i, o)
		tool_fail(TOOL_FINDING, NAME, "%s: %s", top_string(o, "path"), top_string(o, "why"));
	if (w->where.pid)
		return tool_fail(TOOL_FINDING, NAME, "process %lld runs no engine that can be asked",
				 (long long)w->where.pid);
	return tool_fail(TOOL_FINDING, NAME, "no engine is running");
}

static int
look_again_and_again(const struct wish *w)
{
	uint64_t next_ns = tcpx_clock_now(&tcpx_clock_system);
	json_t *before = NULL, *doc = top_look(&w->where);
	bool counters_only = w->prometheus && !w->json;
	int rc = TOOL_OK;

	if (!doc)
		return tool_fail(TOOL_DENIED, NAME, "no memory");
	if (!counters_only && !json_array_size(top_list(doc, "engines"))) {
		if (w->json)
			(void)tool_json_write(NAME, doc, w->json);
		rc = nobody(w, doc);
	} else if (counters_only) {
		rc = show(w, doc); /* counters are shown as they are: one look is enough */
		if (rc == TOOL_OK && w->once && !json_array_size(top_list(doc, "engines")))
			rc = nobody(w, doc);
	}
	if (rc == TOOL_OK && !w->once && !no_view(w) && isatty(STDOUT_FILENO)) {
		json_decref(doc);
		return top_terminal(&w->where, w->interval_ns, write_files, w);
	}
	while (rc == TOOL_OK && !(w->once && (counters_only || before))) {
		next_ns += w->interval_ns;
		sleep_until(next_ns);
		json_decref(before);
		before = doc;
		doc = top_look(&w->where);
		if (!doc) {
			rc = tool_fail(TOOL_DENIED, NAME, "no memory");
			break;
		}
		top_rates(doc, before);
		rc = show(w, doc);
		if (rc == TOOL_OK && w->once && !json_array_size(top_list(doc, "engines")))
			rc = nobody(w, doc);
	}
	json_decref(before);
	json_decref(doc);
	return rc;
}

/* ---- the command line ---- */

/* "1s", "0.5", "200ms": 50 ms to a day. */
static int
take_interval(const struct opt_parser *p, int id, void *args)
{
	struct wish *w = args;
	char *end;
	double v = strtod(p->value, &end);
	bool is_ms = !strcmp(end, "ms");

	v = is_ms ? v / 1000 : v;
	if ((*end && !is_ms && strcmp(end, "s") != 0) || end == p->value || !isfinite(v) ||
	    v < 0.05 || v > 86400)
		return opt_refuse(p, id, "50ms to 86400s");
	w->interval_ns = (uint64_t)(v * 1e9);
	return TOOL_OK;
}

static int
parse_pid(const char *word, int64_t *pid)
{
	char *end;

	*pid = strtoll(word, &end, 10);
	if (*end || end == word || *pid <= 0)
		return tool_usage(NAME, "'%s' is no process id", word);
	return TOOL_OK;
}

static int
take_pid(const struct opt_parser *p, int id, void *args)
{
	struct wish *w = args;

	return parse_pid(p->value, &w->where.pid);
}

/* Copies to @dir the directory that TCPX_STATS names; without one, @dir stays as it is. */
static int
usual_dir(struct wish *w, char *dir, size_t cap)
{
	struct tcpx_cfg *cfg;
	const char *set;

	if (w->where.dir)
		return TOOL_OK;
	if (tcpx_cfg_load_system(NULL, &cfg) < 0)
		return TOOL_USAGE; /* the reason is in the log */
	set = tcpx_cfg_str(cfg, TCPX_SET_STATS);
	if (set[0] == '/') {
		snprintf(dir, cap, "%s", set);
		w->where.dir = dir;
	}
	tcpx_cfg_free(cfg);
	return TOOL_OK;
}

int
cmd_top(int argc, char **argv)
{
	static const struct opt opts[] = {
		{ '1', "once", NULL, "two looks one interval apart, one view, and done",
		  OPT_FLAG(once) },
		{ 'i', "interval", "TIME", "between two looks: 1s, 0.5, 200ms (1s)",
		  OPT_TAKE(take_interval) },
		{ 'p', "pid", "PID", "the engines of this process only, as the word PID does",
		  OPT_TAKE(take_pid) },
		{ 'j', "json", "FILE", "everything as JSON, each time anew; - is stdout, and "
		  "then there is no view", OPT_TEXT(json) },
		{ 0, "prometheus", "FILE", "the counters in Prometheus's text format, each time "
		  "anew and never half; - is stdout. No view", OPT_TEXT(prometheus) },
		{ 0, "dir", "DIR", "look for engines here: what TCPX_STATS names, where it does",
		  OPT_TEXT(where.dir) },
	};
	static const struct opt_command cmd = {
		NAME, "[OPTIONS] [PID]",
		"Shows what running engines do. On a terminal a line for each engine, the busiest "
		"first: arrows choose, Enter opens one (its NICs, GPUs, channels, lanes, threads), Left "
		"goes back, s sorts, i shows idle channels, q quits. Elsewhere, and with --once, "
		"all of it as text. Asks each engine at its "
		"socket, which only its user and root can reach. Root sees the engines of all users. "
		"Exit code 1 when no engine is running.",
		opts, ARRAY_LEN(opts),
		"  tcpx top\n"
		"  tcpx top --once\n"
		"  tcpx top --once --json - 4711\n"
		"  tcpx top --interval 15s --prometheus /var/lib/node_exporter/tcpx.prom\n",
		false, NULL,
	};
	struct wish w = { .interval_ns = TCPX_SEC, .where = { .patience_ms = PATIENCE_MS } };
	char dir[TCPX_SETTING_TEXT_MAX + 1];
	struct opt_parser p;

	if (!opt_read(&p, &cmd, argc, argv, &w))
		return p.exit;
	if (w.json && w.prometheus && !strcmp(w.json, "-") && !strcmp(w.prometheus, "-"))
		return tool_usage(NAME, "--json and --prometheus cannot both have stdout");
	if (opt_words(&p, 1))
		return TOOL_USAGE;
	if (p.first_word < argc && parse_pid(argv[p.first_word], &w.where.pid) != TOOL_OK)
		return TOOL_USAGE;
	if (usual_dir(&w, dir, sizeof(dir)) != TOOL_OK)
		return TOOL_USAGE;
	return look_again_and_again(&w);
}
