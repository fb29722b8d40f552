/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of our plugin for NCCL: in this environment, and in the log of a job. */
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/hints.h"
#include "tool/tool.h"
#include "tune/doctor/checks.h"
#include "tune/info/nccl_log.h"
#include "tune/info/nccl_plugin.h"

/* A variable of NCCL's, wherever NCCL finds it. */
struct variable {
	const char *value;  /* NULL: not set, or empty            */
	const char *source; /* its name, with the line of a file  */
};

static struct variable
variable(const struct tcpx_hints *files, const char *name)
{
	struct variable v = { .source = name };

	v.value = tcpx_hints_find(files, environ, name, &v.source);
	if (v.value && !*v.value)
		v.value = NULL;
	return v;
}

/* From which version of NCCL on it takes such a value: v2.20.5 net.cc, v2.21.5 net.cc, v2.27.3 and
 * v2.27.5 plugin/plugin_open.cc. */
static const char *
limits(const char *value)
{
	size_t len = strlen(value);

	if (strchr(value, ','))
		return "; NCCL before 2.27 takes no list";
	if (strchr(value, '/'))
		return "; NCCL before 2.21, and 2.27.3, take no path";
	return len > 3 && !strcmp(value + len - 3, ".so") ? "; NCCL before 2.21 takes no name of a file" : "";
}

/* The network of another plugin that NCCL_NET chooses; without a value: none. */
static struct variable
another_net(const struct tcpx_hints *files)
{
	struct variable net = variable(files, "NCCL_NET");

	if (net.value && strcasecmp(net.value, NCCL_PLUGIN_NAME) == 0)
		net.value = NULL;
	return net;
}

static void
judge(const struct tcpx_hints *files, const struct variable *plugin, const struct nccl_plugin *p,
      struct check_result *r)
{
	struct variable net = another_net(files);
	bool misspelt = strcmp(p->name, NCCL_PLUGIN_NAME) != 0;

	if (!p->ours)
		check_finding(r, "%.200s is %.100s: %s%s", plugin->source, plugin->value,
			      p->loads ? "it is no plugin of NCCL's" : p->why,
			      misspelt ? "; the plugin's name is " NCCL_PLUGIN_NAME : "");
	else if (net.value)
		check_finding(r, "%.200s is %.60s, and NCCL takes no other net: unset it, or "
			      "NCCL_NET=" NCCL_PLUGIN_NAME, net.source, net.value);
	else if (*p->before && !variable(files, "NCCL_NET").value)
		check_finding(r, "%.200s is %.100s: NCCL takes %.200s first; NCCL_NET=" NCCL_PLUGIN_NAME
			      " chooses ours", plugin->source, plugin->value, p->before);
	else if (!p->starts)
		check_finding(r, "%s does not start: %s", p->path, p->why);
	else
		check_ok(r, "%s, for NCCL's tables v%d to v%d%s", p->path, p->oldest, p->newest,
			 limits(plugin->value));
}

/* As NCCL does. */
static void
ask_plugin(const struct tcpx_hints *files, struct check_result *r)
{
	struct variable plugin = variable(files, "NCCL_NET_PLUGIN");
	struct nccl_plugin p;

	if (!plugin.value) {
		check_skip(r, "NCCL_NET_PLUGIN is not set: tcpx env nccl prints it");
		return;
	}
	nccl_plugin_ask(plugin.value, &p);
	if (p.ours || nccl_plugin_meant(p.name))
		judge(files, &plugin, &p, r);
	else
		check_skip(r, "%.200s is %.100s, which is not ours", plugin.source, plugin.value);
}

/* Calls @fn with the files of NCCL. */
static void
with_files(const struct machine *m, struct check_result *r,
	   void (*fn)(const struct tcpx_hints *files, struct check_result *r))
{
	struct tcpx_hints files;

	if (!check_here(m, r))
		return;
	if (tcpx_hints_read(&files, environ)) {
		check_unknown(r, "no memory for the files of NCCL");
		return;
	}
	fn(&files, r);
	tcpx_hints_free(&files);
}

static void
probe_nccl(const struct machine *m, struct check_result *r)
{
	with_files(m, r, ask_plugin);
}

/* "NCCL 2.28.3 used tcpx-p2p, says FILE"; ranks other than the first do not write its version. */
static void
describe(const struct nccl_log *log, char *out, size_t cap)
{
	snprintf(out, cap, "NCCL%s%s used %s%s%s, says %s", *log->version ? " " : "", log->version,
		 *log->net ? log->net : "no net", *log->other ? " and " : "", log->other, log->path);
}

static void
judge_log(const struct tcpx_hints *files, const struct nccl_log *log, struct check_result *r)
{
	const char *net = *log->said ? NULL : another_net(files).value;
	bool unset = !variable(files, "NCCL_NET_PLUGIN").value;
	bool ours = !strcmp(log->net, NCCL_PLUGIN_NAME);
	char text[sizeof(log->path) + 300];

	describe(log, text, sizeof(text));
	if (!*log->net && !*log->said)
		check_unknown(r, "%s names no net: was NCCL_DEBUG INFO?", log->path);
	else if (ours && !*log->other)
		check_ok(r, "%s", text);
	else if (unset && *log->net && !*log->other && !strstr(log->said, NCCL_PLUGIN_NAME))
		check_skip(r, "NCCL_NET_PLUGIN is not set; %s", text);
	else
		check_finding(r, "%s%s%s%s", text, *log->said ? ": " : net ? "; NCCL_NET is " : "",
			      log->said, net ? net : "");
}

/* The job that wrote the log may have had variables that are not set here. */
static void
look_in_log(const struct tcpx_hints *files, struct check_result *r)
{
	struct variable file = variable(files, "NCCL_DEBUG_FILE");
	struct variable plugin = variable(files, "NCCL_NET_PLUGIN");
	struct nccl_plugin p;
	struct nccl_log log;
	int rc;

	if (plugin.value) {
		nccl_plugin_ask(plugin.value, &p);
		if (!p.ours && !nccl_plugin_meant(p.name)) {
			check_skip(r, "%.200s is %.100s, which is not ours", plugin.source, plugin.value);
			return;
		}
	}
	if (!file.value) {
		check_skip(r, "NCCL_DEBUG_FILE names no log: run the job with NCCL_DEBUG=INFO and "
			   "NCCL_DEBUG_FILE=/tmp/nccl.%%h.%%p, then this with the same NCCL_DEBUG_FILE");
		return;
	}
	rc = nccl_log_read(file.value, &log);
	if (rc)
		check_unknown(r, "%s: %s", log.path, strerror(-rc));
	else
		judge_log(files, &log, r);
}

static void
probe_used(const struct machine *m, struct check_result *r)
{
	with_files(m, r, look_in_log);
}

const struct check checks_nccl[] = {
	{ "nccl", CHECK_ERROR, "Does NCCL find, load and start our plugin?", probe_nccl,
	  "tcpx env nccl prints the variables that it takes here. tcpx doctor --explain nccl-plugin." },
	{ "nccl-used", CHECK_ERROR, "Does NCCL's log say that it used our plugin?", probe_used,
	  "Every rank needs the variable: tcpx env nccl. tcpx doctor --explain nccl-plugin." },
};

const size_t checks_nccl_count = ARRAY_LEN(checks_nccl);
