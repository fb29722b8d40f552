/* SPDX-License-Identifier: Apache-2.0 */
/* tcpx topo: the facts of a machine. */
#include <string.h>

#include "tune/topo/view.h"
#include "tool/opt.h"
#include "tool/json_file.h"
#include "tool/tool.h"

#define NAME "tcpx topo"

struct wish {
	const char *root, *json;
	bool explain;
};
#define S struct wish

static int
show(const struct wish *w)
{
	struct tcpx_topo *topo;
	int rc = TOOL_OK;

	if (tcpx_topo_read(w->root, &topo) < 0)
		return TOOL_USAGE; /* the reason is in the log */
	if (w->json)
		rc = tool_json_put(NAME, topo_json(topo), w->json);
	if (!w->json || strcmp(w->json, "-"))
		topo_print(stdout, topo, w->explain);
	tcpx_topo_free(topo);
	return rc;
}

int
cmd_topo(int argc, char **argv)
{
	static const struct opt opts[] = {
		{ 'j', "json", "FILE", "all of it as JSON; - is stdout", OPT_TEXT(json) },
		{ 0, "root", "DIR", "read the machine whose /sys and /proc lie in DIR",
		  OPT_TEXT(root) },
		{ 'e', "explain", NULL, "each vector with how its queue is known, each "
		  "setting, and why something is not known", OPT_FLAG(explain) },
	};
	static const struct opt_command cmd = {
		NAME, "[OPTIONS]",
		"Shows a machine's nodes and cores, its NICs with their queues, interrupts "
		"and settings, its GPUs, and which NIC is near to which GPU. Changes nothing.",
		opts, ARRAY_LEN(opts),
		"  tcpx topo\n"
		"  tcpx topo --explain\n"
		"  tcpx topo --json -\n"
		"  tcpx topo --root /tmp/a3\n",
		false, NULL,
	};
	struct wish w = { .root = NULL };
	struct opt_parser p;
	int rc;

	if (!opt_read(&p, &cmd, argc, argv, &w))
		return p.exit;
	rc = opt_words(&p, 0);
	return rc ? rc : show(&w);
}
