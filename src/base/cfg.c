/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading settings. Sources are applied from the weakest to the strongest. Each value
 * passes value_put(), the only place that checks and replaces one.
 */
#include "base/cfg.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/cfg_file.h"
#include "base/parse.h"

#define ETC_FILE     "/etc/tcpx.conf"
#define HOME_FILE    ".tcpx.conf"
#define NAME_BYTES   128
#define SOURCE_BYTES 512

struct tcpx_cfg {
	struct {
		char *text;
		char *source; /* NULL: default */
		struct tcpx_setting_value value;
	} at[TCPX_SETTING_COUNT];
};

/* One load in progress. */
struct loader {
	struct tcpx_cfg *cfg;
};

/* ---- one value ----------------------------------------------------------------- */

static int
value_fail(const struct tcpx_setting_def *def, const char *text, const char *source)
{
	char allowed[256];

	tcpx_setting_allowed(def, allowed, sizeof(allowed));
	return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG, "%s \"%.80s\" (%s): allowed: %s",
			 def->name, text, source, allowed);
}

/* @source NULL: it is the default. */
static int
value_put(struct tcpx_cfg *cfg, enum tcpx_setting setting, const char *text,
	  const char *source)
{
	const struct tcpx_setting_def *def = tcpx_setting_at(setting);
	struct tcpx_setting_value value;
	char *new_text;
	char *new_source;

	if (!*text)
		text = def->value;
	if (tcpx_setting_parse(def, text, &value))
		return value_fail(def, text, source);
	if (def->type == TCPX_TYPE_WORD)
		text = def->words[value.num];

	new_text = strdup(text);
	new_source = source ? strdup(source) : NULL;
	if (!new_text || (source && !new_source)) {
		free(new_text);
		free(new_source);
		return tcpx_fail(TCPX_SUB_INIT, -ENOMEM, "value of %s", def->name);
	}
	free(cfg->at[setting].text);
	free(cfg->at[setting].source);
	cfg->at[setting].text = new_text;
	cfg->at[setting].source = new_source;
	cfg->at[setting].value = value;
	return 0;
}

/* The old variable holds numbers only: 1 means more output. */
static const char *
debug_word(const char *text)
{
	if (!strcmp(text, "0"))
		return "WARN";
	return !strcmp(text, "1") ? "INFO" : text;
}

/* Puts a value under the @name that the source used, which may be an alias. */
static int
named_put(struct tcpx_cfg *cfg, enum tcpx_setting setting, const char *name,
	  const char *text, const char *source)
{
	char with_alias[SOURCE_BYTES];

	if (strcmp(name, tcpx_setting_at(setting)->name)) {
		snprintf(with_alias, sizeof(with_alias), "%s (%s)", source, name);
		source = with_alias;
		if (setting == TCPX_SET_DEBUG)
			text = debug_word(text);
	}
	return value_put(cfg, setting, text, source);
}

/* The name in "NAME=value"; a name too long for a setting is cut. */
static void
name_copy(const char *assignment, char name[NAME_BYTES])
{
	size_t len = strcspn(assignment, "=");

	if (len > NAME_BYTES - 1)
		len = NAME_BYTES - 1;
	memcpy(name, assignment, len);
	name[len] = '\0';
}

/* "; did you mean TCPX_CHUNK?", or nothing. */
static const char *
advice(const char *name, char buf[NAME_BYTES])
{
	const struct tcpx_setting_def *nearest = tcpx_setting_nearest(name);

	buf[0] = '\0';
	if (nearest)
		snprintf(buf, NAME_BYTES, "; did you mean %s?", nearest->name);
	return buf;
}

int
tcpx_cfg_set(struct tcpx_cfg *cfg, const char *assignment, const char *source)
{
	const char *equals = strchr(assignment, '=');
	char name[NAME_BYTES];
	char hint[NAME_BYTES];
	int setting;

	if (!equals)
		return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG,
				 "\"%.80s\" (%s) is not of the form NAME=value", assignment,
				 source);
	name_copy(assignment, name);
	setting = tcpx_setting_find(name);
	if (setting < 0)
		return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG, "%s (%s) is not a setting%s",
				 name, source, advice(name, hint));
	return named_put(cfg, (enum tcpx_setting)setting, name, equals + 1, source);
}

/* ---- unknown names --------------------------------------------------------------- */

static void
unknown_note(const char *name, const char *source)
{
	char hint[NAME_BYTES];

	if (!tcpx_setting_known_elsewhere(name) &&
	    tcpx_log_on(TCPX_LOG_WARN, TCPX_SUB_INIT) && tcpx_log_once(name))
		tcpx_warn(TCPX_SUB_INIT, "%.*s (%s) is not a setting and has no effect%s",
			  NAME_BYTES, name, source, advice(name, hint));
}

