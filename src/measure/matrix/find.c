/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A spec ends in .matrix. Shipped specs lie beside the program: in share/ of its prefix, or
 * of the source tree of its build folder.
 */
#include "measure/matrix/find.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/out_text.h"
#include "tool/tool.h"

static const char suffix[] = ".matrix";

/* Relative to the program's folder: installed, and in a build folder. */
static const char *const shelves[] = { "../share/tcpx-p2p/matrix", "../share/matrix",
				       "share/matrix" };

void
matrix_find_self(char out[MATRIX_PATH])
{
	ssize_t len = readlink("/proc/self/exe", out, MATRIX_PATH - 1);

	snprintf(out, len > 0 ? 0 : MATRIX_PATH, "tcpx");
	if (len > 0)
		out[len] = '\0';
}

static void
shelf_path(size_t i, char out[MATRIX_PATH])
{
	char self[MATRIX_PATH], *slash;

	matrix_find_self(self);
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	if (snprintf(out, MATRIX_PATH, "%s/%s", slash ? self : ".", shelves[i]) >= MATRIX_PATH)
		out[0] = '\0';
}

static int
is_spec(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return len > sizeof(suffix) - 1 &&
	       !strcmp(entry->d_name + len - (sizeof(suffix) - 1), suffix);
}

/* The specs of the first shelf that exists, by name, to be freed one by one; their number. */
static int
shelf_scan(char path[MATRIX_PATH], struct dirent ***list)
{
	int n = -1;

	*list = NULL;
	for (size_t i = 0; i < ARRAY_LEN(shelves) && n < 0; i++) {
		shelf_path(i, path);
		n = scandir(path, list, is_spec, alphasort);
	}
	return n;
}

int
matrix_find(const char *word, char out[MATRIX_PATH])
{
	char shelf[MATRIX_PATH], names[512] = "none here";
	struct dirent **list;
	bool found = false;
	size_t at = 0;
	int n;

	if (strlen(word) < MATRIX_PATH && (strchr(word, '/') || !access(word, R_OK))) {
		snprintf(out, MATRIX_PATH, "%s", word);
		return 0;
	}
	n = shelf_scan(shelf, &list);
	for (int i = 0; i < n; i++) {
		const char *name = list[i]->d_name;
		size_t len = strlen(name) - (sizeof(suffix) - 1);

		if (strlen(word) == len && !strncmp(word, name, len))
			found = snprintf(out, MATRIX_PATH, "%s/%s", shelf, name) < MATRIX_PATH;
		if (at + len + 3 < sizeof(names))
			at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%.*s",
					       at ? ", " : "", (int)len, name);
		free(list[i]);
	}
	free(list);
	return found ? 0 : tcpx_fail(TCPX_SUB_TOOL, -ENOENT, "there is no file '%.80s' and no "
				     "shipped spec of that name; shipped are: %s", word, names);
}

void
matrix_find_print(void)
{
	char shelf[MATRIX_PATH], path[2 * MATRIX_PATH];
	struct dirent **list;
	int n = shelf_scan(shelf, &list);

	for (int i = 0; i < n; i++) {
		struct matrix_spec spec;
		char *text;
		size_t len;

		snprintf(path, sizeof(path), "%s/%s", shelf, list[i]->d_name);
		text = matrix_file_read(path, &len);
		if (text && !matrix_spec_parse(text, len, list[i]->d_name, &spec)) {
			printf("  %-14.*s ", (int)(strlen(list[i]->d_name) - strlen(suffix)),
			       list[i]->d_name);
			out_wrapped(stdout, matrix_spec_text(&spec, MATRIX_TITLE, ""), 17);
			matrix_spec_fini(&spec);
		}
		free(text);
		free(list[i]);
	}
	free(list);
}
