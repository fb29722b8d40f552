/* SPDX-License-Identifier: Apache-2.0 */
/* tcpx env: prints the variables that a job over GPUDirect-TCPX needs on this machine; with
 * --lint, the problems of variables that are set already. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hints.h"
#include "tune/env/lint.h"
#include "tune/env/make.h"
#include "tune/info/machine_plugin.h"
#include "tool/opt.h"
#include "tool/out_text.h"
#include "tool/json_file.h"
#include "tool/tool.h"

#define NAME "tcpx env"
#define TEXT_BYTES (4u << 20) /* longest environment: the kernel's own limit is 6 MiB in all */

struct args {
	const char *file, *nics, *control, *root, *json;
	uint64_t pid;
	int form; /* -1: not said */
	bool lint;
};
#define S struct args

static const struct opt opts[] = {
	{ 'f', "format", "FORM", "sh (the default), json, docker (for --env-file) or slurm "
	  "(lines of a job script)", OPT_CHOICE(form, env_form_names) },
	{ 'l', "lint", NULL, "say what is wrong with the present environment instead",
	  OPT_FLAG(lint) },
	{ 0, "file", "FILE", "with --lint: the environment that FILE sets: a script, with mpirun or Slurm, "
	  "or a manifest; - for stdin", OPT_TEXT(file) },
	{ 'p', "pid", "PID", "with --lint: the environment that a process was started with",
	  OPT_NUMBER(pid, 1, 1ull << 30) },
	{ 'n', "nics", "LIST", "data go by these NICs (TCPX_NICS, else "
	  "NCCL_GPUDIRECTTCPX_SOCKET_IFNAME, else those next to GPUs)", OPT_TEXT(nics) },
	{ 'c', "control", "NIC", "the NIC for control connections", OPT_TEXT(control) },
	{ 0, "root", "DIR", "for the machine whose /sys and /proc lie in DIR", OPT_TEXT(root) },
	{ 'j', "json", "FILE", "variables with reasons, or findings, as JSON; - is stdout",
	  OPT_TEXT(json) },
};

static const struct opt_command command = {
	NAME, "[nccl] [OPTIONS]",
	"Prints the environment that a job over GPUDirect-TCPX should have on this machine: what "
	"Google publishes for NCCL on A3-high, with this machine's NICs and the plan's CPUs "
	"(tcpx irq plan). With --lint says what is wrong with one; exit code 1 if there is an "
	"error or a warning. The word nccl: what a job of NCCL over our own plugin needs instead, on "
	"any machine.",
	opts, ARRAY_LEN(opts),
	"  eval \"$(tcpx env)\"\n"
	"  tcpx env --format docker > tcpx.env && docker run --env-file tcpx.env ...\n"
	"  eval \"$(tcpx env nccl)\"\n"
	"  tcpx env --lint\n"
	"  tcpx env --lint --pid \"$(pgrep -n all_reduce_perf)\"\n", false, NULL,
};

/* The whole content of the file; NULL with a message. */
static char *
read_bytes(FILE *f, const char *what, size_t *len)
{
	char *bytes = malloc(TEXT_BYTES);

	*len = 0;
	if (!bytes) {
		tool_fail(TOOL_DENIED, NAME, "no memory for %s", what);
		return NULL;
	}
	*len = fread(bytes, 1, TEXT_BYTES, f);
	if (!ferror(f) && *len < TEXT_BYTES)
		return bytes;
	tool_fail(TOOL_USAGE, NAME, "%s: %s", what,
		  ferror(f) ? strerror(errno) : "longer than 4 MiB, which no environment is");
	free(bytes);
	return NULL;
}

