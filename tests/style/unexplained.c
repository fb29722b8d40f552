/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the lines of stdin that tcpx doctor --explain does not know. */
#include <stdio.h>
#include <stdlib.h>

#include "tune/doctor/explain.h"

int
main(void)
{
	struct explained e;
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;

	while ((len = getline(&line, &cap, stdin)) > 0) {
		line[len - 1] = '\0';
		if (!explain_find(line, &e))
			puts(line);
	}
	free(line);
	return 0;
}
