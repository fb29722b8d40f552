/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Option tables over getopt_long. A long option's code is LONG_CODE + its index, so one
 * switch separates values from errors. getopt's own messages are never shown.
 */
#include "tool/opt.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "tool/completion.h"
#include "tool/out_text.h"
#include "tool/tool.h"

enum {
	LONG_CODE = 256,
	NAME_WIDTH = 26, /* the first column of --help */
};

static const struct opt help_opt = { 'h', "help", .help = "this text" };

enum { OPT_END = -1, OPT_HELP = -2, OPT_BAD = -3 };

static void
init(struct opt_parser *p)
{
	const struct opt_command *cmd = p->cmd;
	char *s = p->shorts;

	assert(cmd->count + 2 <= ARRAY_LEN(p->longs));
	if (cmd->stop_at_word)
		*s++ = '+';
	*s++ = ':'; /* separates a missing value from an unknown option */
	for (size_t i = 0; i <= cmd->count; i++) {
		const struct opt *o = i < cmd->count ? &cmd->opts[i] : &help_opt;

		p->longs[i] = (struct option){ o->long_name,
					       o->arg ? required_argument : no_argument, NULL,
					       LONG_CODE + (int)i };
		if (o->short_name) {
			*s++ = o->short_name;
			if (o->arg)
				*s++ = ':';
		}
	}
	optind = 0; /* GNU: start anew */
	opterr = 0;
}

static int
short_index(const struct opt_command *cmd, int c)
{
	for (size_t i = 0; i < cmd->count; i++)
		if (cmd->opts[i].short_name == c)
			return (int)i;
	return (int)cmd->count; /* -h */
}

/* getopt_long() takes a part of a long option's name for the whole. We do not: the part may be
 * what others call another option. */
static bool
is_cut(const struct opt_parser *p, int code, const char *word)
{
	return code >= LONG_CODE &&
	       strcspn(word + 2, "=") != strlen(p->longs[code - LONG_CODE].name);
}

/* The option that getopt_long() has just read; its value may be a word of its own. */
static const char *
typed(const struct opt_parser *p)
{
	return p->argv[optind - 1 - (optarg && optarg == p->argv[optind - 1])];
}

/* The whole name of which @name begins, or one like it; NULL. */
static const char *
meant(const struct opt_parser *p, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; len > 1 && i <= p->cmd->count; i++)
		if (!strncmp(p->longs[i].name, name, len))
			return p->longs[i].name;
	return len ? tool_nearest(name, &p->longs[0].name, p->cmd->count + 1, sizeof(p->longs[0]))
		   : NULL;
}

/* @word is the option as typed; getopt_long() has left its letter, or code, in optopt. */
static int
refuse_unknown(const struct opt_parser *p, const char *word)
{
	const struct opt_command *cmd = p->cmd;
	const char *near;
	char name[64];

	if (optopt && optopt < LONG_CODE)
		snprintf(name, sizeof(name), "-%c", optopt);
	else
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
	for (const char *const *o = cmd->others; o && o[0]; o += 2)
		if (!strcmp(name, o[0])) {
			tool_usage(cmd->name, "unknown option %s; here it is %s", name, o[1]);
			return OPT_BAD;
		}
	if (optopt >= LONG_CODE) {
		tool_usage(cmd->name, "--%s takes no value", p->longs[optopt - LONG_CODE].name);
		return OPT_BAD;
	}
	if (optopt) {
		tool_usage(cmd->name, "unknown option -%c", optopt);
		return OPT_BAD;
	}
	near = meant(p, name + 2);
	if (near)
		tool_usage(cmd->name, "unknown option %s; did you mean --%s?", name, near);
	else
		tool_usage(cmd->name, "unknown option %s", name);
	return OPT_BAD;
}

/* The index of the next option; OPT_END; OPT_HELP, which was printed; OPT_BAD, with a
 * message. */
static int
next(struct opt_parser *p)
{
	int c = getopt_long(p->argc, p->argv, p->shorts, p->longs, NULL);
	int index;

	if (c == -1) {
		p->first_word = optind;
		return OPT_END;
	}
	if (is_cut(p, c == '?' || c == ':' ? optopt : c, typed(p))) {
		optopt = 0;
		return refuse_unknown(p, typed(p));
	}
	if (c == '?')
		return refuse_unknown(p, typed(p));
	if (c == ':') {
		index = optopt >= LONG_CODE ? optopt - LONG_CODE : short_index(p->cmd, optopt);
		tool_usage(p->cmd->name, "--%s needs a value: %s", p->cmd->opts[index].long_name,
			   p->cmd->opts[index].arg);
		return OPT_BAD;
	}
	index = c >= LONG_CODE ? c - LONG_CODE : short_index(p->cmd, c);
	if (index == (int)p->cmd->count) {
		opt_help(p->cmd, stdout);
		return OPT_HELP;
	}
	p->value = optarg;
	return index;
}

