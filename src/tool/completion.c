/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bash and zsh get one case for each command: its verbs, or its options as NAME or
 * NAME=VALUES. VALUES are words with commas between, @file, @dir, @nic or nothing. fish gets
 * lines of its own.
 */
#include "tool/completion.h"

#include <string.h>

#include "tool/tool.h"

const char *
completion_asked(int argc, char **argv)
{
	size_t len = strlen(COMPLETION_PART);

	return argc == 2 && !strncmp(argv[1], COMPLETION_PART, len) ? argv[1] + len : NULL;
}

static bool
is_fish(const char *shell)
{
	return !strcmp(shell, "fish");
}

/* What a value may be, from its name in the usage text. */
static const char *
kind_of(const struct opt *o)
{
	if (strstr(o->arg, "FILE") || strstr(o->arg, "PATH"))
		return "@file";
	if (strstr(o->arg, "DIR"))
		return "@dir";
	return !strcmp(o->arg, "NIC") || (!strcmp(o->long_name, "nics") && !strcmp(o->arg, "LIST")) ?
	       "@nic" : "";
}

static void
values(FILE *f, const struct opt *o)
{
	if (!o->words)
		fputs(kind_of(o), f);
	for (size_t i = 0; o->words && o->words[i]; i++)
		fprintf(f, "%s%s", i ? "," : "", o->words[i]);
}

/* For single quotes of fish: the first clause of the help text. */
static void
description(FILE *f, const char *help)
{
	for (size_t i = 0; help[i] && help[i] != ':' && help[i] != ';'; i++)
		if (help[i] == '\'' || help[i] == '\\')
			fprintf(f, "\\%c", help[i]);
		else
			fputc(help[i], f);
}

/* "irq plan" of "tcpx irq plan". */
static const char *
behind_tcpx(const char *name)
{
	return !strncmp(name, "tcpx ", 5) ? name + 5 : name;
}

static void
fish_condition(FILE *f, const char *path)
{
	fprintf(f, "complete -c tcpx -n '__tcpx_is %s'", path);
}

static void
fish_option(FILE *f, const char *path, const struct opt *o)
{
	fish_condition(f, path);
	fprintf(f, " -l %s", o->long_name);
	if (o->short_name)
		fprintf(f, " -s %c", o->short_name);
	if (o->arg && o->words) {
		fputs(" -x -a '", f);
		for (size_t i = 0; o->words[i]; i++)
			fprintf(f, "%s%s", i ? " " : "", o->words[i]);
		fputc('\'', f);
	} else if (o->arg) {
		const char *kind = kind_of(o);

		fputs(!strcmp(kind, "@file") ? " -r" :
		      !strcmp(kind, "@dir") ? " -x -a '(__fish_complete_directories)'" :
		      !strcmp(kind, "@nic") ? " -x -a '(command ls /sys/class/net)'" : " -x", f);
	}
	fputs(" -d '", f);
	description(f, o->help);
	fputs("'\n", f);
}

void
completion_options(FILE *f, const char *shell, const struct opt_command *cmd)
{
	const char *path = behind_tcpx(cmd->name);

	if (is_fish(shell)) {
		for (size_t i = 0; i < cmd->count; i++)
			fish_option(f, path, &cmd->opts[i]);
		return;
	}
	fprintf(f, "\t'%s') options='--help -h", path);
	for (size_t i = 0; i < cmd->count; i++) {
		const struct opt *o = &cmd->opts[i];

		fprintf(f, " --%s%s", o->long_name, o->arg ? "=" : "");
		if (o->arg)
			values(f, o);
		if (o->short_name) {
			fprintf(f, " -%c%s", o->short_name, o->arg ? "=" : "");
			if (o->arg)
				values(f, o);
		}
	}
	fputs("' ;;\n", f);
}

void
completion_names(FILE *f, const char *shell, const struct tool_verbs *v)
{
	const char *path = behind_tcpx(v->command);

	if (!is_fish(shell))
		fprintf(f, "\t'%s') verbs='", path);
	for (size_t i = 0; i < v->count; i++) {
		if (!is_fish(shell)) {
			fprintf(f, "%s%s", i ? " " : "", v->verb[i].name);
			continue;
		}
		fish_condition(f, path);
		fprintf(f, " -f -a %s -d '", v->verb[i].name);
		description(f, v->verb[i].about);
		fputs("'\n", f);
	}
	if (!is_fish(shell))
		fputs("' ;;\n", f);
}

void
completion_verbs(FILE *f, const char *shell, const struct tool_verbs *v)
{
	char order[64];

	if (v->command[0] || !is_fish(shell))
		completion_names(f, shell, v);
	snprintf(order, sizeof(order), COMPLETION_PART "%s", shell);
	for (size_t i = 0; i < v->count; i++) {
		char *argv[] = { (char *)v->verb[i].name, order, NULL };

		v->verb[i].run(2, argv);
	}
}

/* The function that both shells have: the words of a command, as verbs or as options. */
static const char known_head[] =
	"_tcpx_known() {\n"
	"\tverbs= options=\n"
	"\tcase $1 in\n";
