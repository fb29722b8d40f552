/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making, filling and freeing the record. Freeing walks the tables of result_fields.h, so a
 * new field cannot be forgotten there.
 */
#include "measure/report/row.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tool/envlist.h"
#include "measure/report/result_fields.h"
#include "tool/stats.h"
#include "tool/out_text.h"
#include "tool/tool.h"

static void
add_env(void *arg, const char *name, const char *value)
{
	struct result *r = arg;
	struct result_env *env = LIST_ADD(&r->env);

	env->name = tool_need(strdup(name));
	env->value = tool_need(strdup(value));
}

/* The first "model name" of /proc/cpuinfo; other architectures have none. */
static void
read_cpu_model(char *out, size_t cap)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[256];

	snprintf(out, cap, "unknown");
	while (f && fgets(line, sizeof(line), f)) {
		char *value = strchr(line, ':');

		if (value && !strncmp(line, "model name", strlen("model name"))) {
			value += strspn(value, ": \t");
			value[strcspn(value, "\n")] = '\0';
			snprintf(out, cap, "%s", value);
			break;
		}
	}
	if (f)
		fclose(f);
}

static void
read_machine(struct result_machine *m)
{
	struct utsname uts;

	if (uname(&uts) == 0) {
		snprintf(m->host, sizeof(m->host), "%s", uts.nodename);
		snprintf(m->kernel, sizeof(m->kernel), "%s %s", uts.release, uts.machine);
	}
	m->cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	m->memory_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	read_cpu_model(m->cpu_model, sizeof(m->cpu_model));
}

void
result_init(struct result *r)
{
	*r = (struct result){ .schema = RESULT_SCHEMA, .setup_ms = NAN };
	out_now(r->started);
	snprintf(r->version, sizeof(r->version), "%s", TCPX_VERSION);
	r->command = tool_need(strdup(""));
	read_machine(&r->machine);
	envlist_each(environ, add_env, r);
}

void
result_fini(struct result *r)
{
	shape_free(&result_shape, r);
	*r = (struct result){ 0 };
}

struct row *
result_add_row(struct result *r)
{
	struct row *row = LIST_ADD(&r->rows);

	shape_clear(&row_shape, row);
	snprintf(row->mem, sizeof(row->mem), "host");
	row->descs = 1;
	return row;
}

void
result_add_setting(struct result *r, const char *name, const char *value, const char *source)
{
	struct result_setting *s = LIST_ADD(&r->settings);
	bool secret = *value && envlist_is_secret(name, strlen(name));

	s->name = tool_need(strdup(name));
	s->value = tool_need(strdup(secret ? ENVLIST_HIDDEN : value));
	s->source = tool_need(strdup(source));
}

/* A word in the form that a shell reads back: in single quotes unless it is plain. */
static void
print_word(FILE *f, const char *word, size_t len)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-+=./:,@%^";

	if (len && strspn(word, plain) >= len) {
		fwrite(word, 1, len, f);
		return;
	}
	fputc('\'', f);
	for (size_t i = 0; i < len; i++)
		fputs(word[i] == '\'' ? "'\\''" : (char[]){ word[i], '\0' }, f);
	fputc('\'', f);
}

void
result_set_command(struct result *r, int argc, char *const *argv)
{
	bool hide_next = false;
	size_t len;
	char *text;
	FILE *f = tool_need(open_memstream(&text, &len));

	for (int i = 0; i < argc; i++) {
		const char *word = argv[i], *equals = strchr(word, '=');
		bool secret =
			envlist_is_secret(word, equals ? (size_t)(equals - word) : strlen(word));

		if (i)
			fputc(' ', f);
		if (hide_next)
			fputs(ENVLIST_HIDDEN, f);
		else if (secret && equals)
			fprintf(f, "%.*s=" ENVLIST_HIDDEN, (int)(equals - word), word);
		else
			print_word(f, word, strlen(word));
		hide_next = !hide_next && secret && !equals && word[0] == '-';
	}
	fclose(f);
	free(r->command);
	r->command = tool_need(text);
}

const struct row *
result_subject(const struct result *r)
{
	const struct row *subject = NULL;

	for (size_t i = 0; i < r->rows.n; i++)
		if (!subject || r->rows.at[i].size >= subject->size)
			subject = &r->rows.at[i];
	return subject;
}

void
row_sum_up_pairs(struct row *row)
{
	struct stats_interval ci;
	double *ratio;

	if (!row->pairs.n)
		return;
	ratio = tool_need(malloc(row->pairs.n * sizeof(*ratio)));
	for (size_t i = 0; i < row->pairs.n; i++)
		ratio[i] = row->pairs.at[i].ratio;
	row->ratio = stats_median(ratio, row->pairs.n);
	if (stats_median_interval(ratio, row->pairs.n, &ci))
		row->ratio_ci = (struct row_interval){ ci.lo, ci.hi };
	free(ratio);
}
