/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcpx pin: starts a command on chosen CPUs, or moves the threads of a process by
 * their names. The granted CPUs are read back and reported, because the kernel narrows
 * masks silently.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tune/info/machine.h"
#include "tune/plan/reader.h"
#include "tool/opt.h"
#include "tool/out_text.h"
#include "tool/json_file.h"
#include "tool/tool.h"
#include "tune/irq/pin.h"

enum { RULES = 32 };
enum role { ROLE_TX, ROLE_RX, ROLE_APP, ROLE_NONE };

static const char *const role_words[] = { "tx", "rx", "app", NULL };

struct request {
	const char *command, *plan, *nic, *json;
	int role;
	struct tcpx_cpuset cpus; /* empty: not given */
	int pid;                 /* 0: a command    */
	struct tcpx_pin_rule rules[RULES];
	unsigned rule_count;
	bool strict;
};
#define S struct request

/* The set of plan, role and NIC; for the application without a NIC, all heads. */
static int
take_from_plan(struct request *r)
{
	const struct planfile_group *g = NULL;
	struct planfile plan;
	int rc = planfile_load(r->command, r->plan, &plan);

	if (rc)
		return rc;
	if (r->nic) {
		g = planfile_of_nic(&plan, r->nic);
		if (!g)
			rc = tool_fail(TOOL_USAGE, r->command, "%s has no NIC %s", r->plan, r->nic);
	}
	for (unsigned i = 0; rc == TOOL_OK && i < plan.group_count; i++) {
		const struct planfile_group *one = &plan.groups[i];

		if (!g || g == one)
			tcpx_cpuset_or(&r->cpus, r->role == ROLE_TX ? &one->tx :
						 r->role == ROLE_RX ? &one->rx : &one->head);
	}
	if (rc == TOOL_OK && tcpx_cpuset_empty(&r->cpus))
		rc = tool_fail(TOOL_USAGE, r->command, "%s has no CPUs for role %s%s%s", r->plan,
			       role_words[r->role], r->nic ? " of " : "", r->nic ? r->nic : "");
	planfile_fini(&plan);
	return rc;
}

static json_t *
pin_json(const struct tcpx_pin *pin)
{
	char requested[MACHINE_CPU_LIST], granted[MACHINE_CPU_LIST], missing[MACHINE_CPU_LIST];

	return json_pack("{s:i, s:o, s:s, s:s, s:s, s:o}", "tid", pin->tid, "name",
			 out_json(pin->name),
			 "requested", machine_cpu_list(&pin->requested, requested),
			 "granted", machine_cpu_list(&pin->granted, granted),
			 "missing", machine_cpu_list(&pin->missing, missing),
			 "error", pin->rc ? json_string(tcpx_err_name(pin->rc)) : json_null());
}

static int
write_json(const struct request *r, const struct tcpx_pin *pins, unsigned count)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < count; i++)
		json_array_append_new(list, pin_json(&pins[i]));
	return tool_json_put(r->command, json_pack("{s:o}", "threads", list), r->json);
}

static int
run_command(struct request *r, char **argv)
{
	char requested[MACHINE_CPU_LIST], granted[MACHINE_CPU_LIST], missing[MACHINE_CPU_LIST];
	struct tcpx_pin pin = { .tid = 0 };
	int rc = tcpx_pin_thread(0, &r->cpus, &pin);

	machine_cpu_list(&r->cpus, requested);
	if (rc == -EINVAL)
		return tool_fail(TOOL_DENIED, r->command, "none of CPUs %s can be had here: they "
				 "are offline, or outside of the CPUs that this process is given",
				 requested);
	if (rc < 0)
		return tool_fail(TOOL_DENIED, r->command, "CPUs %s: %s", requested,
				 tcpx_err_text(rc));
	if (!tcpx_cpuset_empty(&pin.missing)) {
		machine_cpu_list(&pin.missing, missing);
		if (r->strict)
			return tool_fail(TOOL_FINDING, r->command, "of CPUs %s, %s cannot be had",
					 requested, missing);
		fprintf(stderr, "%s: on CPUs %s; of %s, %s cannot be had\n", r->command,
			machine_cpu_list(&pin.granted, granted), requested, missing);
	}
	if (r->json) {
		rc = write_json(r, &pin, 1);
		if (rc)
			return rc;
	}
	execvp(argv[0], argv);
	return tool_fail(TOOL_USAGE, r->command, "cannot run %s: %s", argv[0], strerror(errno));
}