/* ---- environment --------------------------------------------------------------- */

/* The canonical name beats its aliases. */
static int
env_setting_load(struct tcpx_cfg *cfg, enum tcpx_setting setting, char *const *env)
{
	const struct tcpx_setting_def *def = tcpx_setting_at(setting);
	const char *const *alias = def->aliases;

	for (const char *name = def->name; name; name = *alias++) {
		const char *text = tcpx_env_find(env, name);

		if (text)
			return named_put(cfg, setting, name, text, "environment");
	}
	return 0;
}

static int
env_load(struct loader *l, char *const *env)
{
	int rc = 0;

	for (int i = 0; !rc && i < TCPX_SETTING_COUNT; i++)
		rc = env_setting_load(l->cfg, (enum tcpx_setting)i, env);
	for (; !rc && env && *env; env++) {
		char name[NAME_BYTES];

		if (strncmp(*env, "TCPX_", 5) && strncmp(*env, "UCCL_TCPX_", 10))
			continue;
		name_copy(*env, name);
		if (tcpx_setting_find(name) < 0)
			unknown_note(name, "environment");
	}
	return rc;
}

/* ---- variables of NCCL --------------------------------------------------------- */

/* These variables were set for another program: an unusable one costs a
 * warning, not the start. */
static int
hint_put(struct tcpx_cfg *cfg, enum tcpx_setting setting, const char *text, const char *source)
{
	const struct tcpx_setting_def *def = tcpx_setting_at(setting);
	struct tcpx_setting_value value;
	char nics[TCPX_SETTING_TEXT_MAX + 1], allowed[256];
	const char *used = setting == TCPX_SET_NICS ? tcpx_hint_nics(text, nics, sizeof(nics)) : text;

	if (*text && !*used) {
		tcpx_warn(TCPX_SUB_INIT, "%s \"%.80s\" is not used for %s: it names no NIC, and NCCL "
			  "takes no list of one byte", source, text, def->name);
		return 0;
	}
	if (*used && tcpx_setting_parse(def, used, &value)) {
		tcpx_setting_allowed(def, allowed, sizeof(allowed));
		tcpx_warn(TCPX_SUB_INIT, "%s \"%.80s\" is not used for %s: allowed: %s",
			  source, text, def->name, allowed);
		return 0;
	}
	return *used ? value_put(cfg, setting, used, source) : 0;
}

/* Sockets of a NIC are threads times sockets of each; either may be left to NCCL. */
static int
hint_channels(struct tcpx_cfg *cfg, const struct tcpx_cfg_sources *src)
{
	static const char *const names[] = { "NCCL_NSOCKS_PERTHREAD",
					     "NCCL_SOCKET_NTHREADS" };
	uint64_t product = 0;
	char text[32];

	for (size_t i = 0; i < 2; i++) {
		const char *source, *value = tcpx_hints_find(src->hints, src->env, names[i], &source);
		uint64_t n;

		if (!value || tcpx_parse_count(value, &n) || n < 1 || n > UINT32_MAX)
			continue;
		product = product ? product * n : n;
	}
	if (!product)
		return 0;
	snprintf(text, sizeof(text), "%llu/nic", (unsigned long long)product);
	return hint_put(cfg, TCPX_SET_CHANNELS, text,
			"NCCL_NSOCKS_PERTHREAD x NCCL_SOCKET_NTHREADS");
}

static int
hints_load(struct tcpx_cfg *cfg, const struct tcpx_cfg_sources *src)
{
	int rc = hint_channels(cfg, src);

	for (int i = 0; !rc && i < TCPX_SETTING_COUNT; i++) {
		const char *const *hint = tcpx_setting_at((unsigned)i)->hints;
		const char *text = NULL, *source;

		while (*hint && !text)
			text = tcpx_hints_find(src->hints, src->env, *hint++, &source);
		if (text)
			rc = hint_put(cfg, (enum tcpx_setting)i, text, source);
	}
	return rc;
}

/* ---- files and the whole ------------------------------------------------------- */

static int
line_put(void *arg, const char *name, const char *text, const char *source)
{
	struct loader *l = arg;
	int setting = tcpx_setting_find(name);

	if (setting >= 0)
		return named_put(l->cfg, (enum tcpx_setting)setting, name, text, source);
	unknown_note(name, source);
	return 0;
}

/* A container may run as a user whose HOME is another's. */
static bool
is_closed(const char *path)
{
	if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0 || errno != EACCES)
		return false;
	if (tcpx_log_once(path))
		tcpx_warn(TCPX_SUB_INIT, "%s: %s: its settings are not used", path,
			  tcpx_err_text(-EACCES));
	return true;
}

