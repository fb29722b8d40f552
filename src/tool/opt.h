/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command's options as one table: parsing, --help and error messages come from it. An
 * option names its place in the command's struct, S, and what is allowed there:
 *
 *	#define S struct args
 *	static const struct opt opts[] = {
 *		{ 'b', "bytes", "SIZE", "smallest transfer (8M)", OPT_SIZE(bytes, 1, 1 << 30) },
 *		{ 0, "self", NULL, "both sides from this command", OPT_FLAG(self) },
 *		{ 0, "only", "ID", "only this check", OPT_TAKE(take_only) },
 *	};
 */
#ifndef TOOL_OPT_H
#define TOOL_OPT_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct opt_parser;

enum opt_kind { OPT_IS_OWN, OPT_IS_TEXT, OPT_IS_FLAG, OPT_IS_NUMBER, OPT_IS_INT,
		OPT_IS_SIZE, OPT_IS_CHOICE };

struct opt {
	char short_name;       /* 0: none                     */
	const char *long_name;
	const char *arg;       /* "SIZE"; NULL: a flag        */
	const char *help;      /* wrapped by the formatter    */
	enum opt_kind kind;
	size_t at;             /* in the command's struct     */
	uint64_t min, max;
	const char *const *words; /* NULL-terminated          */
	/* TOOL_OK, or another code with a message: the command's exit code. */
	int (*take)(const struct opt_parser *p, int id, void *args);
};

/* The end of a row: member @m of S, a name that the file defines for its struct. */
#define OPT_AT(m, fits) .at = offsetof(S, m) + 0 * sizeof(char[(fits) ? 1 : -1])
#define OPT_IS(m, type) __builtin_types_compatible_p(__typeof__(((S *)0)->m), type)
#define OPT_TEXT(m) .kind = OPT_IS_TEXT, OPT_AT(m, OPT_IS(m, const char *))
#define OPT_FLAG(m) .kind = OPT_IS_FLAG, OPT_AT(m, OPT_IS(m, bool))
#define OPT_NUMBER(m, lo, hi) \
	.kind = OPT_IS_NUMBER, .min = lo, .max = hi, OPT_AT(m, OPT_IS(m, uint64_t))
#define OPT_SIZE(m, lo, hi) \
	.kind = OPT_IS_SIZE, .min = lo, .max = hi, OPT_AT(m, OPT_IS(m, uint64_t))
/* Of int, unsigned or an enum: a number, the index of a word. */
#define OPT_INT(m, lo, hi) \
	.kind = OPT_IS_INT, .min = lo, .max = hi, OPT_AT(m, sizeof(((S *)0)->m) == sizeof(int))
#define OPT_CHOICE(m, list) \
	.kind = OPT_IS_CHOICE, .words = list, OPT_AT(m, sizeof(((S *)0)->m) == sizeof(int))
#define OPT_TAKE(function) .take = function

struct opt_command {
	const char *name;      /* "tcpx perf"                                       */
	const char *words;     /* "[OPTIONS] [HOST[:PORT]]"                         */
	const char *about;     /* one paragraph                                     */
	const struct opt *opts;
	size_t count;          /* at most 60; -h --help is added by itself          */
	const char *examples;  /* printed unchanged, lines ended by \n; NULL: none  */
	bool stop_at_word;     /* the first word ends the options (exec HOST CMD)   */
	/* what others call our options, in pairs: "-P", "--channels"; ends with NULL. Or NULL. */
	const char *const *others;
};

struct opt_parser {
	const struct opt_command *cmd; /* borrowed                              */
	int argc;
	char **argv;                   /* words move behind the options         */
	const char *value;             /* of the present option                 */
	int first_word;                /* argv index, after the last option     */
	void *args;                    /* the command's struct                  */
	int exit;                      /* the exit code where opt_read() ends   */
	char shorts[128];              /* the string for getopt_long()          */
	struct option longs[64];
};

void opt_help(const struct opt_command *cmd, FILE *f);
/* Reads all options into @args, the struct of the table's places. False: the command is at
 * its end, with p->exit; what is to say was said. One parser at a time in a process:
 * getopt_long() keeps its state in globals. */
bool opt_read(struct opt_parser *p, const struct opt_command *cmd, int argc, char **argv,
	      void *args);
/* TOOL_OK, or TOOL_USAGE with a message: more than @most words. */
int opt_words(const struct opt_parser *p, int most);

/* Values of the present option, @id in the table. TOOL_OK, or TOOL_USAGE with a message that
 * names the option, the value and what is allowed. */
int opt_number(const struct opt_parser *p, int id, uint64_t min, uint64_t max, uint64_t *out);
/* Bytes, as tcpx_parse_size() reads them. */
int opt_size(const struct opt_parser *p, int id, uint64_t min, uint64_t max, uint64_t *out);
/* The index of the value in words[], NULL-terminated. */
int opt_choice(const struct opt_parser *p, int id, const char *const *words, int *out);
/* For any other value: "<command>: --opt VALUE: <allowed>". Returns TOOL_USAGE. */
int opt_refuse(const struct opt_parser *p, int id, const char *allowed);

#endif
