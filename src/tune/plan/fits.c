/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a plan belong to the machine? CPU 40 exists on many machines; its node and its other
 * users are what a plan is about.
 */
#include <stdio.h>
#include <string.h>

#include "tune/plan/reader.h"
#include "tool/tool.h"
#include "tune/facts/topo.h"

/* In the order of enum tcpx_machine_part. */
static const char *const what_of[TCPX_MACHINE_PARTS] = {
	"CPUs (cores, siblings, nodes or isolated ones)",
	"NICs (names, drivers, addresses or nodes)",
	"GPUs",
	"queues of NICs (how many, or their vectors)",
};

static int
refuse(const char *command, const char *path, const struct planfile *plan,
       const struct tcpx_machine *m)
{
	char differ[256] = "";

	for (int i = 0; plan->has_parts && i < TCPX_MACHINE_PARTS; i++) {
		enum tcpx_machine_part part = (enum tcpx_machine_part)i;

		if (tcpx_machine_hash_part(m, part) == plan->parts[i])
			continue;
		snprintf(differ + strlen(differ), sizeof(differ) - strlen(differ), "%s%s",
			 *differ ? "; " : ": other ", what_of[i]);
	}
	return tool_fail(TOOL_USAGE, command, "%s was made for another machine, or for this one as "
			 "it was%s. Plan again with tcpx irq plan", path, differ);
}

int
planfile_fits(const char *command, const char *path, const struct planfile *plan,
	      const char *root, bool boots)
{
	struct tcpx_topo *topo;
	struct tcpx_machine m;
	int rc = TOOL_OK;

	if (!plan->has_hash)
		fprintf(stderr, "%s: %s does not name its machine (topo_hash); names and numbers of "
			"interrupts are all that is compared\n", command, path);
	if (!plan->has_hash && !*plan->boot_id)
		return TOOL_OK;
	if (tcpx_topo_read(root, &topo) < 0)
		return TOOL_USAGE; /* the reason was printed */
	if (!boots && *plan->boot_id && *topo->boot_id && strcmp(plan->boot_id, topo->boot_id))
		rc = tool_fail(TOOL_USAGE, command, "%s was made in another boot, and numbers of "
			       "interrupts may mean others now. Plan again, or find them by their "
			       "names with --renumber", path);
	if (rc == TOOL_OK && plan->has_hash) {
		if (tcpx_topo_machine(topo, &m) < 0) {
			rc = TOOL_USAGE;
		} else {
			if (tcpx_machine_hash(&m) != plan->hash)
				rc = refuse(command, path, plan, &m);
			tcpx_machine_fini(&m);
		}
	}
	tcpx_topo_free(topo);
	return rc;
}
