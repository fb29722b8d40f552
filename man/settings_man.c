/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes tcpx.conf.5 from its template and the table of settings, so that the page cannot
 * say anything else than the program. Usage: settings_man TEMPLATE
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/settings.h"

/* What roff would take for a hyphen or an escape is meant as it stands. */
static void
print_text(const char *text)
{
	for (; *text; text++) {
		if (*text == '-' || *text == '\\')
			putchar('\\');
		putchar(*text == '\\' ? 'e' : *text);
	}
}

static void
print_names(const char *title, const char *const *names)
{
	for (size_t i = 0; names[i]; i++)
		printf("%s\n.B %s\n", i ? "or" : title, names[i]);
}

static void
print_setting(const struct tcpx_setting_def *def)
{
	bool unit = def->unit[0] && def->value[0] >= '0' && def->value[0] <= '9';
	char allowed[256];

	printf(".TP\n.B %s\n", def->name);
	print_text(def->help);
	printf("\n.br\nDefault: ");
	print_text(def->value[0] ? def->value : "empty");
	printf("%s%s. Allowed: ", unit ? " " : "", unit ? def->unit : "");
	print_text(tcpx_setting_allowed(def, allowed, sizeof(allowed)));
	printf(".\n");
	print_names(".br\nOther name:", def->aliases);
	print_names(".br\nFollows, if it is set,", def->hints);
}

int
main(int argc, char **argv)
{
	const struct tcpx_setting_def *def;
	char line[512];
	FILE *f = argc == 2 ? fopen(argv[1], "r") : NULL;

	if (!f) {
		fprintf(stderr, "usage: settings_man TEMPLATE\n");
		return 2;
	}
	while (fgets(line, sizeof(line), f)) {
		if (strcmp(line, ".\\\" @SETTINGS@\n") != 0) {
			fputs(line, stdout);
			continue;
		}
		for (unsigned i = 0; (def = tcpx_setting_at(i)); i++)
			print_setting(def);
	}
	fclose(f);
	return 0;
}
