/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcpx topo: the facts of a machine. A spec is shown by way of a tree in a temporary
 * directory, which is read as any other and removed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/spec.h"
#include "host/tree.h"
#include "tool/opt.h"
#include "tool/tool.h"
#include "tool/topo_view.h"

#define NAME "tcpx topo"

struct wish {
	const char *root, *spec, *json, *write;
	bool explain, export_spec;
};

static int
show(const struct wish *w, const char *root)
{
	struct tcpx_topo *topo;
	struct tcpx_machine m;
	int rc = TOOL_OK;
	json_t *json;
	char *text;

	if (tcpx_topo_read(root, &topo) < 0)
		return TOOL_USAGE; /* the log has said why */
	if (w->spec) /* the tree is gone when somebody reads this */
		snprintf(topo->root, sizeof(topo->root), "%s", w->spec);
	if (w->export_spec) {
		if (tcpx_topo_machine(topo, &m) < 0) {
			rc = TOOL_FINDING;
		} else {
			if (tcpx_spec_format(&m, &text) < 0) {
				rc = tool_fail(TOOL_DENIED, NAME, "no memory for the spec");
			} else {
				fputs(text, stdout);
				free(text);
			}
			tcpx_machine_fini(&m);
		}
	}
	if (w->json) {
		json = topo_json(topo);
		rc = json ? tool_json_write(json, w->json)
			  : tool_fail(TOOL_DENIED, NAME, "no memory for the JSON text");
		json_decref(json);
	}
	if (!w->export_spec && !(w->json && !strcmp(w->json, "-")))
		topo_print(stdout, topo, w->explain);
	tcpx_topo_free(topo);
	return rc;
}

static int
show_spec(const struct wish *w)
{
	const char *tmp = getenv("TMPDIR"), *usual = "/tmp";
	struct tcpx_machine m;
	char dir[512];
	int rc;

	if (tcpx_spec_load(w->spec, &m) < 0)
		return TOOL_USAGE;
	if (w->write) {
		rc = tcpx_tree_write(&m, w->write) < 0 ? TOOL_USAGE : TOOL_OK;
		tcpx_machine_fini(&m);
		return rc;
	}
	if (access("/dev/shm", W_OK) == 0)
		usual = "/dev/shm"; /* thousands of small files: a disk takes seconds */
	snprintf(dir, sizeof(dir), "%s/tcpx-topo-XXXXXX", tmp && *tmp ? tmp : usual);
	if (!mkdtemp(dir)) {
		rc = tool_fail(TOOL_DENIED, NAME, "cannot make %s: %s", dir, strerror(errno));
		tcpx_machine_fini(&m);
		return rc;
	}
	rc = tcpx_tree_write(&m, dir) < 0 ? TOOL_DENIED : show(w, dir);
	tcpx_machine_fini(&m);
	if (tcpx_tree_remove(dir) < 0)
		rc = TOOL_DENIED;
	return rc;
}

static int
check(const struct wish *w)
{
	if (w->root && w->spec)
		return tool_usage(NAME, "--root and --spec are two machines; one is shown");
	if (w->write && !w->spec)
		return tool_usage(NAME, "--write-fixture makes the tree of a spec: give --spec, too");
	return TOOL_OK;
}

int
cmd_topo(int argc, char **argv)
{
	enum { JSON, ROOT, SPEC, WRITE, EXPLAIN, EXPORT };
	static const struct opt opts[] = {
		[JSON] = { 'j', "json", "FILE", "all of it as JSON; - is stdout" },
		[ROOT] = { 0, "root", "DIR", "read the machine whose /sys and /proc lie in DIR" },
		[SPEC] = { 0, "spec", "FILE", "the machine that this short text describes; - is "
			   "stdin" },
		[WRITE] = { 0, "write-fixture", "DIR", "write the tree of --spec to DIR, for --root, "
			    "and show nothing" },
		[EXPLAIN] = { 'e', "explain", NULL, "each vector with how its queue is known, each "
			      "setting, and why something is not known" },
		[EXPORT] = { 0, "export-spec", NULL, "the machine as such a text, for --spec" },
	};
	static const struct opt_command cmd = {
		NAME, "[OPTIONS]",
		"Shows a machine's nodes and cores, its NICs with their queues, interrupts and "
		"settings, its GPUs, and which NIC is near to which GPU. Changes nothing.",
		opts, ARRAY_LEN(opts),
		"  tcpx topo\n"
		"  tcpx topo --explain\n"
		"  tcpx topo --spec a3-high.spec --json -\n"
		"  tcpx topo --spec a3-high.spec --write-fixture /tmp/a3 && tcpx topo --root /tmp/a3\n",
		false,
	};
	struct wish w = { .root = NULL };
	struct opt_parser p;
	int id, rc;

	opt_init(&p, &cmd, argc, argv);
	while ((id = opt_next(&p)) != OPT_END) {
		switch (id) {
		case JSON:
			w.json = p.value;
			break;
		case ROOT:
			w.root = p.value;
			break;
		case SPEC:
			w.spec = p.value;
			break;
		case WRITE:
			w.write = p.value;
			break;
		case EXPLAIN:
			w.explain = true;
			break;
		case EXPORT:
			w.export_spec = true;
			break;
		case OPT_HELP:
			return TOOL_OK;
		default:
			return TOOL_USAGE;
		}
	}
	if (p.first_word < argc)
		return tool_usage(NAME, "'%s' is one word too many", argv[p.first_word]);
	rc = check(&w);
	if (rc)
		return rc;
	return w.spec ? show_spec(&w) : show(&w, w.root);
}