static void
print_pins(const struct tcpx_pin *pins, unsigned count)
{
	char requested[MACHINE_CPU_LIST], granted[MACHINE_CPU_LIST], missing[MACHINE_CPU_LIST];

	if (count)
		printf("%s%8s  %-16s %-12s %-12s %s%s\n", tool_paint(stdout, TOOL_BOLD), "thread",
		       "requested", "granted", "missing", "name", tool_paint(stdout, TOOL_PLAIN));
	for (unsigned i = 0; i < count; i++) {
		const struct tcpx_pin *pin = &pins[i];

		machine_cpu_list(&pin->requested, requested);
		machine_cpu_list(&pin->granted, granted);
		machine_cpu_list(&pin->missing, missing);
		printf("%8d  %-16s %-12s %-12s ", pin->tid, requested, *granted ? granted : "-",
		       *missing ? missing : "-");
		out_plain(stdout, pin->name);
		if (pin->rc)
			printf("  (%s)", tcpx_err_name(pin->rc));
		putchar('\n');
	}
}

static int
move_threads(struct request *r)
{
	struct tcpx_pin *pins;
	unsigned count, failed = 0, narrowed = 0;
	int rc;

	if (!r->rule_count) {
		strcpy(r->rules[0].pattern, "*");
		r->rules[0].cpus = r->cpus;
		r->rule_count = 1;
	}
	rc = tcpx_pin_process(r->pid, r->rules, r->rule_count, &pins, &count);
	if (rc == -ESRCH)
		return tool_fail(TOOL_USAGE, r->command, "no process %d", r->pid);
	if (rc < 0)
		return tool_fail(TOOL_DENIED, r->command, "threads of process %d: %s", r->pid,
				 tcpx_err_text(rc));
	for (unsigned i = 0; i < count; i++) {
		failed += pins[i].rc < 0;
		narrowed += pins[i].rc == 0 && !tcpx_cpuset_empty(&pins[i].missing);
	}
	rc = TOOL_OK;
	if (r->json)
		rc = write_json(r, pins, count);
	if (!r->json || strcmp(r->json, "-"))
		print_pins(pins, count);
	free(pins);
	if (rc)
		return rc;
	if (!count)
		return tool_fail(TOOL_FINDING, r->command, "no thread has such a name");
	if (failed)
		return tool_fail(TOOL_DENIED, r->command, "%u of %u threads could not be moved",
				 failed, count);
	if (narrowed)
		return tool_fail(TOOL_FINDING, r->command, "%u of %u threads did not get all CPUs",
				 narrowed, count);
	return TOOL_OK;
}

static int
take_cpus(const struct opt_parser *p, int id, void *args)
{
	struct request *r = args;

	return tcpx_cpuset_parse(p->value, &r->cpus)
		? opt_refuse(p, id, "a list of CPUs as 8-21,112-125") : TOOL_OK;
}

static int
take_pid(const struct opt_parser *p, int id, void *args)
{
	struct request *r = args;
	char *end;

	if (!strcmp(p->value, "kernel")) {
		r->pid = TCPX_PIN_KERNEL;
		return TOOL_OK;
	}
	r->pid = (int)strtol(p->value, &end, 10);
	return r->pid <= 0 || *end || strlen(p->value) > 9
		? opt_refuse(p, id, "allowed is a process's id, or 'kernel'") : TOOL_OK;
}

