/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser walks lines and asks the table of keys. It runs no command and reads nothing
 * of the machine.
 */
#include "measure/matrix/spec.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "measure/matrix/key.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct parser {
	struct matrix_spec *spec;
	const char *name;
	unsigned at;     /* line of the text, from 1 */
	unsigned lines;  /* kept so far              */
};

#define refuse(p, ...) refuse_at(p, (p)->at, __VA_ARGS__)

static int __attribute__((format(printf, 3, 4)))
refuse_at(const struct parser *p, unsigned at, const char *fmt, ...)
{
	char text[320];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return tcpx_fail(TCPX_SUB_TOOL, TCPX_ECONFIG, "%.80s line %u: %s", p->name, at, text);
}

/* Cuts blanks off both ends, in place. */
static char *
trim(char *text)
{
	size_t len;

	while (isspace((unsigned char)*text))
		text++;
	for (len = strlen(text); len && isspace((unsigned char)text[len - 1]); len--)
		text[len - 1] = '\0';
	return text;
}

/* ---- values ---------------------------------------------------------------------- */

const struct matrix_line *
matrix_spec_find(const struct matrix_section *section, enum matrix_key key)
{
	for (size_t i = 0; i < section->n; i++)
		if (section->lines[i].key == key)
			return &section->lines[i];
	return NULL;
}

const char *
matrix_spec_text(const struct matrix_spec *spec, enum matrix_key key, const char *otherwise)
{
	const struct matrix_line *line = matrix_spec_find(&spec->sections[0], key);

	return line ? line->value : otherwise;
}

static void
fraction_of(const struct matrix_spec *spec, enum matrix_key key, double *out)
{
	const struct matrix_line *line = matrix_spec_find(&spec->sections[0], key);

	if (line)
		(void)matrix_fraction_parse(line->value, out);
}

static uint64_t
count_of(const struct matrix_spec *spec, enum matrix_key key, uint64_t otherwise)
{
	const struct matrix_line *line = matrix_spec_find(&spec->sections[0], key);
	uint64_t n = otherwise;

	if (line && matrix_keys[key].type == MATRIX_VALUE_TIME)
		(void)tcpx_parse_ms(line->value, &n);
	else if (line)
		(void)tcpx_parse_count(line->value, &n);
	return n;
}

/* The study's own values, which have all been checked. */
static void
study_values(struct matrix_spec *spec)
{
	spec->margin = 0.05;
	spec->load_max = 0.25;
	spec->steal_max = 0.05;
	fraction_of(spec, MATRIX_MARGIN, &spec->margin);
	fraction_of(spec, MATRIX_LOAD, &spec->load_max);
	fraction_of(spec, MATRIX_STEAL, &spec->steal_max);
	spec->blocks = (unsigned)count_of(spec, MATRIX_BLOCKS, 8);
	spec->warmup = (unsigned)count_of(spec, MATRIX_WARMUP, 1);
	spec->seed = count_of(spec, MATRIX_SEED, 1);
	spec->timeout_ms = count_of(spec, MATRIX_TIMEOUT, 120000);
	spec->lower = !strcmp(matrix_spec_text(spec, MATRIX_BETTER, "higher"), "lower");
	(void)matrix_number_parse(matrix_spec_text(spec, MATRIX_REFERENCE, "0"), &spec->reference);
}

/* ---- lines ----------------------------------------------------------------------- */

/* Makes room for one more in an array that grows by doubling; false: no memory. */
static bool
grow(void **at, size_t n, size_t bytes)
{
	void *more;

	if (n & (n - 1))
		return true; /* n is no power of two: there is room up to the next */
	more = realloc(*at, (n ? 2 * n : 1) * bytes);
	if (!more)
		return false;
	*at = more;
	return true;
}

static int
section_add(struct parser *p, enum matrix_kind kind, const char *name, const char *level)
{
	struct matrix_spec *spec = p->spec;
	struct matrix_section *s;

	for (size_t i = 0; i < spec->n; i++) {
		s = &spec->sections[i];
		if (s->kind == kind && !strcmp(s->name, name) && !strcmp(s->level, level))
			return refuse(p, "the section of line %u again", s->at);
	}
	if (!grow((void **)&spec->sections, spec->n, sizeof(*s)))
		return -ENOMEM;
	s = &spec->sections[spec->n++];
	*s = (struct matrix_section){ .kind = kind, .at = p->at };
	snprintf(s->name, sizeof(s->name), "%s", name);
	snprintf(s->level, sizeof(s->level), "%s", level);
	return 0;
}

/* "[level irq=tail]", "[sweep chunk]", "[cell T1]". */
static int
section_parse(struct parser *p, char *text)
{
	static const struct { const char *word; enum matrix_kind kind; } kinds[] = {
		{ "level", MATRIX_LEVELS }, { "sweep", MATRIX_SWEEP }, { "cell", MATRIX_CELL },
	};
	char none[] = "", *close = text + strlen(text) - 1, *name, *level = none;

	if (*close != ']')
		return refuse(p, "%.60s: a section ends with ]", text);
	*close = '\0';
	name = trim(text + 1);
	for (size_t i = 0; i < COUNT(kinds); i++) {
		size_t len = strlen(kinds[i].word);

		if (strncmp(name, kinds[i].word, len) || !isspace((unsigned char)name[len]))
			continue;
		name = trim(name + len);
		if (kinds[i].kind == MATRIX_LEVELS) {
			level = strchr(name, '=');
			if (!level)
				break;
			*level = '\0';
			level = trim(level + 1);
			name = trim(name);
		}
		if (!matrix_name_allowed(name) || (*level && !matrix_name_allowed(level)) ||
		    (kinds[i].kind == MATRIX_LEVELS && !*level))
			break;
		return section_add(p, kinds[i].kind, name, level);
	}
	return refuse(p, "allowed are [level FACTOR=LEVEL], [sweep FACTOR] and [cell NAME]; names "
		      "are letters, digits, _.+-@");
}

