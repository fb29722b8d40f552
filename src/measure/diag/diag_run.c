/* SPDX-License-Identifier: Apache-2.0 */
/* tcpx diag run: a command with diagnostics around it. Its exit code becomes ours. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/parse.h"
#include "measure/diag/diag.h"
#include "tool/opt.h"
#include "tool/json_file.h"
#include "tool/output.h"
#include "tool/tool.h"

#define NAME "tcpx diag run"

/* ---- while it runs ---------------------------------------------------------------- */

static void
make_sampler(struct diag *d, long pid)
{
	long pids[1 + DIAG_PROCESSES + 256] = { pid };
	struct tcpx_sample_options o = {
		.root = d->root, .topo = d->before.topo, .pids = pids, .pid_count = 1,
		.pmu = &d->pmu, .interval_ns = d->interval_ns,
	};

	for (unsigned i = 0; !d->root && i < d->process_count; i++)
		pids[o.pid_count++] = d->process[i].pid;
	/* kernel threads that work for queues */
	for (unsigned i = 0; !d->root && i < d->before.topo->thread_count; i++)
		if (o.pid_count < ARRAY_LEN(pids))
			pids[o.pid_count++] = d->before.topo->threads[i].pid;
	if (tcpx_sampler_new(&o, diag_now_ns(), &d->sampler) < 0)
		d->sampler = NULL; /* the reason is in the log; the command matters more */
}

static void
on_begin(void *arg, long pid)
{
	struct diag *d = arg;

	tcpx_pmu_open(pid, &d->pmu);
	make_sampler(d, pid);
}

static uint64_t
when_due(void *arg)
{
	struct diag *d = arg;

	return d->sampler ? tcpx_sampler_due(d->sampler) : UINT64_MAX;
}

static void
on_sample(void *arg, uint64_t now_ns)
{
	struct diag *d = arg;

	if (d->sampler)
		tcpx_sampler_take(d->sampler, now_ns);
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

static void
take_counts(struct diag *d)
{
	for (unsigned i = 0; i < TCPX_PMU_EVENTS; i++)
		d->pmu_count[i] = tcpx_pmu_read(&d->pmu, i);
	tcpx_pmu_close(&d->pmu);
	if (d->before.snapped && d->after.snapped)
		d->diffed = tcpx_irqdiff_make(&d->before.snap, &d->after.snap, &d->diff) == 0;
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
		more = tool_json_write(json, json_path);
	json_decref(json);
	return rc ? rc : more;
}

static int
run(struct diag *d, const char *json_path)
{
	const struct diag_child_hooks hooks = { d, on_begin, when_due, on_sample, on_output };
	int rc;

	rc = diag_look(d, &d->before);
	if (rc)
		return rc;
	diag_find_processes(d);
	diag_metrics_command(&d->metrics, d->words);
	rc = diag_child_run(d->words, &hooks, &d->child);
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
	take_counts(d);
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
	tcpx_sampler_free(d->sampler);
	diag_side_fini(&d->before);
	diag_side_fini(&d->after);
	diag_metrics_fini(&d->metrics);
	free(d->journal);
}

struct args {
	const char *dir, *json, *root;
	uint64_t interval_ms;
};
#define S struct args

static int
take_interval(const struct opt_parser *p, int id, void *args)
{
	struct args *a = args;

	if (tcpx_parse_ms(p->value, &a->interval_ms) < 0 || a->interval_ms < 1 ||
	    a->interval_ms > 3600000)
		return opt_refuse(p, id, "a time from 1ms to 3600s");
	return TOOL_OK;
}

int
diag_run(int argc, char **argv)
{
	static const struct opt opts[] = {
		{ 'o', "output", "DIR", "where to (diagnostics/run_TIME_PID)", OPT_TEXT(dir) },
		{ 'i', "interval", "TIME", "between samples of CPUs, interrupts and threads: 1s, "
		  "100ms (1s)", OPT_TAKE(take_interval) },
		{ 0, "root", "DIR", "CPUs, NICs and interrupts of the machine whose /sys and "
		  "/proc lie in DIR", OPT_TEXT(root) },
		{ 'j', "json", "FILE", "diag.json there, too; - is stdout, and what the command "
		  "says goes to stderr", OPT_TEXT(json) },
	};
	static const struct opt_command cmd = {
		NAME, "[OPTIONS] -- COMMAND...",
		"Runs a command and collects what it did to the machine: interrupts before, after "
		"and between, use of each CPU, where threads ran, counters of NICs, the data path "
		"manager of GPUDirect-TCPX, the environment, and the figures that the command "
		"printed. Begin with DIR/SUMMARY.txt. The exit code is the command's.",
		opts, ARRAY_LEN(opts),
		"  tcpx diag run -o before -- tcpx perf --self -b 64M\n"
		"  tcpx diag run -- mpirun -np 16 all_reduce_perf -b 64M -e 64M -n 20\n"
		"  tcpx diag compare before after\n", true, NULL,
	};
	struct args a = { .interval_ms = 1000 };
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
	d.interval_ns = a.interval_ms * 1000000;
	d.words = argv + p.first_word;
	d.to_stderr = a.json && !strcmp(a.json, "-");
	tcpx_pmu_none(&d.pmu, "the command was not run");
	diag_metrics_init(&d.metrics);
	rc = open_folder(&d, a.dir);
	if (rc == TOOL_OK)
		rc = run(&d, a.json);
	fini(&d);
	return rc;
}
