/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcpx lab: the command line of the emulated hosts.
 */
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/lab/lab.h"
#include "measure/lab/namespace.h"
#include "tool/opt.h"
#include "tool/json_file.h"
#include "tool/tool.h"
#include "tool/verbs.h"

struct args {
	const char *name, *rates, *json;
	struct lab lab; /* to be made */
};
#define S struct args

#define DEFAULT_NAME "lab"

/* Blocks signals for the milliseconds of making or removing, which must not be interrupted. */
static void
hold_signals(bool hold)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

static int
need_root(const char *command)
{
	if (!geteuid())
		return TOOL_OK;
	return tool_fail(TOOL_DENIED, command,
			 "needs root, for network namespaces (uid is %d); without it, "
			 "127.0.k.1 can stand for NICs: tcpx perf --self", (int)geteuid());
}

static int
take_name(const struct opt_parser *p, int id, void *args)
{
	struct args *a = args;

	if (!lab_name_allowed(p->value))
		return opt_refuse(p, id, "allowed are up to 31 of a-z 0-9 - _, a letter first");
	a->name = p->value;
	return TOOL_OK;
}

static int
refuse_delay(const struct opt_parser *p, int id, void *args)
{
	return tool_fail(TOOL_DENIED, p->cmd->name, "--delay %s: the lab emulates rate and MTU, not "
			 "delay", p->value);
}

static int
run_up(int argc, char **argv)
{
	static const struct opt opts[] = {
		{ 'H', "hosts", "N", "emulated hosts h0, h1, ... (2)",
		  OPT_INT(lab.hosts, 2, LAB_HOSTS_MAX) },
		{ 'n', "nics", "K", "NICs eth0, eth1, ... of each host (4)",
		  OPT_INT(lab.nics, 1, LAB_NICS_MAX) },
		{ 'r', "rate", "LIST", "bits a second that each NIC may send: one for all or one "
		  "a NIC, such as 1G,1G,1G,250M; 0 is no limit (0)", OPT_TEXT(rates) },
		{ 'm', "mtu", "BYTES", "largest packet (1500)", OPT_INT(lab.mtu, 576, 65535) },
		{ 0, "delay", "TIME", "not emulated: refused", OPT_TAKE(refuse_delay) },
		{ 0, "name", "NAME", "name of the lab (lab)", OPT_TAKE(take_name) },
	};
	static const struct opt_command cmd = {
		"tcpx lab up", "[OPTIONS]",
		"Makes emulated hosts: a network namespace each, with NIC k of every host in "
		"one segment. NIC k of host i has the address 10.77.k.(i+1)/24.",
		opts, ARRAY_LEN(opts),
		"  tcpx lab up --rate 1G,1G,1G,250M\n"
		"  tcpx lab exec h1 tcpx serve &\n"
		"  tcpx lab exec h0 tcpx perf 10.77.0.2\n"
		"  tcpx lab down\n", false, NULL,
	};
	struct args a = { DEFAULT_NAME, "0", NULL, { .hosts = 2, .nics = 4, .mtu = 1500 } };
	struct opt_parser p;
	int rc;

	if (!opt_read(&p, &cmd, argc, argv, &a))
		return p.exit;
	rc = opt_words(&p, 0);
	if (rc)
		return rc;
	if (lab_rates_parse(&a.lab, a.rates))
		return tool_usage(cmd.name, "--rate %s: allowed is one rate, or one for each of "
				  "%u NICs, from 1M to 400G, 0 for no limit", a.rates, a.lab.nics);
	rc = need_root(cmd.name);
	if (rc)
		return rc;

	snprintf(a.lab.name, sizeof(a.lab.name), "%s", a.name);
	hold_signals(true);
	rc = lab_up(&a.lab);
	hold_signals(false);
	if (!rc)
		printf("lab '%s' is up: %u hosts, %u NICs each, 10.77.0.1 and so on\n", a.name,
		       a.lab.hosts, a.lab.nics);
	return rc;
}

static int
run_down(int argc, char **argv)
{
	static const struct opt opts[] = {
		{ 0, "name", "NAME", "name of the lab (lab)", OPT_TAKE(take_name) },
	};
	static const struct opt_command cmd = {
		"tcpx lab down", "[OPTIONS]",
		"Removes a lab, whole or left half-made. Processes still running in it are not "
		"ended; they lose their NICs.", opts, ARRAY_LEN(opts), NULL, false, NULL,
	};
	struct args a = { .name = DEFAULT_NAME };
	struct opt_parser p;
	int rc;

	if (!opt_read(&p, &cmd, argc, argv, &a))
		return p.exit;
	rc = opt_words(&p, 0);
	rc = rc ? rc : need_root(cmd.name);
	if (rc)
		return rc;
	hold_signals(true);
	rc = lab_down(a.name);
	hold_signals(false);
	return rc;
}

/* "h3" -> 3; -1 for anything else. */
static int
host_number(const char *word)
{
	char again[16];
	int host;

	if (sscanf(word, "h%2d", &host) != 1)
		return -1;
	snprintf(again, sizeof(again), "h%d", host);
	return strcmp(word, again) ? -1 : host;
}