static void
print_option(FILE *f, const struct opt *o)
{
	int len = o->short_name ? fprintf(f, "  -%c, --%s", o->short_name, o->long_name) :
				  fprintf(f, "      --%s", o->long_name);

	if (o->arg)
		len += fprintf(f, " %s", o->arg);
	if (len > NAME_WIDTH - 2) {
		fputc('\n', f);
		len = 0;
	}
	fprintf(f, "%*s", NAME_WIDTH - len, "");
	out_wrapped(f, o->help, NAME_WIDTH);
}

void
opt_help(const struct opt_command *cmd, FILE *f)
{
	const char *bold = tool_paint(f, TOOL_BOLD), *plain = tool_paint(f, TOOL_PLAIN);

	fprintf(f, "%susage:%s %s %s\n\n", bold, plain, cmd->name, cmd->words);
	out_wrapped(f, cmd->about, 0);
	fprintf(f, "\n%soptions%s\n", bold, plain);
	for (size_t i = 0; i < cmd->count; i++)
		print_option(f, &cmd->opts[i]);
	print_option(f, &help_opt);
	if (cmd->examples)
		fprintf(f, "\n%sexamples%s\n%s", bold, plain, cmd->examples);
}

int
opt_refuse(const struct opt_parser *p, int id, const char *allowed)
{
	return tool_usage(p->cmd->name, "--%s %s: %s", p->cmd->opts[id].long_name, p->value,
			  allowed);
}

int
opt_number(const struct opt_parser *p, int id, uint64_t min, uint64_t max, uint64_t *out)
{
	char allowed[128];
	uint64_t v;

	if (tcpx_parse_count(p->value, &v) || v < min || v > max) {
		snprintf(allowed, sizeof(allowed), "allowed is a whole number from %" PRIu64
			 " to %" PRIu64, min, max);
		return opt_refuse(p, id, allowed);
	}
	*out = v;
	return TOOL_OK;
}

int
opt_size(const struct opt_parser *p, int id, uint64_t min, uint64_t max, uint64_t *out)
{
	char lo[32], hi[32], allowed[128];
	uint64_t v;

	if (tcpx_parse_size(p->value, &v) || v < min || v > max) {
		snprintf(allowed, sizeof(allowed),
			 "allowed is a size (8K, 1.5M, 1G) from %s to %s",
			 tcpx_format_size(min, lo, sizeof(lo)),
			 tcpx_format_size(max, hi, sizeof(hi)));
		return opt_refuse(p, id, allowed);
	}
	*out = v;
	return TOOL_OK;
}

int
opt_choice(const struct opt_parser *p, int id, const char *const *words, int *out)
{
	char allowed[256] = "allowed are";

	for (int i = 0; words[i]; i++) {
		size_t len = strlen(allowed);

		if (!strcmp(p->value, words[i])) {
			*out = i;
			return TOOL_OK;
		}
		snprintf(allowed + len, sizeof(allowed) - len, "%s %s", i ? "," : "", words[i]);
	}
	return opt_refuse(p, id, allowed);
}

static int
store(const struct opt_parser *p, int id)
{
	const struct opt *o = &p->cmd->opts[id];
	char *place = (char *)p->args + o->at;
	uint64_t v = 0;
	int rc;

	switch (o->kind) {
	case OPT_IS_TEXT:
		memcpy(place, &p->value, sizeof(p->value));
		return TOOL_OK;
	case OPT_IS_FLAG:
		*(bool *)place = true;
		return TOOL_OK;
	case OPT_IS_NUMBER:
		return opt_number(p, id, o->min, o->max, (uint64_t *)place);
	case OPT_IS_INT:
		rc = opt_number(p, id, o->min, o->max, &v);
		*(int *)place = (int)v; /* on failure nobody looks at it */
		return rc;
	case OPT_IS_SIZE:
		return opt_size(p, id, o->min, o->max, (uint64_t *)place);
	case OPT_IS_CHOICE:
		return opt_choice(p, id, o->words, (int *)place);
	case OPT_IS_OWN:
		return o->take(p, id, p->args);
	}
	return TOOL_USAGE;
}

bool
opt_read(struct opt_parser *p, const struct opt_command *cmd, int argc, char **argv, void *args)
{
	int id;

	if (completion_asked(argc, argv)) {
		p->exit = TOOL_OK;
		completion_options(stdout, completion_asked(argc, argv), cmd);
		return false;
	}
	*p = (struct opt_parser){ .cmd = cmd, .argc = argc, .argv = argv, .args = args };
	init(p);
	while (p->exit == TOOL_OK && (id = next(p)) != OPT_END) {
		if (id < 0) {
			p->exit = id == OPT_HELP ? TOOL_OK : TOOL_USAGE;
			return false;
		}
		p->exit = store(p, id);
	}
	return p->exit == TOOL_OK;
}

int
opt_words(const struct opt_parser *p, int most)
{
	if (p->argc - p->first_word <= most)
		return TOOL_OK;
	return tool_usage(p->cmd->name, "'%s' is one word too many", p->argv[p->first_word + most]);
}
