/* SPDX-License-Identifier: Apache-2.0 */
/* tcpx topo: the facts of a machine. A text is written as a tree, which is read
 * like any other. */
#include <stdlib.h>
#include <string.h>

#include "tune/plan/topo_tree.h"
#include "tune/plan/topo_view.h"
#include "tool/opt.h"
#include "tool/json_file.h"
#include "tool/tool.h"
#include "tune/texts/spec.h"
#include "tune/texts/tree.h"

#define NAME "tcpx topo"

struct wish {
	const char *root, *spec, *json, *write;
	bool explain, export_spec;
};
#define S struct wish

static int
export(const struct tcpx_topo *topo)
{
	struct tcpx_machine m;
	int rc = TOOL_OK;
	char *text;

	if (tcpx_topo_machine(topo, &m) < 0)
		return TOOL_FINDING;
	if (tcpx_spec_format(&m, &text) < 0) {
		rc = tool_fail(TOOL_DENIED, NAME, "no memory for the spec");
	} else {
		fputs(text, stdout);
		free(text);
	}
	tcpx_machine_fini(&m);
	return rc;
}

static int
show(const struct wish *w, const struct tcpx_topo *topo)
{
	int rc = w->export_spec ? export(topo) : TOOL_OK;

	if (w->json)
		rc = tool_json_put(NAME, topo_json(topo), w->json);
	if (!w->export_spec && !(w->json && !strcmp(w->json, "-")))
		topo_print(stdout, topo, w->explain);
	return rc;
}

static int
show_text(const struct wish *w)
{
	struct tcpx_topo *topo;
	struct tcpx_machine m;
	int rc;

	if (tcpx_spec_load(w->spec, &m) < 0)
		return TOOL_USAGE;
	if (w->write) {
		rc = tcpx_tree_write(&m, w->write) < 0 ? TOOL_USAGE : TOOL_OK;
		tcpx_machine_fini(&m);
		return rc;
	}
	rc = topo_of_machine(NAME, &m, &topo);
	tcpx_machine_fini(&m);
	if (rc)
		return rc;
	snprintf(topo->root, sizeof(topo->root), "%s", w->spec); /* the tree is gone when this is read */
	rc = show(w, topo);
	tcpx_topo_free(topo);
	return rc;
}

static int
show_root(const struct wish *w)
{
	struct tcpx_topo *topo;
	int rc;

	if (tcpx_topo_read(w->root, &topo) < 0)
		return TOOL_USAGE; /* the reason is in the log */
	rc = show(w, topo);
	tcpx_topo_free(topo);
	return rc;
}

static int
check(const struct wish *w)
{
	if (w->root && w->spec)
		return tool_usage(NAME, "--root and --spec are machines each; one is shown");
	if (w->write && !w->spec)
		return tool_usage(NAME, "--write-fixture makes the tree of a text: give --spec, too");
	return TOOL_OK;
}

int
cmd_topo(int argc, char **argv)
{
	static const struct opt opts[] = {
		{ 'j', "json", "FILE", "all of it as JSON; - is stdout", OPT_TEXT(json) },
		{ 0, "root", "DIR", "read the machine whose /sys and /proc lie in DIR",
		  OPT_TEXT(root) },
		{ 0, "spec", "FILE", "the machine that this short text describes; - is stdin",
		  OPT_TEXT(spec) },
		{ 0, "write-fixture", "DIR", "write the tree of --spec to DIR, for --root, and show "
		  "nothing", OPT_TEXT(write) },
		{ 'e', "explain", NULL, "each vector with how its queue is known, each setting, "
		  "and why something is not known", OPT_FLAG(explain) },
		{ 0, "export-spec", NULL, "the machine as such a text, for --spec",
		  OPT_FLAG(export_spec) },
	};
	static const struct opt_command cmd = {
		NAME, "[OPTIONS]",
		"Shows a machine's nodes and cores, its NICs with their queues, interrupts and "
		"settings, its GPUs, and which NIC is near to which GPU. Changes nothing.",
		opts, ARRAY_LEN(opts),
		"  tcpx topo\n"
		"  tcpx topo --explain\n"
		"  tcpx topo --spec a3-high.spec --json -\n"
		"  tcpx topo --spec a3-high.spec --write-fixture /tmp/a3\n"
		"  tcpx topo --root /tmp/a3\n",
		false, NULL,
	};
	struct wish w = { .root = NULL };
	struct opt_parser p;
	int rc;

	if (!opt_read(&p, &cmd, argc, argv, &w))
		return p.exit;
	rc = opt_words(&p, 0);
	rc = rc ? rc : check(&w);
	if (rc)
		return rc;
	return w.spec ? show_text(&w) : show_root(&w);
}