static const char known_tail[] =
	"\tesac\n"
	"}\n\n"
	"# Sets verbs and options for the words behind tcpx that are complete; $@ are these.\n"
	"_tcpx_find() {\n"
	"\t_tcpx_known ''\n"
	"\t[ $# = 0 ] && return\n"
	"\tif [ \"$1\" = help ]; then\n"
	"\t\t[ $# = 1 ] || _tcpx_known \"$2\"\n"
	"\t\treturn\n"
	"\tfi\n"
	"\t_tcpx_known \"$1\"\n"
	"\t[ \"$verbs\" ] && [ $# -gt 1 ] && _tcpx_known \"$1 $2\"\n"
	"}\n\n";

static const char bash_tail[] =
	"_tcpx() {\n"
	"\tlocal verbs options entry value='@word' at=$COMP_CWORD\n"
	"\tlocal cur=${COMP_WORDS[at]} prev=${COMP_WORDS[at - 1]}\n\n"
	"\t# --name=value comes as three words\n"
	"\tif [ \"$cur\" = = ]; then\n"
	"\t\tcur=\n"
	"\telif [ \"$prev\" = = ]; then\n"
	"\t\tprev=${COMP_WORDS[at - 2]}\n"
	"\tfi\n"
	"\tCOMPREPLY=()\n"
	"\t_tcpx_find \"${COMP_WORDS[@]:1:at - 1}\"\n"
	"\tfor entry in $options; do\n"
	"\t\t[ \"${entry%%=*}\" = \"$prev\" ] && [ \"$entry\" != \"$prev\" ] && value=${entry#*=}\n"
	"\tdone\n"
	"\tif [ \"$verbs\" ]; then\n"
	"\t\tvalue=${verbs// /,}\n"
	"\telif [ \"$value\" = @word ] && [ \"${cur#-}\" != \"$cur\" ]; then\n"
	"\t\tvalue=\n"
	"\t\tfor entry in $options; do\n"
	"\t\t\tvalue=$value,${entry%%=*}\n"
	"\t\tdone\n"
	"\tfi\n"
	"\tcase $value in\n"
	"\t@dir) mapfile -t COMPREPLY < <(compgen -d -- \"$cur\") ;;\n"
	"\t@nic) mapfile -t COMPREPLY < <(compgen -W \"$(ls /sys/class/net)\" -- \"$cur\") ;;\n"
	"\t@*) mapfile -t COMPREPLY < <(compgen -f -- \"$cur\") ;;\n"
	"\t?*) mapfile -t COMPREPLY < <(compgen -W \"${value//,/ }\" -- \"$cur\") ;;\n"
	"\tesac\n"
	"}\n"
	"complete -F _tcpx tcpx\n";

static const char zsh_tail[] =
	"_tcpx() {\n"
	"\tlocal verbs options entry value='@word' prev=${words[CURRENT-1]}\n"
	"\tlocal -a offers\n\n"
	"\t_tcpx_find \"${(@)words[2,CURRENT-1]}\"\n"
	"\tfor entry in ${=options}; do\n"
	"\t\t[[ ${entry%%=*} == \"$prev\" && $entry != \"$prev\" ]] && value=${entry#*=}\n"
	"\t\toffers+=(${entry%%=*})\n"
	"\tdone\n"
	"\tif [[ -n $verbs ]]; then\n"
	"\t\tcompadd -- ${=verbs}\n"
	"\telif [[ $value == @word && ${words[CURRENT]} == -* ]]; then\n"
	"\t\tcompadd -- $offers\n"
	"\telse\n"
	"\t\tcase $value in\n"
	"\t\t@dir) _files -/ ;;\n"
	"\t\t@nic) compadd -- /sys/class/net/*(:t) ;;\n"
	"\t\t@*) _files ;;\n"
	"\t\t?*) compadd -- ${(s:,:)value} ;;\n"
	"\t\tesac\n"
	"\tfi\n"
	"}\n"
	"compdef _tcpx tcpx\n";

static const char fish_head[] =
	"# The words behind tcpx that are no options begin with these, and no verb is missing.\n"
	"function __tcpx_is\n"
	"\tset -l words (commandline -opc)\n"
	"\tset -e words[1]\n"
	"\tif test (count $argv) = 1\n"
	"\t\ttest \"$words[1]\" = \"$argv[1]\"; or return\n"
	"\t\tcontains -- $argv[1] $__tcpx_with_verbs; or return 0\n"
	"\t\ttest (count $words) = 1\n"
	"\t\treturn\n"
	"\tend\n"
	"\ttest \"$words[1]\" = \"$argv[1]\"; and test \"$words[2]\" = \"$argv[2]\"\n"
	"end\n"
	"set -g __tcpx_with_verbs irq lab matrix diag help completion\n";

void
completion_script(FILE *f, const char *shell, const struct tool_verbs *commands)
{
	if (!strcmp(shell, "zsh"))
		fputs("#compdef tcpx\n", f);
	fprintf(f, "# %s completion for tcpx, written by `tcpx completion %s`\n", shell, shell);
	if (is_fish(shell)) {
		fputs(fish_head, f);
		for (size_t i = 0; i < commands->count; i++) {
			fprintf(f, "complete -c tcpx -n __fish_use_subcommand -f -a %s -d '",
				commands->verb[i].name);
			description(f, commands->verb[i].about);
			fputs("'\n", f);
		}
	} else {
		fputs(known_head, f);
	}
	completion_verbs(f, shell, commands);
	if (is_fish(shell))
		return;
	fputs(known_tail, f);
	fputs(!strcmp(shell, "bash") ? bash_tail : zsh_tail, f);
}
