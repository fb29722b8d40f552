/* SPDX-License-Identifier: Apache-2.0 */
/* tcpx diag run: a command with diagnostics around it. Its exit code becomes ours. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "measure/diag/diag.h"
#include "tool/opt.h"
#include "tool/json_file.h"
#include "tool/output.h"
#include "tool/tool.h"

#define NAME "tcpx diag run"

/* ---- while it runs ---------------------------------------------------------------- */

static void
on_begin(void *arg, long pid)
{
	diag_beside_begin(arg, pid);
}

static void
on_output(void *arg, bool is_error, const char *bytes, size_t len)
{
	struct diag *d = arg;
	int fd = is_error || d->to_stderr ? STDERR_FILENO : STDOUT_FILENO;

	fwrite(bytes, 1, len, d->output);
	if (!is_error)
		diag_metrics_feed(&d->metrics, bytes, len);
	for (size_t done = 0; done < len;) {
		ssize_t n = write(fd, bytes + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break; /* no reader is left; the file has the output */
		done += (size_t)n;
	}
}

/* ---- around it -------------------------------------------------------------------- */

static int
make_folders(const char *path)
{
	char copy[512];

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *p = copy + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		mkdir(copy, 0777);
		*p = '/';
	}
	return mkdir(copy, 0777) < 0 && errno != EEXIST ? -errno : 0;
}

/* Makes the folder and the output file first, so that no run is in vain. */
static int
open_folder(struct diag *d, const char *wanted)
{
	char path[640], stamp[32];
	struct tm tm;
	int rc;

	d->started_s = time(NULL);
	gmtime_r(&d->started_s, &tm);
	strftime(d->started, sizeof(d->started), "%Y-%m-%dT%H:%M:%SZ", &tm);
	localtime_r(&d->started_s, &tm);
	strftime(stamp, sizeof(stamp), "%Y%m%d_%H%M%S", &tm);
	if (wanted && strlen(wanted) >= sizeof(d->dir))
		return tool_fail(TOOL_USAGE, NAME, "the name of the folder is too long");
	if (wanted)
		snprintf(d->dir, sizeof(d->dir), "%s", wanted);
	else
		snprintf(d->dir, sizeof(d->dir), "diagnostics/run_%s_%ld", stamp, (long)getpid());
	rc = make_folders(d->dir);
	snprintf(path, sizeof(path), "%s/output.txt", d->dir);
	d->output = rc < 0 ? NULL : fopen(path, "we");
	if (d->output)
		return TOOL_OK;
	return tool_fail(TOOL_USAGE, NAME, "cannot write to %s: %s", d->dir,
			 strerror(rc < 0 ? -rc : errno));
}

static int
save(struct diag *d, const char *json_path)
{
	json_t *json = diag_json(d);
	int rc, more = TOOL_OK;

	if (!json)
		return tool_fail(TOOL_DENIED, NAME, "no memory for the JSON text");
	rc = diag_write(d, json);
	if (json_path)
		more = tool_json_write(NAME, json, json_path);
	json_decref(json);
	return rc ? rc : more;
}

static int
run(struct diag *d, const char *json_path)
{
	const struct diag_child_hooks hooks = { d, on_begin, on_output };
	int rc;

	rc = diag_look(d, &d->before);
	if (rc)
		return rc;
	diag_find_processes(d);
	diag_metrics_command(&d->metrics, d->words);
	rc = diag_child_run(d->words, &hooks, &d->child);
	diag_beside_end(d);
	diag_metrics_end(&d->metrics);
	fclose(d->output);
	d->output = NULL;
	if (rc < 0)
		return tool_fail(TOOL_DENIED, NAME, "no process can be started: %s", strerror(-rc));
	if (d->child.exec_error)
		tool_fail(0, NAME, "%s: %s", d->words[0], strerror(d->child.exec_error));
	rc = diag_look(d, &d->after);
	if (rc)
		return rc;
	if (d->before.snapped && d->after.snapped)
		d->diffed = tcpx_irqdiff_make(&d->before.snap, &d->after.snap, &d->diff) == 0;
	diag_read_journal(d);
	rc = save(d, json_path);
	fprintf(stderr, "%s: %s/SUMMARY.txt\n", NAME, d->dir);
	return d->child.code ? d->child.code : rc;
}

static void
fini(struct diag *d)
{
	if (d->output)
		fclose(d->output);
	if (d->diffed)
		tcpx_irqdiff_fini(&d->diff);
	diag_side_fini(&d->before);
	diag_side_fini(&d->after);
	diag_metrics_fini(&d->metrics);
	free(d->journal);
}

struct args {
	const char *dir, *json, *root;
};
#define S struct args

int
diag_run(int argc, char **argv)
{
	static const struct opt opts[] = {
		{ 'o', "output", "DIR", "where to (diagnostics/run_TIME_PID)", OPT_TEXT(dir) },
		{ 0, "root", "DIR", "CPUs, NICs and interrupts of the machine whose /sys and "
		  "/proc lie in DIR", OPT_TEXT(root) },
		{ 'j', "json", "FILE", "diag.json there, too; - is stdout, and what the command "
		  "says goes to stderr", OPT_TEXT(json) },
	};
	static const struct opt_command cmd = {
		NAME, "[OPTIONS] -- COMMAND...",
		"Runs a command and collects what it did to the machine: interrupts, counters of "
		"NICs and use of each CPU before and after, the data path manager of "
		"GPUDirect-TCPX, the environment, and the figures that the command printed. mpstat, "
		"pidstat and perf run beside it where they are installed. Begin with "
		"DIR/SUMMARY.txt. The exit code is the command's.",
		opts, ARRAY_LEN(opts),
		"  tcpx diag run -o before -- tcpx perf --self -b 64M\n"
		"  tcpx diag run -- mpirun -np 16 all_reduce_perf -b 64M -e 64M -n 20\n"
		"  tcpx diag compare before after\n", true, NULL,
	};
	struct args a = { NULL };
	struct diag d = { .root = NULL };
	struct opt_parser p;
	int rc;

	if (!opt_read(&p, &cmd, argc, argv, &a))
		return p.exit;
	if (p.first_word == argc)
		return tool_usage(NAME, "no command to run");
	if (output_writable(NAME, "--json", a.json) != TOOL_OK)
		return TOOL_USAGE;
	d.root = a.root;
	d.words = argv + p.first_word;
	d.to_stderr = a.json && !strcmp(a.json, "-");
	diag_metrics_init(&d.metrics);
	rc = open_folder(&d, a.dir);
	if (rc == TOOL_OK)
		rc = run(&d, a.json);
	fini(&d);
	return rc;
}
