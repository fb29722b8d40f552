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
#include "tool/tool.h"

struct args {
	const char *path;
};
#define S struct args

static const struct opt opts[] = {
	{ 'o', "output", "FILE", "the report, - for stdout (report.html)", OPT_TEXT(path) },
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
	struct result results[REPORT_RECORDS_MAX];
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
	struct args a = { "report.html" };
	struct opt_parser parser;
	size_t files;
	int rc;

	if (!opt_read(&parser, &command, argc, argv, &a))
		return parser.exit;
	files = (size_t)(argc - parser.first_word);
	if (files < 1 || files > REPORT_RECORDS_MAX)
		return tool_usage(command.name, "%zu result files given, must be 1 to %d", files,
				  REPORT_RECORDS_MAX);
	rc = report(argv + parser.first_word, files, a.path);
	if (!rc && strcmp(a.path, "-") && isatty(STDERR_FILENO))
		fprintf(stderr, "report: %s\n", a.path);
	return rc;
}
