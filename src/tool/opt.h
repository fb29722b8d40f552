/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command's options as one table: parsing, --help and error messages come from it.
 * opt_next() returns the index in the table, so commands index it by an enum:
 *
 *	enum { OPT_BYTES, OPT_SELF };
 *	static const struct opt opts[] = {
 *		[OPT_BYTES] = { 'b', "bytes", "SIZE", "smallest transfer (8M)" },
 *		[OPT_SELF]  = { 0, "self", NULL, "both sides from this command" },
 *	};
 */
#ifndef TOOL_OPT_H
#define TOOL_OPT_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct opt {
	char short_name;       /* 0: none                     */
	const char *long_name;
	const char *arg;       /* "SIZE"; NULL: a flag        */
	const char *help;      /* wrapped by the formatter    */
};

struct opt_command {
	const char *name;      /* "tcpx perf"                                       */
	const char *words;     /* "[OPTIONS] [HOST[:PORT]]"                         */
	const char *about;     /* one paragraph                                     */
	const struct opt *opts;
	size_t count;          /* at most 60; -h --help is added by itself          */
	const char *examples;  /* printed unchanged, lines ended by \n; NULL: none  */
	bool stop_at_word;     /* the first word ends the options (exec HOST CMD)   */
};

enum { OPT_END = -1, OPT_HELP = -2, OPT_BAD = -3 };

struct opt_parser {
	const struct opt_command *cmd; /* borrowed                              */
	int argc;
	char **argv;                   /* words move behind the options         */
	const char *value;             /* of the option just returned           */
	int first_word;                /* argv index, valid at OPT_END          */
	char shorts[128];              /* the string for getopt_long()          */
	struct option longs[64];
};

/* One parser at a time in a process: getopt_long() keeps its state in globals. */
void opt_init(struct opt_parser *p, const struct opt_command *cmd, int argc, char **argv);
/* The index of the next option in cmd->opts; OPT_END; OPT_HELP (help was printed: return
 * TOOL_OK); OPT_BAD (a message was printed: return TOOL_USAGE). */
int opt_next(struct opt_parser *p);
void opt_help(const struct opt_command *cmd, FILE *f);

/* Values of the option @id just returned. TOOL_OK, or TOOL_USAGE with a message that
 * names the option, the value and what is allowed. */
int opt_number(const struct opt_parser *p, int id, uint64_t min, uint64_t max, uint64_t *out);
/* Bytes, as tcpx_parse_size() reads them. */
int opt_size(const struct opt_parser *p, int id, uint64_t min, uint64_t max, uint64_t *out);
/* The index of the value in words[], NULL-terminated. */
int opt_choice(const struct opt_parser *p, int id, const char *const *words, int *out);
/* For any other value: "<command>: --opt VALUE: <allowed>". Returns TOOL_USAGE. */
int opt_refuse(const struct opt_parser *p, int id, const char *allowed);

#endif
