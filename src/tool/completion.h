/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shell completion, written from the tables of commands, verbs and options. Each command
 * writes its own part: opt_read() and tool_run_verb() take the word COMPLETION_PART and the
 * shell's name for an order to do so.
 */
#ifndef TOOL_COMPLETION_H
#define TOOL_COMPLETION_H

#include <stdbool.h>
#include <stdio.h>

#include "tool/opt.h"
#include "tool/verbs.h"

#define COMPLETION_PART "--completion-part="

/* The shell, bash, zsh or fish, of an order to write a part; NULL: @argv is none. */
const char *completion_asked(int argc, char **argv);
void completion_options(FILE *f, const char *shell, const struct opt_command *cmd);
/* The words that may stand behind a command. */
void completion_names(FILE *f, const char *shell, const struct tool_verbs *v);
/* These, and the part of each of them. */
void completion_verbs(FILE *f, const char *shell, const struct tool_verbs *v);
/* The whole script: of the words behind "tcpx", and of each of these commands. */
void completion_script(FILE *f, const char *shell, const struct tool_verbs *commands);

#endif
