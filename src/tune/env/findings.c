/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/env/findings.h"

#include <stdarg.h>
#include <stdio.h>

#include "tune/info/machine.h"
#include "tool/out_text.h"

const char *
env_level_name(enum env_level level)
{
	static const char *const names[ENV_LEVELS] = { "error", "warning", "note" };

	return (unsigned)level < ENV_LEVELS ? names[level] : "?";
}

void
env_say(struct env_lint *lint, enum env_level level, const char *id, const char *name,
	const char *fmt, ...)
{
	unsigned i = lint->count;
	struct env_finding f = { .level = level, .id = id };
	va_list ap;

	lint->of[level]++;
	if (lint->count == ENV_FINDINGS) {
		lint->left_out++;
		return;
	}
	snprintf(f.name, sizeof(f.name), "%s", name);
	va_start(ap, fmt);
	vsnprintf(f.text, sizeof(f.text), fmt, ap);
	va_end(ap);
	for (; i > 0 && lint->at[i - 1].level > level; i--)
		lint->at[i] = lint->at[i - 1];
	lint->at[i] = f;
	lint->count++;
}

json_t *
env_lint_json(const struct env_lint *lint)
{
	json_t *findings = json_array();

	for (unsigned i = 0; i < lint->count; i++) {
		const struct env_finding *f = &lint->at[i];

		json_array_append_new(findings, json_pack(
			"{s:s, s:s, s:o, s:o}", "level", env_level_name(f->level), "id", f->id,
			"name", out_json(f->name), "text", out_json(f->text)));
	}
	return json_pack("{s:o, s:i, s:i, s:i}", "findings", findings, "errors",
			 (int)lint->of[ENV_ERROR], "warnings", (int)lint->of[ENV_WARNING], "notes",
			 (int)lint->of[ENV_NOTE]);
}
