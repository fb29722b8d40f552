/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of NIXL, which loads our plugin for it. */
#include <stdio.h>
#include <string.h>

#include "tune/doctor/checks.h"
#include "tune/doctor/nixl.h"
#include "tool/tool.h"

#define NO_NIXL "no NIXL"

static void
probe_nixl(const struct machine *m, struct check_result *r)
{
	struct nixl_place place[NIXL_PLACES];
	unsigned count = nixl_places(m, place);

	r->status = CHECK_OK;
	for (unsigned i = 0; i < count; i++) {
		check_add(r, "%s: %s%s", place[i].package, place[i].dir,
			  place[i].is_there ? "" : " is no folder");
		if (!place[i].is_there)
			r->status = CHECK_FINDING;
	}
	if (!count)
		check_skip(r, NO_NIXL);
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

const struct check checks_nixl[] = {
	{ "nixl", CHECK_ERROR, "Is there a NIXL, and where are its plugins?", probe_nixl,
	  "NIXL loads plugins by their files in these folders alone: make the folder and link them "
	  "into it (docs/nixl.md), or unset NIXL_PLUGIN_DIR." },
	{ "nixl-file", CHECK_NOTE, "Do NIXL's folders have our plugin?", probe_file,
	  "ln -s the file " NIXL_PLUGIN " there, or name its folder by NIXL_PLUGIN_DIR." },
	{ "nixl-load", CHECK_ERROR, "Does our plugin load, as NIXL loads it?", probe_load,
	  "A missing library has to be installed. Where a version of a symbol is missing, the file was "
	  "built on a newer system: build it here. tcpx doctor --explain nixl-load." },
};

const size_t checks_nixl_count = ARRAY_LEN(checks_nixl);
