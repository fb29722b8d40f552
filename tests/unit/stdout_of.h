/* SPDX-License-Identifier: Apache-2.0 */
/* stdout_of() takes what a command prints from the way that a test's own results go. */
#ifndef STDOUT_OF_H
#define STDOUT_OF_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Returns a text that is to be freed. */
static inline char *
stdout_of(int (*command)(int argc, char **argv), int argc, char **argv, int *code)
{
	int old = dup(STDOUT_FILENO);
	FILE *tmp = tmpfile();
	char *text;
	long len;

	assert_true(old >= 0);
	assert_non_null(tmp);
	fflush(stdout);
	dup2(fileno(tmp), STDOUT_FILENO);
	*code = command(argc, argv);
	fflush(stdout);
	dup2(old, STDOUT_FILENO);
	close(old);
	fseek(tmp, 0, SEEK_END);
	len = ftell(tmp);
	rewind(tmp);
	text = calloc(1, (size_t)len + 1);
	assert_non_null(text);
	assert_int_equal(fread(text, 1, (size_t)len, tmp), len);
	fclose(tmp);
	return text;
}

#endif