/* The requested environment; NULL with a message and the exit code in *rc. */
static char **
load(const struct args *a, const struct machine *m, int *rc)
{
	bool stdin_too = a->file && !strcmp(a->file, "-");
	char path[4200], **texts = NULL, *bytes;
	size_t len;
	FILE *f;

	if (a->file)
		snprintf(path, sizeof(path), "%s", a->file);
	else
		snprintf(path, sizeof(path), "%s/proc/%llu/environ", m->here ? "" : m->root,
			 (unsigned long long)a->pid);
	f = stdin_too ? stdin : fopen(path, "re");
	if (!f) {
		*rc = tool_fail(errno == EACCES ? TOOL_DENIED : TOOL_USAGE, NAME, "%s: %s", path,
				strerror(errno));
		return NULL;
	}
	bytes = read_bytes(f, path, &len);
	if (!stdin_too)
		fclose(f);
	*rc = TOOL_USAGE;
	if (!bytes)
		return NULL;
	if (a->file && len && bytes[0] == '{') {
		tool_fail(TOOL_USAGE, NAME, "%s is JSON: --lint takes the other forms", path);
		free(bytes);
		return NULL;
	}
	texts = a->file ? env_job_texts(bytes, len) : env_texts(bytes, len);
	free(bytes);
	if (!texts)
		*rc = tool_fail(TOOL_DENIED, NAME, "no memory for %s", path);
	if (!texts || !a->file || *texts)
		return texts;
	env_texts_free(texts);
	tool_fail(TOOL_USAGE, NAME, "no line of %s is NAME=VALUE, by itself or as mpirun, Slurm and Kubernetes have it",
		  stdin_too ? "stdin" : path);
	return NULL;
}

static void
print_lint(const struct env_lint *lint)
{
	static const enum tool_colour colours[ENV_LEVELS] = { TOOL_RED, TOOL_YELLOW, TOOL_DIM };

	for (unsigned i = 0; i < lint->count; i++) {
		const struct env_finding *f = &lint->at[i];

		printf("%s%-8s%s %-14s ", tool_paint(stdout, colours[f->level]),
		       env_level_name(f->level), tool_paint(stdout, TOOL_PLAIN), f->id);
		out_plain(stdout, f->name);
		putchar(' ');
		out_plain(stdout, f->text);
		putchar('\n');
	}
	if (lint->left_out)
		printf("and %u more\n", lint->left_out);
	printf("%u error%s, %u warning%s, %u note%s\n", lint->of[ENV_ERROR],
	       lint->of[ENV_ERROR] == 1 ? "" : "s", lint->of[ENV_WARNING],
	       lint->of[ENV_WARNING] == 1 ? "" : "s", lint->of[ENV_NOTE],
	       lint->of[ENV_NOTE] == 1 ? "" : "s");
}

static int
lint(const struct args *a, const struct machine *m, const struct tcpx_roles *roles)
{
	struct env_lint found;
	char **texts = environ;
	int rc = TOOL_OK;

	if (a->file || a->pid)
		texts = load(a, m, &rc);
	if (!texts)
		return rc;
	rc = env_lint(m, roles, texts, &found);
	if (texts != environ)
		env_texts_free(texts);
	if (rc)
		return tool_fail(TOOL_DENIED, NAME, "no memory to look at the environment");
	if (!a->json || strcmp(a->json, "-"))
		print_lint(&found);
	if (a->json)
		rc = tool_json_put(NAME, env_lint_json(&found), a->json);
	if (rc == TOOL_OK && found.of[ENV_ERROR] + found.of[ENV_WARNING])
		rc = TOOL_FINDING;
	return rc;
}

static int
print(const struct args *a, const struct env_set *set)
{
	if (a->form == ENV_JSON && !a->json)
		return tool_json_put(NAME, env_json(set), "-");
	if (!a->json || a->form >= 0)
		env_print(stdout, set, a->form < 0 ? ENV_SH : (enum env_form)a->form);
	return a->json ? tool_json_put(NAME, env_json(set), a->json) : TOOL_OK;
}

static int
make(const struct args *a, const struct machine *m, const struct tcpx_roles *roles)
{
	struct env_set set;
	int rc;

	if (env_make(m, roles, &set))
		return tool_fail(TOOL_DENIED, NAME, "no memory for the variables");
	rc = print(a, &set);
	env_fini(&set);
	return rc;
}