static int
key_find(const struct parser *p, const char *word, enum matrix_key *key)
{
	for (unsigned k = 0; k < MATRIX_KEYS; k++)
		if (!strcmp(matrix_keys[k].word, word)) {
			*key = (enum matrix_key)k;
			return 0;
		}
	return refuse(p, "unknown key '%.40s'", word);
}

static int
line_keep(struct parser *p, enum matrix_key key, const char *name, const char *value)
{
	struct matrix_section *s = &p->spec->sections[p->spec->n - 1];
	struct matrix_line line = { .key = key, .at = p->at };
	const struct matrix_key_def *def = &matrix_keys[key];
	const char *allowed;
	char buf[96];

	if (!(def->where & s->kind))
		return refuse(p, "'%s' does not belong in this section", def->word);
	if (!matrix_key_name_fits(def, name))
		return refuse(p, "'%s %.60s': %s", def->word, name,
			      def->name == MATRIX_NAME_NONE ? "this key takes no name"
						     : "a fitting name is needed before the =");
	for (size_t i = 0; i < s->n; i++)
		if (s->lines[i].key == key && !strcmp(s->lines[i].name, name) &&
		    (!def->many || def->name == MATRIX_NAME_VARIABLE || def->name == MATRIX_NAME_PLAIN))
			return refuse(p, "'%s%s%s' stands in line %u already", def->word,
				      *name ? " " : "", name, s->lines[i].at);
	if (++p->lines > MATRIX_LINES_MAX)
		return refuse(p, "more than %d lines", MATRIX_LINES_MAX);
	allowed = matrix_key_refuses(def, value, buf);
	if (allowed)
		return refuse(p, "%s = %.60s: allowed is %s", def->word, value, allowed);
	line.name = strdup(name);
	line.value = strdup(value);
	if (!line.name || !line.value || !grow((void **)&s->lines, s->n, sizeof(line))) {
		free(line.name);
		free(line.value);
		return -ENOMEM;
	}
	s->lines[s->n++] = line;
	return 0;
}

static bool
blank(const char *text)
{
	return !text[strspn(text, " \t\r\v\f")];
}

/* "key name words = value", already joined with its continuation lines. */
static int
assignment_parse(struct parser *p, char *text)
{
	char *equals = strchr(text, '='), *word = text, *name;
	enum matrix_key key = MATRIX_TITLE;
	int rc;

	if (!equals)
		return refuse(p, "%.60s: neither a section nor 'key = value'", text);
	*equals = '\0';
	word = trim(word);
	for (name = word; *name && !isspace((unsigned char)*name); name++)
		;
	if (*name)
		*name++ = '\0';
	rc = key_find(p, word, &key);
	return rc ? rc : line_keep(p, key, trim(name), trim(equals + 1));
}

static int
text_parse(struct parser *p, char *text)
{
	char *rest = text, *line, *whole = NULL;
	unsigned number = 0;
	int rc = 0;

	/* A line is parsed when the next one shows that it does not continue it: the NULs
	 * that strsep() put between them become newlines again. */
	do {
		line = strsep(&rest, "\n");
		number++;
		if (line && whole && *whole != '[' && isspace((unsigned char)*line) && !blank(line)) {
			line[-1] = '\n';
			continue;
		}
		if (whole) {
			whole = trim(whole);
			rc = *whole == '[' ? section_parse(p, whole) : assignment_parse(p, whole);
			whole = NULL;
		}
		p->at = number;
		if (line && !blank(line) && line[strspn(line, " \t\r\v\f")] != '#')
			whole = line;
	} while (line && !rc);
	return rc;
}

int
matrix_spec_parse(const char *text, size_t len, const char *name, struct matrix_spec *out)
{
	struct matrix_spec spec = { .n = 0 };
	struct parser p = { .spec = &spec, .name = name, .at = 1 };
	char *copy;
	int rc;

	if (len > MATRIX_TEXT_MAX)
		return refuse(&p, "%zu bytes, allowed are %d", len, MATRIX_TEXT_MAX);
	if (memchr(text, '\0', len))
		return refuse(&p, "a NUL byte: this is no text");
	copy = malloc(len + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, len);
	copy[len] = '\0';

	rc = section_add(&p, MATRIX_STUDY, "", "");
	rc = rc ? rc : text_parse(&p, copy);
	free(copy);
	if (!rc && !matrix_spec_find(&spec.sections[0], MATRIX_RUN))
		rc = refuse(&p, "no 'run = COMMAND'");
	if (!rc && !matrix_spec_find(&spec.sections[0], MATRIX_METRIC))
		rc = refuse(&p, "no 'metric = json:PATH' or 'metric = regex:EXPRESSION'");
	if (rc) {
		matrix_spec_fini(&spec);
		return rc;
	}
	study_values(&spec);
	*out = spec;
	return 0;
}

void
matrix_spec_fini(struct matrix_spec *spec)
{
	for (size_t i = 0; i < spec->n; i++) {
		for (size_t k = 0; k < spec->sections[i].n; k++) {
			free(spec->sections[i].lines[k].name);
			free(spec->sections[i].lines[k].value);
		}
		free(spec->sections[i].lines);
	}
	free(spec->sections);
	*spec = (struct matrix_spec){ .n = 0 };
}
