/* SPDX-License-Identifier: Apache-2.0 */
/* tcpx irq snapshot: the kernel's counts in a file. */
#include "tune/plan/irq_count.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/output.h"
#include "tune/plan/irq.h"
#include "tool/opt.h"
#include "tool/tool.h"

#define NAME "tcpx irq snapshot"

struct args {
	const char *out, *nics, *root;
};
#define S struct args

int
irq_count_now(const char *command, const char *root, const char *nics,
	      struct tcpx_snapshot *snap)
{
	struct tcpx_topo *topo;
	int rc = tcpx_topo_read(root, &topo);

	if (rc < 0)
		return TOOL_USAGE;
	rc = tcpx_snapshot_take(root, topo, nics, snap);
	tcpx_topo_free(topo);
	if (rc == -ENODEV || rc == -EINVAL)
		return TOOL_USAGE;
	return rc < 0 ? tool_fail(TOOL_DENIED, command, "no counts can be read here") : TOOL_OK;
}

int
irq_count_load(const char *path, struct tcpx_snapshot *snap)
{
	return tcpx_snapshot_load(path, snap) < 0 ? TOOL_USAGE : TOOL_OK; /* the reason is in
									   * the log */
}

static int
save(const struct tcpx_snapshot *snap, const char *path)
{
	char *bytes = NULL;
	size_t len;
	int rc;

	path = path ? path : "-";
	rc = tcpx_snapshot_format(snap, &bytes, &len);
	if (!rc)
		rc = output_text(path, bytes, len);
	free(bytes);
	return rc ? output_refused(NAME, path, rc) : TOOL_OK;
}

int
irq_snapshot(int argc, char **argv)
{
	static const struct opt opts[] = {
		{ 'o', "output", "FILE", "where to; - is stdout, and what is done without this "
		  "option", OPT_TEXT(out) },
		{ 'n', "nics", "LIST", "name the vectors of these interfaces only: eth1,eth2 "
		  "(all)", OPT_TEXT(nics) },
		{ 0, "root", "DIR", "of the machine whose /sys and /proc lie in DIR",
		  OPT_TEXT(root) },
	};
	static const struct opt_command cmd = {
		NAME, "[OPTIONS]",
		"Writes how often each interrupt has fired on each CPU, with which NIC and queue "
		"it serves and where it may fire, and the kernel's counts of softirqs, CPU time "
		"and packets beside it. Changes nothing.",
		opts, ARRAY_LEN(opts),
		"  tcpx irq snapshot -o before\n"
		"  tcpx irq diff before live --per-queue\n", false, NULL,
	};
	struct args a = { .out = NULL };
	struct tcpx_snapshot snap;
	struct opt_parser p;
	int rc;

	if (!opt_read(&p, &cmd, argc, argv, &a))
		return p.exit;
	rc = opt_words(&p, 0);
	rc = rc ? rc : irq_count_now(NAME, a.root, a.nics, &snap);
	if (rc)
		return rc;
	rc = save(&snap, a.out);
	tcpx_snapshot_fini(&snap);
	return rc;
}