static int
make_nccl(const struct args *a)
{
	struct env_set set;
	int rc;

	if (env_make_nccl(a->nics, &set))
		return tool_fail_last(TOOL_DENIED, NAME, "variables for NCCL");
	rc = print(a, &set);
	if (*set.idle && rc == TOOL_OK)
		tool_fail(TOOL_OK, NAME, "with them the plugin does not start here: %s", set.idle);
	env_fini(&set);
	return rc;
}

/* What a job over GPUDirect-TCPX cannot do without: a GPU, and a plugin, which may be in the
 * job's container. Without one the variables are for another machine. */
static void
say_needs(const struct machine *m)
{
	bool gpu = m->facts->gpu_count > 0;
	struct machine_plugin plugin = { .found = true };

	if (m->here)
		machine_plugin_read(m, NULL, &plugin);
	if (!gpu)
		tool_fail(TOOL_OK, NAME, "no GPU%s is found here: no job over "
				 "GPUDirect-TCPX can run, and the variables are for another machine", plugin.found ? "" : " and no NCCL net plugin");
	else if (!plugin.found)
		tool_fail(TOOL_OK, NAME, "no NCCL net plugin is found here (%s): the job's container "
			  "has to bring it", plugin.why);
}

static int
run_lint(const struct args *a, const struct machine *m)
{
	struct tcpx_roles roles;

	machine_roles_by_gpu(m, a->control, &roles);
	return lint(a, m, &roles);
}

static int
run_make(const struct args *a, struct machine *m)
{
	const char *control = a->control ? a->control : getenv("NCCL_GPUDIRECTTCPX_CTRL_DEV");
	struct tcpx_roles roles;
	int rc;

	if (machine_roles(m, a->nics, control, &roles) < 0)
		return tool_fail(TOOL_USAGE, NAME, "no NIC that could be named: tcpx info tells why");
	if (control && *control && !roles.control)
		return tool_fail(TOOL_USAGE, NAME, "%s %s: no such interface is up and has an "
				 "address", a->control ? "--control" : "NCCL_GPUDIRECTTCPX_CTRL_DEV",
				 control);
	rc = make(a, m, &roles);
	if (rc == TOOL_OK)
		say_needs(m);
	return rc;
}

static int
run(const struct args *a)
{
	struct machine *m = machine_new(NAME, a->root, a->nics ? a->nics : "");
	int rc;

	if (!m)
		return TOOL_USAGE;
	rc = a->lint ? run_lint(a, m) : run_make(a, m);
	machine_free(m);
	return rc;
}

int
cmd_env(int argc, char **argv)
{
	struct args a = { .form = -1 };
	struct tcpx_hints files;
	struct opt_parser p;
	const char *word;
	int rc;

	if (!opt_read(&p, &command, argc, argv, &a))
		return p.exit;
	if (opt_words(&p, 1))
		return TOOL_USAGE;
	word = p.first_word < argc ? argv[p.first_word] : NULL;
	if (word && strcmp(word, "nccl"))
		return tool_usage(NAME, "\"%s\": nccl is the only word", word);
	if (word && (a.lint || a.control || a.root))
		return tool_usage(NAME, "%s is not for nccl", a.lint ? "--lint" :
				  a.control ? "--control" : "--root");
	if ((a.file || a.pid) && !a.lint)
		return tool_usage(NAME, "%s is for --lint", a.file ? "--file" : "--pid");
	if (a.file && a.pid)
		return tool_usage(NAME, "--file and --pid name two environments");
	if (a.lint && a.form >= 0)
		return tool_usage(NAME, "--format and --lint are two things; --json is for both");
	rc = tcpx_hints_read(&files, environ);
	if (rc == 0)
		rc = tcpx_hints_export(&files);
	tcpx_hints_free(&files);
	if (rc)
		return tool_fail(TOOL_DENIED, NAME, "no memory for the files of NCCL");
	return word ? make_nccl(&a) : run(&a);
}