static int
files_load(struct loader *l, const struct tcpx_cfg_sources *src)
{
	const char *named = tcpx_env_find(src->env, "TCPX_CONF_FILE");
	const char *home = named ? named : src->home_file;
	int rc = 0;

	if (src->etc_file)
		rc = tcpx_cfg_file_read(src->etc_file, TCPX_CFG_ETC, line_put, l);
	if (!named && home && is_closed(home))
		return rc;
	if (!rc && home && *home)
		rc = tcpx_cfg_file_read(home, named ? TCPX_CFG_NAMED : TCPX_CFG_HOME, line_put, l);
	return rc;
}

static int
all_load(struct loader *l, const struct tcpx_cfg_sources *src)
{
	int rc = 0;

	for (int i = 0; !rc && i < TCPX_SETTING_COUNT; i++)
		rc = value_put(l->cfg, (enum tcpx_setting)i, "", NULL);
	if (!rc)
		rc = hints_load(l->cfg, src);
	if (!rc)
		rc = files_load(l, src);
	if (!rc)
		rc = env_load(l, src->env);
	for (const char *const *set = src->caller; !rc && set && *set; set++)
		rc = tcpx_cfg_set(l->cfg, *set, "caller");
	return rc;
}

int
tcpx_cfg_load(const struct tcpx_cfg_sources *src, struct tcpx_cfg **out)
{
	struct loader *l;
	int rc;

	if (!src)
		return tcpx_cfg_load_system(NULL, out);
	l = calloc(1, sizeof(*l));
	if (!l)
		return tcpx_fail(TCPX_SUB_INIT, -ENOMEM, "reading the settings");
	l->cfg = calloc(1, sizeof(*l->cfg));
	if (l->cfg)
		rc = all_load(l, src);
	else
		rc = tcpx_fail(TCPX_SUB_INIT, -ENOMEM, "the settings");
	if (rc)
		tcpx_cfg_free(l->cfg);
	else
		*out = l->cfg;
	free(l);
	return rc;
}

int
tcpx_cfg_load_system(const char *const *caller, struct tcpx_cfg **out)
{
	/* a setuid program has more rights than who has started it, and set its environment */
	char *const *env = getauxval(AT_SECURE) ? NULL : environ;
	struct tcpx_cfg_sources src = {
		.env = env,
		.etc_file = ETC_FILE,
		.caller = caller,
	};
	const char *home = tcpx_env_find(env, "HOME");
	struct tcpx_hints hints;
	char path[PATH_MAX];
	int rc = tcpx_hints_read(&hints, env);

	if (home && *home) {
		int n = snprintf(path, sizeof(path), "%s/" HOME_FILE, home);

		src.home_file = n < PATH_MAX ? path : NULL;
	}
	src.hints = &hints;
	if (rc)
		return tcpx_fail(TCPX_SUB_INIT, rc, "reading the files of NCCL");
	rc = tcpx_cfg_load(&src, out);
	tcpx_hints_free(&hints);
	return rc;
}

void
tcpx_cfg_free(struct tcpx_cfg *cfg)
{
	if (!cfg)
		return;
	for (int i = 0; i < TCPX_SETTING_COUNT; i++) {
		free(cfg->at[i].text);
		free(cfg->at[i].source);
	}
	free(cfg);
}

/* ---- asking -------------------------------------------------------------------- */

uint64_t
tcpx_cfg_num(const struct tcpx_cfg *cfg, enum tcpx_setting setting)
{
	return cfg->at[setting].value.num;
}

const char *
tcpx_cfg_str(const struct tcpx_cfg *cfg, enum tcpx_setting setting)
{
	return cfg->at[setting].text;
}

const char *
tcpx_cfg_source(const struct tcpx_cfg *cfg, enum tcpx_setting setting)
{
	return cfg->at[setting].source ? cfg->at[setting].source : "default";
}

bool
tcpx_cfg_is_default(const struct tcpx_cfg *cfg, enum tcpx_setting setting)
{
	return !cfg->at[setting].source;
}

bool
tcpx_cfg_is_hint(const char *source)
{
	return !strncmp(source, "NCCL_", 5);
}

int
tcpx_cfg_channels(const struct tcpx_cfg *cfg, unsigned nics, unsigned *total)
{
	const struct tcpx_setting_def *def = tcpx_setting_at(TCPX_SET_CHANNELS);
	const struct tcpx_setting_value *v = &cfg->at[TCPX_SET_CHANNELS].value;
	unsigned long long n = v->per_nic ? v->num * nics : v->num;
	unsigned long long max = def->max;

	if (n > max)
		return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG,
				 "%s \"%s\" (%s): %llu channels over %u NICs; at most %llu",
				 def->name, tcpx_cfg_str(cfg, TCPX_SET_CHANNELS),
				 tcpx_cfg_source(cfg, TCPX_SET_CHANNELS), n, nics, max);
	*total = (unsigned)n;
	return 0;
}