static int
run_exec(int argc, char **argv)
{
	static const struct opt opts[] = {
		{ 0, "name", "NAME", "name of the lab (lab)", OPT_TAKE(take_name) },
	};
	static const struct opt_command cmd = {
		"tcpx lab exec", "[OPTIONS] HOST COMMAND [ARG...]",
		"Becomes a command on an emulated host: in its network namespace, with /sys "
		"showing its NICs. The exit code is the command's.", opts, ARRAY_LEN(opts),
		"  tcpx lab exec h0 tcpx info\n", true, NULL,
	};
	struct args a = { .name = DEFAULT_NAME };
	char ns_name[64];
	struct opt_parser p;
	char **words;
	int host, ns, rc;

	if (!opt_read(&p, &cmd, argc, argv, &a))
		return p.exit;
	words = argv + p.first_word;
	if (argc - p.first_word < 2)
		return tool_usage(cmd.name, "a host and a command are needed");
	host = host_number(words[0]);
	if (host < 0)
		return tool_usage(cmd.name, "host '%s': allowed are h0, h1, ...", words[0]);
	rc = need_root(cmd.name);
	if (rc)
		return rc;

	ns = lab_ns_open(lab_ns_name(a.name, host, ns_name, sizeof(ns_name)));
	if (ns < 0)
		return tool_fail(TOOL_USAGE, cmd.name, "lab '%s' has no host %s (%s)", a.name,
				 words[0], strerror(-ns));
	rc = lab_ns_enter(ns);
	close(ns);
	if (rc)
		return tool_fail(rc == -EPERM ? TOOL_DENIED : TOOL_FINDING, cmd.name,
				 "namespace %s: %s", ns_name, strerror(-rc));
	rc = lab_ns_remount_sys();
	if (rc) /* the command may not need /sys */
		tool_fail(0, cmd.name, "/sys shows the machine's NICs, not %s's: %s", words[0],
			  strerror(-rc));
	execvp(words[1], words + 1);
	return tool_fail(TOOL_USAGE, cmd.name, "%s: %s", words[1], strerror(errno));
}

static const char *
rate_text(uint64_t bps, char *buf, size_t cap)
{
	if (!bps)
		snprintf(buf, cap, "-");
	else if (bps % 1000000000 == 0)
		snprintf(buf, cap, "%uG", (unsigned)(bps / 1000000000));
	else
		snprintf(buf, cap, "%.6gM", (double)bps / 1e6);
	return buf;
}

static void
print_labs(const json_t *root)
{
	json_t *lab, *host, *nic;
	size_t i, j, k;
	char rate[32];

	json_array_foreach(json_object_get(root, "labs"), i, lab) {
		printf("%slab '%s'%s%s\n", i ? "\n" : "",
		       json_string_value(json_object_get(lab, "name")),
		       json_is_true(json_object_get(lab, "whole")) ? "" : ", not whole",
		       json_array_size(json_object_get(lab, "hosts")) ? "" : ", no hosts");
		printf("%-5s %-6s %-13s %6s %-5s %15s %15s\n", "host", "NIC", "address", "bit/s",
		       "state", "bytes sent", "bytes received");
		json_array_foreach(json_object_get(lab, "hosts"), j, host) {
			json_array_foreach(json_object_get(host, "nics"), k, nic) {
				const char *name, *addr;
				json_int_t bps, tx, rx;
				int up;

				json_unpack(nic, "{s:s, s:s, s:I, s:b, s:I, s:I}", "name", &name,
					    "address", &addr, "rate_bps", &bps, "up", &up,
					    "tx_bytes", &tx, "rx_bytes", &rx);
				printf("%-5s %-6s %-13s %6s %-5s %15lld %15lld\n",
				       k ? "" : json_string_value(json_object_get(host, "host")),
				       name, addr, rate_text((uint64_t)bps, rate, sizeof(rate)),
				       up ? "up" : "down", (long long)tx, (long long)rx);
			}
			if (json_array_size(json_object_get(host, "pids")))
				printf("      %zu processes\n",
				       json_array_size(json_object_get(host, "pids")));
		}
	}
}

static int
run_status(int argc, char **argv)
{
	static const struct opt opts[] = {
		{ 0, "name", "NAME", "only this lab (all)", OPT_TAKE(take_name) },
		{ 0, "json", "FILE", "write it as JSON; - is stdout", OPT_TEXT(json) },
	};
	static const struct opt_command cmd = {
		"tcpx lab status", "[OPTIONS]", "Shows the labs of this machine, their hosts, "
		"NICs and processes. Nothing is printed when there is no lab.",
		opts, ARRAY_LEN(opts), NULL, false, NULL,
	};
	struct args a = { .name = NULL };
	struct opt_parser p;
	json_t *root = NULL;
	int rc;

	if (!opt_read(&p, &cmd, argc, argv, &a))
		return p.exit;
	rc = opt_words(&p, 0);
	rc = rc ? rc : need_root(cmd.name);
	rc = rc ? rc : lab_status(a.name, &root);
	if (rc)
		return rc;
	if (a.json)
		rc = tool_json_write(cmd.name, root, a.json);
	if (!a.json || strcmp(a.json, "-"))
		print_labs(root);
	json_decref(root);
	return rc;
}

static const struct tool_verb verbs[] = {
	{ "up", run_up, "[OPTIONS]", "make emulated hosts" },
	{ "down", run_down, "[OPTIONS]", "remove them" },
	{ "exec", run_exec, "HOST COMMAND...", "run a command on one of them" },
	{ "status", run_status, "[OPTIONS]", "what there is" },
};

int
cmd_lab(int argc, char **argv)
{
	static const struct tool_verbs all = {
		.command = "tcpx lab",
		.about =
			"Emulated hosts and NICs on this machine, made of network namespaces and veth\n"
			"pairs. Needs root.\n",
		.more = "",
		.verb = verbs,
		.count = ARRAY_LEN(verbs),
	};

	return tool_run_verb(&all, argc, argv);
}
