/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of programs that load our plugins: NIXL, NCCL. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tune/doctor/checks.h"
#include "tune/doctor/nixl.h"
#include "tool/tool.h"
#include "tune/info/nccl_log.h"
#include "tune/info/nccl_plugin.h"

#define NO_NIXL "no NIXL"

static void
probe_nixl(const struct machine *m, struct check_result *r)
{
	struct nixl_place place[NIXL_PLACES];
	unsigned count = nixl_places(m, place);

	for (unsigned i = 0; i < count; i++)
		check_add(r, "%s: %s", place[i].package, place[i].dir);
	if (!count)
		check_skip(r, NO_NIXL);
	else
		r->status = CHECK_OK;
}

static void
probe_file(const struct machine *m, struct check_result *r)
{
	struct nixl_place place[NIXL_PLACES];
	unsigned count = nixl_places(m, place);
	char dir[128];

	for (unsigned i = 0; i < count; i++)
		if (!*place[i].file)
			check_add(r, "none in %s", place[i].dir);
	if (r->evidence[0] && nixl_installed(m, dir, sizeof(dir)))
		check_add(r, "one is in %s", dir);
	if (count)
		check_judge(r, "in each of %u", count);
	else
		check_skip(r, NO_NIXL);
}

static void
probe_load(const struct machine *m, struct check_result *r)
{
	struct nixl_place place[NIXL_PLACES];
	unsigned count = nixl_places(m, place), asked = 0;
	struct nixl_answer answer = { 0 };
	char file[600];

	if (!check_here(m, r))
		return;
	for (unsigned i = 0; i < count; i++) {
		if (!*place[i].file)
			continue;
		snprintf(file, sizeof(file), "%s/%s", place[i].dir, place[i].file);
		nixl_ask(file, &answer);
		asked++;
		if (!answer.loads && strstr(answer.why, file))
			check_add(r, "%s", answer.why);
		else if (!answer.loads)
			check_add(r, "%.120s (%s)", answer.why, file);
	}
	if (asked)
		check_judge(r, "%s %s, in each of %u", answer.name, answer.version, asked);
	else
		check_skip(r, count ? "no " NIXL_PLUGIN : NO_NIXL);
}

/* The value of NCCL_NET_PLUGIN if it means our plugin, and what the loader says of it; else NULL,
 * with the result. */
static const char *
ask_nccl(const struct machine *m, struct check_result *r, struct nccl_plugin *p)
{
	const char *value = m->here ? getenv("NCCL_NET_PLUGIN") : NULL;

	if (!check_here(m, r))
		return NULL;
	if (!value || !*value) {
		check_skip(r, "NCCL_NET_PLUGIN is not set: tcpx env nccl prints it");
		return NULL;
	}
	nccl_plugin_ask(value, p);
	if (p->ours || (!p->loads && strstr(value, NCCL_PLUGIN_NAME)))
		return value;
	check_skip(r, "NCCL_NET_PLUGIN is %.100s, which is not ours", value);
	return NULL;
}

static void
probe_nccl(const struct machine *m, struct check_result *r)
{
	const char *net = getenv("NCCL_NET"), *value;
	struct nccl_plugin p;

	value = ask_nccl(m, r, &p);
	if (!value)
		return;
	if (!p.loads)
		check_finding(r, "NCCL_NET_PLUGIN is %.100s: %s", value, p.why);
	else if (net && *net && strcasecmp(net, NCCL_PLUGIN_NAME))
		check_finding(r, "NCCL_NET is %.60s: NCCL takes no other net", net);
	else
		check_ok(r, "%s, for NCCL's tables v%d to v%d", p.path, p.oldest, p.newest);
}

/* The job that wrote the log may have had variables that are not set here. */
static void
probe_nccl_used(const struct machine *m, struct check_result *r)
{
	const char *file = getenv("NCCL_DEBUG_FILE"), *value = getenv("NCCL_NET_PLUGIN");
	bool unset = m->here && (!value || !*value);
	struct nccl_plugin p;
	struct nccl_log log;
	int rc;

	if (!unset && !ask_nccl(m, r, &p))
		return;
	if (!file || !*file) {
		check_skip(r, "NCCL_DEBUG_FILE names no log of a job");
		return;
	}
	rc = nccl_log_read(file, &log);
	if (rc)
		check_unknown(r, "%s: %s", log.path, strerror(-rc));
	else if (!*log.net)
		check_unknown(r, "%s names no net: was NCCL_DEBUG INFO? %s", log.path, log.said);
	else if (strcmp(log.net, NCCL_PLUGIN_NAME) && unset && !strstr(log.said, NCCL_PLUGIN_NAME))
		check_skip(r, "NCCL_NET_PLUGIN is not set; NCCL %s used %s, says %s", log.version, log.net,
			   log.path);
	else if (strcmp(log.net, NCCL_PLUGIN_NAME))
		check_finding(r, "NCCL %s used %s, says %s%s%s", log.version, log.net, log.path,
			      *log.said ? ": " : "", log.said);
	else
		check_ok(r, "NCCL %s, says %s", log.version, log.path);
}

const struct check checks_frameworks[] = {
	{ "nixl", CHECK_NOTE, "Is there a NIXL, and where are its plugins?", probe_nixl,
	  "NIXL loads plugins by their files in these folders: docs/nixl.md." },
	{ "nixl-file", CHECK_NOTE, "Do NIXL's folders have our plugin?", probe_file,
	  "ln -s the file " NIXL_PLUGIN " there, or name its folder by NIXL_PLUGIN_DIR." },
	{ "nixl-load", CHECK_ERROR, "Does our plugin load, as NIXL loads it?", probe_load,
	  "A missing library has to be installed. Where a version of a symbol is missing, the file was "
	  "built on a newer system: build it here. tcpx doctor --explain nixl-load." },
	{ "nccl", CHECK_ERROR, "Does NCCL find and load our plugin?", probe_nccl,
	  "tcpx env nccl prints the variables that it takes here. tcpx doctor --explain nccl-plugin." },
	{ "nccl-used", CHECK_ERROR, "Does NCCL's log say that it used our plugin?", probe_nccl_used,
	  "Every rank needs the variable: tcpx env nccl. tcpx doctor --explain nccl-plugin." },
};

const size_t checks_frameworks_count = ARRAY_LEN(checks_frameworks);
