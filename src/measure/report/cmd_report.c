/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcpx report: result files in, one HTML file out.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/report/html.h"
#include "tool/opt.h"
#include "measure/report/result.h"
#include "measure/report/svg_plot.h"
#include "tool/tool.h"

enum { OPT_OUTPUT };

static const struct opt opts[] = {
	[OPT_OUTPUT] = { 'o', "output", "FILE", "the report, - for stdout (report.html)" },
};

static const struct opt_command command = {
	.name = "tcpx report",
	.words = "[OPTIONS] RESULT.json...",
	.about = "Turns results of `tcpx perf --json` into one HTML file with plots that needs "
		 "nothing else. The first result is the subject; up to five more are compared "
		 "with it.",
	.opts = opts,
	.count = ARRAY_LEN(opts),
	.examples = "  tcpx perf --self --baseline -b 1M -e 1G --json run.json\n"
		    "  tcpx report run.json -o run.html\n"
		    "  tcpx report before.json after.json\n",
};

static int
report(char **files, size_t n, const char *path)
{
	struct result results[SVG_SERIES_MAX];
	size_t loaded = 0;
	int rc = 0;

	while (loaded < n && !rc) {
		rc = result_load(files[loaded], &results[loaded]);
		loaded += !rc;
	}
	if (!rc)
		rc = report_write(results, n, path);
	while (loaded)
		result_fini(&results[--loaded]);
	return rc ? TOOL_USAGE : TOOL_OK; /* the reason is in the log */
}

int
cmd_report(int argc, char **argv)
{
	const char *path = "report.html";
	struct opt_parser parser;
	size_t files;
	int opt, rc;

	opt_init(&parser, &command, argc, argv);
	while ((opt = opt_next(&parser)) >= 0)
		if (opt == OPT_OUTPUT)
			path = parser.value;
	if (opt != OPT_END)
		return opt == OPT_HELP ? TOOL_OK : TOOL_USAGE;

	files = (size_t)(argc - parser.first_word);
	if (files < 1 || files > SVG_SERIES_MAX)
		return tool_usage(command.name, "%zu result files given, must be 1 to %d", files,
				  SVG_SERIES_MAX);
	rc = report(argv + parser.first_word, files, path);
	if (!rc && strcmp(path, "-") && isatty(STDERR_FILENO))
		fprintf(stderr, "report: %s\n", path);
	return rc;
}