static int
take_rule(const struct opt_parser *p, int id, void *args)
{
	struct request *r = args;

	if (r->rule_count == RULES)
		return opt_refuse(p, id, "at most 32");
	return tcpx_pin_rule_parse(p->value, &r->rules[r->rule_count++])
		? opt_refuse(p, id, "allowed is NAME=LIST as 'napi/eth1-*=36-51'") : TOOL_OK;
}

/* Checks which options go together. */
static int
check_words(struct request *r, const struct opt_parser *p)
{
	bool command = p->first_word < p->argc, sets = !tcpx_cpuset_empty(&r->cpus);

	if (r->pid && command)
		return tool_usage(r->command, "--pid and a command, '%s', exclude each other",
				  p->argv[p->first_word]);
	if (!r->pid && !command)
		return tool_usage(r->command, "which command? or which process, with --pid?");
	if (r->rule_count && !r->pid)
		return tool_usage(r->command, "--map needs --pid");
	if ((r->rule_count > 0) + sets + (r->plan != NULL) != 1)
		return tool_usage(r->command, "one of --cpus, --plan and --map tells the CPUs");
	if (r->plan && r->role == ROLE_NONE)
		return tool_usage(r->command, "--plan needs --role");
	if (!r->plan && (r->role != ROLE_NONE || r->nic))
		return tool_usage(r->command, "--role and --nic need --plan");
	if (r->plan && r->role != ROLE_APP && !r->nic)
		return tool_usage(r->command, "--role %s needs --nic", role_words[r->role]);
	return TOOL_OK;
}

int
cmd_pin(int argc, char **argv)
{
	static const struct opt opts[] = {
		{ 'c', "cpus", "LIST", "these CPUs, as 8-21,112-125", OPT_TAKE(take_cpus) },
		{ 'p', "plan", "FILE", "the CPUs that this plan (tcpx irq plan --emit json) has "
		  "for --role and --nic", OPT_TEXT(plan) },
		{ 'r', "role", "ROLE", "tx: what sends; rx: what receives; app: the application",
		  OPT_CHOICE(role, role_words) },
		{ 'n', "nic", "IF", "of this NIC; role app without it: of all", OPT_TEXT(nic) },
		{ 'P', "pid", "PID", "move the threads of this process instead of starting a "
		  "command; 'kernel': the kernel's own threads", OPT_TAKE(take_pid) },
		{ 'm', "map", "NAME=LIST", "with --pid: threads whose names match NAME, as file "
		  "names in a shell, to CPUs LIST; NAME=%LIST: one CPU each, in turn. May be "
		  "given again; the first that matches counts", OPT_TAKE(take_rule) },
		{ 0, "strict", NULL, "do not start the command unless it gets all the CPUs",
		  OPT_FLAG(strict) },
		{ 'j', "json", "FILE", "requested, granted and missing CPUs as JSON; - is stdout",
		  OPT_TEXT(json) },
	};
	static const struct opt_command cmd = {
		"tcpx pin", "[OPTIONS] [--] COMMAND [ARG...]",
		"Runs a command on chosen CPUs, or moves the threads of a process, and tells which "
		"CPUs the kernel granted.",
		opts, ARRAY_LEN(opts),
		"  tcpx pin --cpus 8-21,112-125 -- tcpx serve\n"
		"  tcpx pin --plan plan.json --role rx --nic eth1 -- tcpx serve\n"
		"  tcpx pin --pid kernel --map 'napi/eth1-*=%36-51'\n", true, NULL,
	};
	struct request r = { .command = cmd.name, .role = ROLE_NONE };
	struct opt_parser p;
	int rc;

	if (!opt_read(&p, &cmd, argc, argv, &r))
		return p.exit;
	rc = check_words(&r, &p);
	if (!rc && r.plan)
		rc = take_from_plan(&r);
	if (rc)
		return rc;
	return r.pid ? move_threads(&r) : run_command(&r, argv + p.first_word);
}
